"""Transposed convolution equals TensorFlow Lite Micro, gathered instead of scattered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.operation import RowWindow
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.forced_variant import variants_of
from tests.support.oracle import run_tflm


@dataclass(frozen=True)
class Case:
    shape: tuple[int, int, int, int]
    depth_out: int
    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    padding: str = "VALID"
    size: tuple[int, int] | None = None
    bias: bool = True
    per_channel: bool = True
    activation: str = "NONE"
    weights_zero_point: int = 0

    @property
    def out_size(self) -> tuple[int, int]:
        if self.size is not None:
            return self.size
        (_, height, width, _), (kernel_h, kernel_w) = self.shape, self.kernel
        stride_y, stride_x = self.strides
        if self.padding == "SAME":
            return height * stride_y, width * stride_x
        return (height - 1) * stride_y + kernel_h, (width - 1) * stride_x + kernel_w


CASES = {
    "one pixel": Case((1, 1, 1, 1), 1, (1, 1)),
    "one pixel spread": Case((1, 1, 1, 3), 5, (3, 2), (2, 2)),
    "stride 1, valid": Case((1, 3, 4, 2), 3, (3, 3)),
    "stride 2, valid": Case((1, 3, 4, 2), 4, (3, 3), (2, 2)),
    "stride 2, same": Case((1, 4, 3, 5), 7, (3, 3), (2, 2), "SAME"),
    "stride 2, same, odd result": Case((1, 4, 3, 2), 3, (3, 3), (2, 2), "SAME", (7, 5)),
    "even kernel, same": Case((1, 3, 3, 4), 5, (4, 2), (2, 2), "SAME"),
    "kernel smaller than the stride": Case((1, 3, 3, 2), 2, (1, 2), (3, 3), "SAME"),
    "strides that differ": Case((1, 3, 5, 2), 2, (5, 3), (3, 1), "VALID"),
    "result larger than the reach": Case((1, 2, 2, 2), 2, (2, 2), (2, 2), "VALID", (5, 6)),
    "batch of two": Case((2, 2, 3, 2), 3, (3, 3), (2, 1), "SAME"),
    "no bias": Case((1, 2, 3, 2), 3, (3, 3), (2, 2), "SAME", bias=False),
    "one scale for all weights": Case((1, 2, 3, 2), 3, (3, 3), (2, 2), per_channel=False),
    "relu": Case((1, 2, 3, 2), 3, (3, 3), (2, 2), activation="RELU"),
    "relu6": Case((1, 2, 3, 2), 3, (3, 3), (2, 2), activation="RELU6"),
    "seventeen channels": Case((1, 2, 2, 17), 17, (2, 2), (2, 2)),
}


def transpose_conv_model(case: Case, dtype: str = "int8", is_rounded: bool = False) -> bytes:
    """Float weights are multiples of a scale, int8 of them, if `is_rounded`."""
    generator = np.random.default_rng(7)
    model = ModelBuilder()
    out_shape = (case.shape[0], *case.out_size, case.depth_out)
    quantized = dtype == "int8"
    x = model.input("x", case.shape, dtype, *((0.1, -7) if quantized else ()))
    scales = generator.uniform(0.001, 0.05, case.depth_out) if case.per_channel else 0.02
    kernel = (case.depth_out, *case.kernel, case.shape[3])
    weights = generator.integers(-128, 128, kernel).astype(np.int8)
    if quantized:
        w = model.constant("w", weights, scales, case.weights_zero_point)
    else:
        real = weights if is_rounded else generator.normal(0, 64, kernel)
        w = model.constant("w", real.astype(np.float32) / 64)
    shape = model.constant("shape", np.array(out_shape, np.int32))
    operands = [shape, w, x]
    if case.bias:
        values = generator.integers(-2000, 2000, case.depth_out).astype(np.int32)
        bias_scales = np.atleast_1d(scales) * 0.1
        operands.append(
            model.constant("bias", values, bias_scales)
            if quantized
            else model.constant("bias", values.astype(np.float32) / 1000)
        )
    y = model.tensor("y", out_shape, dtype, *((0.35, 9) if quantized else ()))
    options = {
        "padding": case.padding,
        "stride_h": case.strides[0],
        "stride_w": case.strides[1],
        "fused_activation_function": case.activation,
    }
    model.op("TRANSPOSE_CONV", operands, [y], options)
    model.output(y)
    return model.finish()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_transposed_convolution_equals_tflm(case: Case) -> None:
    check_model(transpose_conv_model(case), oracle=run_tflm)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_transposed_convolution_of_real_numbers_equals_tflm(case: Case) -> None:
    check_model(transpose_conv_model(case, "float32"), oracle=run_tflm, count=2)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_real_numbers_times_int8_weights(case: Case) -> None:
    done = check_model(transpose_conv_model(case, "float32", True), oracle=run_tflm, count=2)
    one = case.kernel == (1, 1) and case.shape[3] == 1  # any single weight is 127 times a scale
    name = "portable_f32" if one else "w8_f32"
    assert variants_of(done) == {f"transpose_conv_2d.{name}"}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_input_rows_are_just_those_that_reach_the_result(case: Case) -> None:
    done = compile_model(transpose_conv_model(case), "m.tflite", Options("m"))
    (node,) = (node for node in done.graph.nodes if node.op.name == "transpose_conv_2d")
    op, height = node.op, case.shape[1]
    for row in range(case.out_size[0]):
        reach = [
            y
            for y in range(height)
            if 0 <= row + op.padding[0] - y * case.strides[0] < case.kernel[0]
        ]
        window = op.input_rows(node.signature, row, row + 1)[0]
        assert isinstance(window, RowWindow)
        assert list(range(window.first, window.end)) == reach


def test_weights_with_a_zero_point_are_refused() -> None:
    data = transpose_conv_model(
        Case((1, 2, 2, 1), 1, (2, 2), per_channel=False, weights_zero_point=3)
    )
    with pytest.raises(GlowmcuError, match="weights must have zero point 0"):
        compile_model(data, "m.tflite", Options("m"))
