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
from tests.support.oracle import run_tflm

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
    [("int8", (1.0, 1e-3, 1e-5), "so small that quotients leave int32"),
     ("int16", (1.0, 1e-3, 1e-2), "so small that quotients leave int32")],
)  # fmt: skip
def test_what_has_no_meaning_is_refused(dtype: str, scales: tuple[float, ...], says: str) -> None:
    data = pair_model("DIV", [(3,), (3,)], dtype, scales, (0, 0, 0))
    with pytest.raises(GlowmcuError, match=says):
        compile_model(data, "m.tflite", Options("m"))
