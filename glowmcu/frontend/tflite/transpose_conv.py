"""TRANSPOSE_CONV."""

from __future__ import annotations

from glowmcu.frontend.tflite.activation_range import fused_clamp
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.convolution import bias_or_zeros, positive_pair, spatial_padding
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.nine_bit_weights import emit_conv_2d
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ops.transpose_conv import TransposeConv2D


@importer("TRANSPOSE_CONV")
def import_transpose_conv(state: Import, op: OperatorRecord) -> None:
    """Operands: result shape (said by the declared result too), weights OHWI, input, bias."""
    options = op.options(tflite.TransposeConvOptions)
    weights, x = state.value(op, 1), state.value(op, 2)
    out = state.output_type(op)
    if weights.type.rank != 4 or x.type.rank != 4 or len(out.shape) != 4:
        raise Unsupported("GM106", f"TRANSPOSE_CONV needs rank 4, got {x.type} and {weights.type}")
    strides = positive_pair(options.StrideH(), options.StrideW(), "strides")
    depth_out, kernel_h, kernel_w, _ = weights.type.shape
    # The padding is the one of the convolution that would lead from the result to the input.
    size = (out.shape[1], out.shape[2])
    top, left, _, _ = spatial_padding(options.Padding(), size, (kernel_h, kernel_w), strides)
    clamp = fused_clamp(options.FusedActivationFunction(), out)
    bias = bias_or_zeros(state, op, 3, depth_out)
    operation = TransposeConv2D(size, strides, (top, left), clamp)
    emit_conv_2d(state, op, operation, [x, weights, bias])
