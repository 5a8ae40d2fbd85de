"""What the parameter structs of layers have in common: sizes, windows, clamps, int8 constants."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.types import ElementType
from glowmcu.kernels.kernel import ConstantArray, Field, Site
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.fixed_point import Int64Array, Requantization
from glowmcu.ops.real import FLOAT_MAX, Clamp, open_bounds
from glowmcu.ops.transpose_conv import TransposeConv2D

#: What `glowmcu_requantize` finds added to a shift that rounds once, beside others that do not.
_ROUNDED_ONCE = 64
#: As glowmcu_clamping.h has them.
_KEEP, _RELU, _CLAMP = 0, 1, 2


def literal_shifts(shifts: Int64Array, site: Site) -> Int64Array:
    """`shifts` as the C requantize reads them."""
    once = site.mixed_rounding and site.rounding is Rounding.SINGLE
    return shifts + _ROUNDED_ONCE if once else shifts


def requantization_arrays(scale: Requantization, site: Site) -> tuple[ConstantArray, ConstantArray]:
    """The two arrays that the C requantize reads."""
    shifts = literal_shifts(scale.shifts.astype(np.int64), site)
    comment = "left positive" if (shifts <= 30).all() else "left positive; + 64: rounded once"
    return (
        ConstantArray("multipliers", scale.multipliers, "Q31"),
        ConstantArray("shifts", shifts.astype(np.int8), comment),
    )


def in_both_halves(value: int) -> int:
    """An int16 twice, as an unsigned word."""
    return (value & 0xFFFF) * 0x10001


def is_constant(site: Site, *operands: int) -> bool:
    """Whether these operands are known at compile time."""
    return all(site.constants[operand] is not None for operand in operands)


def constant(site: Site, operand: int) -> Array:
    """Data of an operand that `accepts` has found constant."""
    data = site.constants[operand]
    assert data is not None
    return data


def is_float(site: Site) -> bool:
    """Whether the node computes on real numbers."""
    return site.signature.output.element.is_float


def is_int8(site: Site) -> bool:
    """Whether the result is int8."""
    return site.signature.output.element is ElementType.I8


def is_padded(site: Site) -> bool:
    """Whether some window of the convolution reaches outside the image."""
    assert isinstance(site.node.op, Conv2D | DepthwiseConv2D)
    return site.node.op.is_padded(site.signature)


def constant_bytes(site: Site) -> int:
    """Bytes of the operands that are known at compile time: what they take of the flash."""
    return sum(data.nbytes for data in site.constants if data is not None)


def clamping_fields(clamp: Clamp) -> tuple[Field, Field, Field]:
    """`clamping`, `clamp_min` and `clamp_max` of float structs: a fused activation, or none."""
    low, high = clamp or (-FLOAT_MAX, FLOAT_MAX)
    kind = {(-FLOAT_MAX, FLOAT_MAX): _KEEP, (0.0, FLOAT_MAX): _RELU}.get((low, high), _CLAMP)
    if kind == _CLAMP:
        low, high = open_bounds((low, high))
    return Field("clamping", kind), Field("clamp_min", float(low)), Field("clamp_max", float(high))


def int8_fields(site: Site, order: str) -> tuple[Field, ...]:
    """Zero points, clamp and constants, as the int8 structs end; `order` is that of the weights."""
    op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
    assert isinstance(op, Conv2D | DepthwiseConv2D | TransposeConv2D)
    multipliers, shifts = requantization_arrays(op.requantization(site.signature), site)
    clamp_min, clamp_max = op.clamp_range(site.signature)
    return (
        Field("in_zero_point", x.zero_point),
        Field("out_zero_point", out.zero_point),
        Field("clamp_min", clamp_min),
        Field("clamp_max", clamp_max),
        Field("weights", ConstantArray("weights", constant(site, 1), order)),
        Field("bias", ConstantArray("bias", constant(site, 2))),
        Field("multipliers", multipliers),
        Field("shifts", shifts),
    )


def window_fields(op: Conv2D | DepthwiseConv2D | TransposeConv2D) -> tuple[Field, ...]:
    """Strides, dilations and padding."""
    return (
        Field("stride_y", op.strides[0]),
        Field("stride_x", op.strides[1]),
        Field("dilation_y", op.dilations[0]),
        Field("dilation_x", op.dilations[1]),
        Field("pad_top", op.padding[0]),
        Field("pad_left", op.padding[1]),
    )


def size_fields(site: Site) -> tuple[Field, ...]:
    """Image, result and window."""
    (x, weights, *_), out = site.signature.inputs, site.signature.output
    return (
        Field("in_height", x.shape[1]),
        Field("in_width", x.shape[2]),
        Field("in_channels", x.shape[3]),
        Field("out_width", out.shape[2]),
        Field("out_channels", out.shape[3]),
        Field("kernel_height", weights.shape[1]),
        Field("kernel_width", weights.shape[2]),
    )


def conv_2d_geometry(site: Site) -> tuple[Field, ...]:
    """Sizes, strides and padding, as structs of conv_2d begin; with groups and dilation, so does
    the one of transpose_conv_2d.
    """
    op, weights = site.node.op, site.signature.inputs[1]
    assert isinstance(op, Conv2D | TransposeConv2D)
    groups = Field("group_channels", weights.shape[3])
    return (*size_fields(site), groups, *window_fields(op))


def depthwise_geometry(site: Site) -> tuple[Field, ...]:
    """Sizes, strides and padding, as all structs of depthwise_conv_2d begin."""
    op, (x, weights, _), out = site.node.op, site.signature.inputs, site.signature.output
    assert isinstance(op, DepthwiseConv2D)
    return (
        Field("in_height", x.shape[1]),
        Field("in_width", x.shape[2]),
        Field("in_channels", x.shape[3]),
        Field("out_width", out.shape[2]),
        Field("depth_multiplier", out.shape[3] // x.shape[3]),
        Field("kernel_height", weights.shape[1]),
        Field("kernel_width", weights.shape[2]),
        *window_fields(op),
    )
