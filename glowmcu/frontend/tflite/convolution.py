"""CONV_2D and DEPTHWISE_CONV_2D."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tflite.activation_range import fused_clamp
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.nine_bit_weights import emit_conv_2d, emit_depthwise_conv_2d
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType, Shape
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D, Padding, same_padding


def spatial_padding(
    padding: int, size: Shape, kernel: tuple[int, int], strides: tuple[int, int],
    dilations: tuple[int, int] = (1, 1),
) -> Padding:  # fmt: skip
    """TFLite's padding enum as top, left, bottom, right; `size` is (height, width)."""
    if padding == tflite.Padding.VALID:
        return (0, 0, 0, 0)
    if padding != tflite.Padding.SAME:
        raise Unsupported("GM105", f"padding {padding} is neither SAME nor VALID")
    top, bottom = same_padding(size[0], kernel[0], strides[0], dilations[0])
    left, right = same_padding(size[1], kernel[1], strides[1], dilations[1])
    return (top, left, bottom, right)


def positive_pair(height: int, width: int, what: str) -> tuple[int, int]:
    """Strides or dilations; Unsupported unless both are at least 1 and within int16."""
    if not (1 <= height < 2**15 and 1 <= width < 2**15):
        raise Unsupported("GM105", f"{what} must be at least 1, got {height} x {width}")
    return height, width


def bias_or_zeros(
    state: Import, op: OperatorRecord, position: int, channels: int, declared: int = 0
) -> Value:
    """The bias operand, or zeros where the operator has none: int32, or float32 like the result.

    `declared` is the bias type that the options state: with 16-bit results it says, as a bias
    would, whether sums are int32 or (unless it does) int64.
    """
    if state.has(op, position):
        return state.value(op, position)
    if state.output_type(op).element is ElementType.I16 and declared != tflite.TensorType.INT32:
        return state.builder.add_no_bias(channels, np.int64)
    is_float = state.output_type(op).element.is_float
    return state.builder.add_no_bias(channels, np.float32 if is_float else np.int32)


@importer("CONV_2D")
def import_conv_2d(state: Import, op: OperatorRecord) -> None:
    """Weights OHWI, as the IR has them."""
    options = op.options(tflite.Conv2DOptions)
    x, weights = state.value(op, 0), state.value(op, 1)
    _expect_windows(op, x, weights)
    strides = positive_pair(options.StrideH(), options.StrideW(), "strides")
    dilations = positive_pair(
        options.DilationHFactor(), options.DilationWFactor(), "dilation factors"
    )
    _, height, width, _ = x.type.shape
    depth_out, kernel_h, kernel_w, _ = weights.type.shape
    padding = spatial_padding(
        options.Padding(), (height, width), (kernel_h, kernel_w), strides, dilations
    )
    clamp = fused_clamp(options.FusedActivationFunction(), state.output_type(op))
    bias = bias_or_zeros(state, op, 2, depth_out, options.QuantizedBiasType())
    emit_conv_2d(state, op, Conv2D(strides, dilations, padding, clamp), [x, weights, bias])


@importer("DEPTHWISE_CONV_2D")
def import_depthwise_conv_2d(state: Import, op: OperatorRecord) -> None:
    """Weights 1HW(C * multiplier), as the IR has them; the stored multiplier is not needed."""
    options = op.options(tflite.DepthwiseConv2DOptions)
    x, weights = state.value(op, 0), state.value(op, 1)
    _expect_windows(op, x, weights)
    strides = positive_pair(options.StrideH(), options.StrideW(), "strides")
    dilations = positive_pair(
        options.DilationHFactor(), options.DilationWFactor(), "dilation factors"
    )
    _, height, width, _ = x.type.shape
    _, kernel_h, kernel_w, depth_out = weights.type.shape
    padding = spatial_padding(
        options.Padding(), (height, width), (kernel_h, kernel_w), strides, dilations
    )
    clamp = fused_clamp(options.FusedActivationFunction(), state.output_type(op))
    bias = bias_or_zeros(state, op, 2, depth_out)
    depthwise = DepthwiseConv2D(strides, dilations, padding, clamp)
    emit_depthwise_conv_2d(state, op, depthwise, [x, weights, bias])


def _expect_windows(op: OperatorRecord, x: Value, weights: Value) -> None:
    if x.type.rank != 4 or weights.type.rank != 4:
        raise Unsupported("GM106", f"{op.name} needs rank 4, got {x.type} and {weights.type}")
