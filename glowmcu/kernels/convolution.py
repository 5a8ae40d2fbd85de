"""Portable kernels of conv_2d and depthwise_conv_2d: one shared C function each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.kernels.bounds import accumulator_bound, bound_note
from glowmcu.kernels.kernel import (
    ConstantArray,
    Cost,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.kernels.overlap import Overlaps, channel_overlaps, window_overlaps
from glowmcu.kernels.window_work import window_work
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.fixed_point import Requantization
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.transpose_conv import TransposeConv2D


def requantization_arrays(scale: Requantization) -> tuple[ConstantArray, ConstantArray]:
    """The two arrays that the C requantize reads."""
    return (
        ConstantArray("multipliers", scale.multipliers, "Q31"),
        ConstantArray("shifts", scale.shifts.astype(np.int8), "left positive"),
    )


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


def constant_bytes(site: Site) -> int:
    """Bytes of the operands that are known at compile time: what they take of the flash."""
    return sum(data.nbytes for data in site.constants if data is not None)


def float_clamp_fields(clamp: tuple[float, float] | None) -> tuple[Field, Field]:
    """Bounds of a fused activation; without one the largest float, which no finite sum exceeds."""
    low, high = clamp or (-FLOAT_MAX, FLOAT_MAX)
    return Field("clamp_min", float(low)), Field("clamp_max", float(high))


def int8_fields(site: Site, order: str) -> tuple[Field, ...]:
    """Zero points, clamp and constants, as the int8 structs end; `order` is that of the weights."""
    op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
    assert isinstance(op, Conv2D | DepthwiseConv2D | TransposeConv2D)
    multipliers, shifts = requantization_arrays(op.requantization(site.signature))
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


@kernel("conv_2d.portable", Conv2D)
class PortableConv2D(Kernel):
    """Direct convolution, four output channels at a time; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_constant(site, 1, 2) and is_int8(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, weights = site.node.op, site.signature.inputs[1].shape
        assert isinstance(op, Conv2D)
        window = window_work(op, site.signature, weights[1:3])
        groups = site.signature.inputs[0].shape[3] // weights[3]
        fours, ones = divmod(weights[0] // groups, 4)
        # Taps side by side are one inner loop, unless they are apart in the image.
        together = op.dilations[1] == 1 and groups == 1
        loops = groups * (window.rows if together else window.taps)
        return {
            "call": 1.0,
            "pixel": window.pixels,
            "output": window.pixels * weights[0],
            "loop of four": loops * fours,
            "loop of one": loops * ones,
            "step of four": groups * fours * window.taps * weights[3],
            "step of one": groups * ones * window.taps * weights[3],
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return constant_bytes(site) + 5 * site.signature.output.shape[3]

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, Conv2D)
        x, out = site.signature.inputs[0], site.signature.output
        weights, bias = constant(site, 1), constant(site, 2)
        bound = accumulator_bound(site, weights.reshape(weights.shape[0], -1), bias)
        fields = (
            *conv_2d_geometry(site),
            *int8_fields(site, "OHWI"),
        )
        return KernelCode(
            function="glowmcu_conv_2d_s8",
            operands=(0,),
            header="glowmcu_conv_2d.h",
            parameters=Parameters("glowmcu_conv_2d", fields),
            rows=out.shape[1],
            batches=x.shape[0],
            overlaps=window_overlaps(op, site.signature, weights.shape[1:3]),
            notes=(bound_note(site.node.macs, bound),),
        )


def depthwise_overlaps(site: Site) -> Overlaps:
    """Of the portable loops: pixel by pixel, one output channel after another."""
    op, (x, weights, _) = site.node.op, site.signature.inputs
    assert isinstance(op, DepthwiseConv2D)
    kernel = weights.shape[1:3]
    if x.shape[3] == weights.shape[3]:
        return channel_overlaps(op, site.signature, kernel, at_once=1)
    return window_overlaps(op, site.signature, kernel)


def _depthwise_work(site: Site) -> dict[str, float]:
    op, channels = site.node.op, site.signature.output.shape[3]
    assert isinstance(op, DepthwiseConv2D)
    window = window_work(op, site.signature, site.signature.inputs[1].shape[1:3])
    return {
        "call": 1.0,
        "pixel": window.pixels,
        "channel": window.pixels * site.signature.inputs[0].shape[3],
        "output": window.pixels * channels,
        "row": window.rows * channels,
        "mac": window.taps * channels,
    }


@kernel("depthwise_conv_2d.portable", DepthwiseConv2D)
class PortableDepthwiseConv2D(Kernel):
    """One channel at a time over the window; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_constant(site, 1, 2) and is_int8(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        return _depthwise_work(site)

    def flash_bytes(self, site: Site, target: Target) -> int:
        return constant_bytes(site) + 5 * site.signature.output.shape[3]

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, DepthwiseConv2D)
        x, out = site.signature.inputs[0], site.signature.output
        weights, bias = constant(site, 1), constant(site, 2)
        channels = out.shape[3]
        bound = accumulator_bound(site, weights.reshape(-1, channels).T, bias)
        fields = (
            *depthwise_geometry(site),
            *int8_fields(site, "HWC"),
        )
        return KernelCode(
            function="glowmcu_depthwise_conv_2d_s8",
            operands=(0,),
            header="glowmcu_depthwise_conv_2d.h",
            parameters=Parameters("glowmcu_depthwise_conv_2d", fields),
            rows=out.shape[1],
            batches=x.shape[0],
            overlaps=depthwise_overlaps(site),
            notes=(bound_note(site.node.macs, bound),),
        )


def _float_code(site: Site, name: str, fields: Sequence[Field], overlaps: Overlaps) -> KernelCode:
    """Of a float kernel that takes its weights and biases as operands, or with its parameters."""
    code = KernelCode(
        function=f"glowmcu_{name}_f32",
        operands=(0, 1, 2),
        header=f"glowmcu_{name}_f32.h",
        parameters=Parameters(f"glowmcu_{name}_real", tuple(fields)),
        rows=site.signature.output.shape[1],
        batches=site.signature.output.shape[0],
        overlaps=overlaps,
        whole_operands=(1, 2),
    )
    if not is_constant(site, 1, 2):
        return code
    assert code.parameters is not None
    short = name.removesuffix("_conv_2d")
    constants = (
        Field("layer", code.parameters),
        Field("weights", ConstantArray("weights", constant(site, 1))),
        Field("bias", ConstantArray("bias", constant(site, 2))),
    )
    return replace(
        code,
        function=f"glowmcu_{name}_constant_f32",
        operands=(0,),
        header=f"glowmcu_{name}_constant_f32.h",
        parameters=Parameters(f"glowmcu_{short}_constant_real", constants),
        whole_operands=(),
    )


@kernel("conv_2d.portable_f32", Conv2D)
class FloatConv2D(Kernel):
    """Direct convolution on float32; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_float(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, weights = site.node.op, site.signature.inputs[1].shape
        assert isinstance(op, Conv2D)
        window = window_work(op, site.signature, weights[1:3])
        return {
            "call": 1.0,
            "pixel": window.pixels,
            "output": window.pixels * weights[0],
            "row": window.rows * weights[0],
            "tap": window.taps * weights[0],
            "mac": window.taps * weights[0] * weights[3],
        }

    def cost(self, site: Site, target: Target) -> Cost:
        cycles_per_mac = 8.0 if target.core.has_fpu else 120.0
        return Cost(cycles_per_mac * site.node.macs, 500, constant_bytes(site))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, Conv2D)
        fields = (
            *conv_2d_geometry(site),
            *float_clamp_fields(op.clamp),
        )
        overlaps = window_overlaps(op, site.signature, site.signature.inputs[1].shape[1:3])
        return _float_code(site, "conv_2d", fields, overlaps)


@kernel("depthwise_conv_2d.portable_f32", DepthwiseConv2D)
class FloatDepthwiseConv2D(Kernel):
    """One channel at a time on float32; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_float(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        return _depthwise_work(site)

    def cost(self, site: Site, target: Target) -> Cost:
        cycles_per_mac = 12.0 if target.core.has_fpu else 125.0
        return Cost(cycles_per_mac * site.node.macs, 450, constant_bytes(site))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, DepthwiseConv2D)
        fields = (
            *depthwise_geometry(site),
            *float_clamp_fields(op.clamp),
        )
        return _float_code(site, "depthwise_conv_2d", fields, depthwise_overlaps(site))
