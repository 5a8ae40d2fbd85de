"""Pooling equals TensorFlow Lite Micro: windows at every border, rounding of means, activations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model, expect_equal
from tests.support.oracle import run_litert_reference, run_tflm


@dataclass(frozen=True)
class Case:
    shape: tuple[int, int, int, int]
    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    padding: str = "VALID"
    activation: str = "NONE"
    scale: float = 0.05
    zero_point: int = -3


CASES = {
    "one pixel": Case((1, 1, 1, 1), (1, 1)),
    "kernel 2, stride 2": Case((1, 4, 4, 3), (2, 2), (2, 2)),
    "whole image of five rows": Case((1, 5, 1, 64), (5, 1), (5, 1)),
    "whole image, prime channels": Case((1, 7, 5, 13), (7, 5)),
    "odd size, same padding": Case((1, 5, 7, 2), (3, 3), (2, 2), "SAME"),
    "odd size, nine channels": Case((1, 5, 7, 9), (3, 3), (2, 2), "SAME"),
    "even kernel, same padding": Case((1, 6, 5, 3), (2, 4), (1, 3), "SAME"),
    "kernel larger than the image": Case((1, 2, 3, 2), (5, 7), (1, 1), "SAME"),
    "stride larger than the kernel": Case((1, 9, 8, 2), (2, 1), (3, 5)),
    "stride larger than the kernel, same": Case((1, 9, 8, 2), (2, 1), (3, 5), "SAME"),
    "batch of three": Case((3, 4, 3, 2), (2, 3), (1, 1), "SAME"),
    "relu": Case((1, 4, 4, 3), (2, 2), (1, 1), "VALID", "RELU"),
    "relu6": Case((1, 4, 4, 3), (2, 2), (1, 1), "SAME", "RELU6"),
    "relu between -1 and 1": Case((1, 4, 4, 3), (3, 2), (1, 1), "SAME", "RELU_N1_TO_1"),
    "zero point 127": Case((1, 3, 3, 2), (2, 2), (1, 1), "VALID", "RELU", 2.5, 127),
    "zero point -128": Case((1, 3, 3, 2), (2, 2), (1, 1), "VALID", "RELU6", 0.0235, -128),
}


def pool_model(kind: str, case: Case, out_scale: float | None = None, dtype: str = "int8") -> bytes:
    n, height, width, channels = case.shape
    model = ModelBuilder()
    quantized = dtype in ("int8", "int16")
    x = model.input("x", case.shape, dtype, *((case.scale, case.zero_point) if quantized else ()))
    out_h, out_w = (
        -(-size // stride) if case.padding == "SAME" else (size - kernel) // stride + 1
        for size, kernel, stride in zip((height, width), case.kernel, case.strides, strict=True)
    )
    scale = case.scale if out_scale is None else out_scale
    out = (scale, case.zero_point) if quantized else ()
    y = model.tensor("y", (n, out_h, out_w, channels), dtype, *out)
    options = {
        "padding": case.padding,
        "stride_h": case.strides[0],
        "stride_w": case.strides[1],
        "filter_height": case.kernel[0],
        "filter_width": case.kernel[1],
        "fused_activation_function": case.activation,
    }
    model.op(kind, [x], [y], options)
    model.output(y)
    return model.finish()


@pytest.mark.parametrize("kind", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_pooling_equals_tflm(kind: str, case: Case) -> None:
    check_model(pool_model(kind, case), oracle=run_tflm, count=4)


WIDE = (
    "odd size, same padding",
    "batch of three",
    "relu6",
)


@pytest.mark.parametrize("kind", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@pytest.mark.parametrize("name", WIDE)
def test_pooling_of_16_bits_equals_tflm(kind: str, name: str) -> None:
    check_model(pool_model(kind, CASES[name], dtype="int16"), oracle=run_tflm, count=4)


def test_a_window_whose_sum_leaves_int32_is_refused() -> None:
    data = pool_model("AVERAGE_POOL_2D", Case((1, 256, 256, 1), (256, 256)), dtype="int16")
    with pytest.raises(GlowmcuError, match="a window of 65536 elements exceeds 65535"):
        compile_model(data, "m.tflite", Options("m"))


@pytest.mark.parametrize("kind", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_pooling_of_real_numbers_equals_litert(kind: str, case: Case) -> None:
    check_model(pool_model(kind, case, dtype="float32"), oracle=run_litert_reference, count=2)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_roots_of_mean_squares_equal_tflm(case: Case) -> None:
    check_model(pool_model("L2_POOL_2D", case, dtype="float32"), oracle=run_tflm, count=3)


def run_unlimited(data, inputs):
    """As TFLM, which has the largest finite number for what is infinite."""
    (found,) = map(np.asarray, run_tflm(data, inputs))
    return [np.where(found == np.finfo(np.float32).max, np.float32(np.inf), found)]


def test_roots_of_mean_squares_equal_tflm_to_the_bit_in_meaning() -> None:
    generator = np.random.default_rng(12)
    for _ in range(200):
        case = Case(
            tuple(int(n) for n in generator.integers(1, 8, 4)),
            tuple(int(n) for n in generator.integers(1, 5, 2)),
            tuple(int(n) for n in generator.integers(1, 4, 2)),
            "SAME" if generator.random() < 0.6 else "VALID",
            str(generator.choice(["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])),
        )
        if case.padding == "VALID" and not np.less_equal(case.kernel, case.shape[1:3]).all():
            continue
        data = pool_model("L2_POOL_2D", case, dtype="float32")
        x = generator.normal(0, 10.0 ** generator.integers(-22, 21), case.shape)
        x = x.astype(np.float32)
        (got,) = run_graph(read_tflite(data, "m.tflite"), [x])
        expect_equal(got, run_unlimited(data, [x])[0], str(case))


@pytest.mark.parametrize("value", [0.0, -0.0, 1e-30, 3e38, np.inf, np.nan])
def test_roots_at_the_ends_of_float32_equal_tflm(value: float) -> None:
    case = Case((1, 2, 2, 2), (2, 2))
    x = np.full(case.shape, value, np.float32)
    check_model(pool_model("L2_POOL_2D", case, dtype="float32"), [[x]], run_unlimited)


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8"])
def test_roots_of_integers_are_refused_as_in_tflm(dtype: str) -> None:
    data = pool_model("L2_POOL_2D", CASES["one pixel"], dtype=dtype)
    with pytest.raises(GlowmcuError, match="f32") as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert caught.value.problems[0].code == "GM106"


def test_means_halfway_between_integers_round_away_from_zero() -> None:
    case = Case((1, 2, 1, 4), (2, 1), zero_point=0)
    x = np.array([[3, -3, 0, -1], [4, -4, 1, 0]], np.int8).reshape(case.shape)
    check_model(pool_model("AVERAGE_POOL_2D", case), [[x]], run_tflm)


def test_a_result_on_another_scale_is_refused() -> None:
    data = pool_model("MAX_POOL_2D", CASES["relu"], out_scale=0.06)
    with pytest.raises(GlowmcuError, match="must share scale and zero point") as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert caught.value.problems[0].code == "GM106"
