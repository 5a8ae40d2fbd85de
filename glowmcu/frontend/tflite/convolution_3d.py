"""CONV_3D, which the interpreters have on float32: planes are stacked as channels of images."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.stacked_planes import Planes, stack_planes
from glowmcu.frontend.tflite.activation_range import fused_clamp
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.convolution import bias_or_zeros, positive_pair, spatial_padding
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.frontend.unsupported import refused
from glowmcu.ir.operation import Array, OperationError
from glowmcu.ir.types import ElementType
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.shape import Reshape


@importer("CONV_3D")
def import_conv_3d(state: Import, op: OperatorRecord) -> None:
    """Images NDHWC, constant weights DHWIO."""
    options = op.options(tflite.Conv3DOptions)
    x, out = state.value(op, 0), state.output_type(op)
    weights = state.constant(op, 1, "weights")
    if x.type.rank != 5 or weights.ndim != 5 or weights.shape[3] != x.type.shape[4]:
        raise Unsupported("GM106", f"CONV_3D of {x.type} with weights of shape {weights.shape}")
    if {x.type.element, out.element} != {ElementType.F32} or weights.dtype != np.float32:
        raise Unsupported("GM106", f"CONV_3D takes float32, got {x.type}, {weights.dtype}, {out}")
    strides = positive_pair(options.StrideH(), options.StrideW(), "strides")
    dilations = positive_pair(
        options.DilationHFactor(), options.DilationWFactor(), "dilation factors"
    )
    stride, _ = positive_pair(options.StrideD(), 1, "strides")
    dilation, _ = positive_pair(options.DilationDFactor(), 1, "dilation factors")
    planes, *kernel, _, depth_out = weights.shape
    batch, depth, height, width, _ = x.type.shape
    around = spatial_padding(
        options.Padding(), (height, width), (kernel[0], kernel[1]), strides, dilations
    )
    above, _, below, _ = spatial_padding(
        options.Padding(), (depth, 1), (planes, 1), (stride, 1), (dilation, 1)
    )
    try:
        images = stack_planes(
            lambda operation, inputs: state.emit_inner(op, operation, inputs, out),
            x, Planes(planes, stride, dilation, (above, below)),
        )  # fmt: skip
    except OperationError as cause:
        raise refused(op.name, cause) from cause
    clamp = fused_clamp(options.FusedActivationFunction(), out)
    bias = bias_or_zeros(state, op, 2, depth_out)
    filters = state.add_constant(_filters(weights), "weights")
    conv = Conv2D(strides, dilations, around, clamp)
    flat = state.emit_inner(op, conv, [images, filters, bias], out)
    shape = (batch, flat.type.shape[0] // batch, *flat.type.shape[1:])
    state.emit(op, Reshape(shape), [flat])


def _filters(weights: Array) -> Array:
    """DHWIO as OHW(D * I)."""
    planes, height, width, depth_in, depth_out = weights.shape
    moved = weights.transpose(4, 1, 2, 0, 3)
    return np.ascontiguousarray(moved.reshape(depth_out, height, width, planes * depth_in))
