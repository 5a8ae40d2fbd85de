"""DIV on int8: Python meaning == generated C == TensorFlow Lite Micro, wherever that is defined."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from tests.ops.test_elementwise import ALL_PAIRS, INT8, pair_model
from tests.support.check_model import check_model, write_bundle
from tests.support.oracle import run_litert_reference, run_tflm

SHAPES = [(256, 1), (1, 256)]
#: Scales of a, b and the quotient, zero points: no quotient loses 31 bits or more.
DEFINED = {
    "near 1": ((0.02, 0.02, 0.008), (0, -128, 0)),
    "beyond the range": ((0.5, 0.001, 4.0), (5, 127, -10)),
    "fine": ((0.01, 0.03, 0.002), (-3, 7, 1)),
    "a tiny quotient's scale": ((0.7, 0.3, 2e-4), (1, -1, 100)),
    "positive alone": ((0.03, 0.07, 0.0015), (-128, -128, -128)),
}


def stored_real(scales: tuple[float, ...], points: tuple[int, ...]) -> np.ndarray:
    """The real quotients of all pairs in units of the result; not a number for those by 0."""
    a, b = ((INT8.astype(float) - points[i]) * scales[i] for i in range(2))
    with np.errstate(all="ignore"):
        return a[:, None] / b[None, :] / scales[2] + points[2]


@pytest.mark.parametrize("case", DEFINED.values(), ids=DEFINED.keys())
def test_all_pairs_equal_the_oracle(case) -> None:
    scales, points = case
    data = pair_model("DIV", SHAPES, scales=scales, points=points)
    check_model(data, ALL_PAIRS)
    (want,) = run_tflm(data, ALL_PAIRS[0])
    (got,) = run_graph(read_tflite(data, "m"), ALL_PAIRS[0])
    not_by_zero = np.broadcast_to(points[1] != INT8, got.shape)
    np.testing.assert_array_equal(got[not_by_zero], want[not_by_zero])


@pytest.mark.parametrize("seed", range(6))
def test_quotients_are_right_where_the_oracle_shifts_too_far(seed: int) -> None:
    """A right shift of 31 bits or more is arbitrary in TensorFlow Lite Micro."""
    generator = np.random.default_rng(seed)
    scales = tuple(np.exp(generator.uniform(-4, 1, 3)).astype(np.float32).tolist())
    points = tuple(generator.integers(-128, 128, 3).tolist())
    data = pair_model("DIV", SHAPES, scales=scales, points=points)
    check_model(data, ALL_PAIRS)
    (got,) = run_graph(read_tflite(data, "m"), ALL_PAIRS[0])
    real = np.clip(stored_real(scales, points), -128, 127)
    known = np.broadcast_to(points[1] != INT8, got.shape)
    assert np.abs(got[known] - real[known]).max() <= 0.51


def test_by_zero_is_by_one_half() -> None:
    data = pair_model("DIV", SHAPES, scales=(0.5, 0.5, 0.25), points=(0, 0, 0))
    (got,) = run_graph(read_tflite(data, "m"), ALL_PAIRS[0])
    by_zero = got[:, 128].astype(int)
    np.testing.assert_array_equal(by_zero, np.clip(8 * np.arange(-128, 128), -128, 127))


#: Real scales of int16 as AI Edge Quantizer gives them to x / |x|, and larger factors.
FINE = {
    "of a norm": (3.75e-5, 5.89e-5, 2e-5),
    "finer": (1.0, 1e-3, 1e-2),
    "finest": (2.0, 0.1, 1e-6),
}


@pytest.mark.parametrize("name", FINE)
def test_fine_quotients_of_16_bits_are_right(name: str) -> None:
    """What leaves 16 bits is at their end; LiteRT shifts some of these out of 32 bits."""
    scales = FINE[name]
    data = pair_model("DIV", [(513, 1), (1, 511)], "int16", scales, (0, 0, 0))
    # The first is one of three in ten million where a bit less of a negative dividend shows.
    a = np.concatenate([[-28928], np.arange(-8, 8), np.linspace(-32768, 32767, 496)])
    a = a.astype(np.int16).reshape(-1, 1)
    b = np.concatenate([[16837], np.arange(-20, 20), np.linspace(-32768, 32767, 470)])
    b = b.astype(np.int16)
    b = np.where(b == 0, 1, b).astype(np.int16).reshape(1, -1)
    check_model(data, [[a, b]])
    (got,) = run_graph(read_tflite(data, "m"), [a, b])
    real = a.astype(float) * scales[0] / (b * scales[1]) / scales[2]
    assert np.abs(got - np.clip(real, -32768, 32767)).max() <= 0.52
    (theirs,) = run_litert_reference(data, [a, b])
    inside = (np.abs(real) < 32767) & (np.abs(real) > 2**-6)
    np.testing.assert_array_equal(got[inside], theirs[inside])


@pytest.mark.parametrize("points", [(0, 0, 127), (5, -128, -128), (-128, 127, 0)])
def test_a_scale_far_below_the_quotients_leaves_their_signs(points: tuple[int, ...]) -> None:
    data = pair_model("DIV", SHAPES, scales=(1.0, 1e-3, 1e-5), points=points)
    check_model(data, ALL_PAIRS)
    (got,) = run_graph(read_tflite(data, "m"), ALL_PAIRS[0])
    real = np.clip(stored_real((1.0, 1e-3, 1e-5), points), -128, 127)
    known = np.broadcast_to(points[1] != INT8, got.shape)
    np.testing.assert_array_equal(got[known], real[known])


@pytest.mark.parametrize("point", [-128, 127])
def test_the_largest_factor_does_not_leave_int32_with_the_zero_point(point: int) -> None:
    """-1 and other powers of two, in all of 31 bits and by the largest multiplier."""
    b_scales = np.linspace(1.0, 2.0, 4001, dtype=np.float32)[1:-1].astype(float)
    out_scales = (1.0 / b_scales).astype(np.float32).astype(float)
    above = b_scales * out_scales - 1.0
    nearest = int(np.argmin(np.abs(above - 2.0**-28)))  # a multiplier of nearly 2^31
    scales = (1.0, float(b_scales[nearest]), float(out_scales[nearest]) * 2.0**-30)
    assert 2.0**-30 < above[nearest] < 2.0**-26
    data = pair_model("DIV", SHAPES, scales=scales, points=(0, 0, point))
    check_model(data, ALL_PAIRS)
    (got,) = run_graph(read_tflite(data, "m"), ALL_PAIRS[0])
    a, b = INT8.astype(int)[:, None], np.where(INT8 == 0, 1, INT8).astype(int)[None, :]
    signs = np.sign(a) * np.sign(b)
    np.testing.assert_array_equal(got, np.where(signs == 0, point, np.where(signs > 0, 127, -128)))


@pytest.mark.arm
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4"])
def test_cores_divide_as_the_host_does(core: str, tmp_path: Path) -> None:
    data = pair_model("DIV", [(64, 1), (1, 64)], scales=(0.02, 0.01, 0.3), points=(3, -7, 5))
    compilation = compile_model(data, "m.tflite", Options("m", core=core))
    inputs = [INT8[::4].reshape(64, 1), INT8[1::4].reshape(1, 64)]
    (measured,) = CortexM(core, count=False).run(write_bundle(compilation, tmp_path), [inputs])
    (want,) = run_graph(compilation.imported, inputs)
    np.testing.assert_array_equal(measured.outputs[0], want)


@pytest.mark.parametrize(
    ("dtype", "scales", "says"),
    [("int8", (1.0, 1e-3, 1e-7), "so small that quotients leave int32"),
     ("int16", (1.0, 1e-3, 1e-7), "so small that quotients leave int32")],
)  # fmt: skip
def test_what_has_no_meaning_is_refused(dtype: str, scales: tuple[float, ...], says: str) -> None:
    data = pair_model("DIV", [(3,), (3,)], dtype, scales, (0, 0, 0))
    with pytest.raises(GlowmcuError, match=says):
        compile_model(data, "m.tflite", Options("m"))
