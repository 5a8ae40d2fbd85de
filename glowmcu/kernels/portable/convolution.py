"""Portable kernels of conv_2d and depthwise_conv_2d: one shared C function each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import (
    clamping_fields,
    constant,
    constant_bytes,
    conv_2d_geometry,
    depthwise_geometry,
    int8_fields,
    is_constant,
    is_float,
    is_int8,
)
from glowmcu.kernels.common.overlap import Overlaps, channel_overlaps, window_overlaps
from glowmcu.kernels.common.window_work import window_work
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
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D


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
            *clamping_fields(op.clamp),
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
            *clamping_fields(op.clamp),
        )
        return _float_code(site, "depthwise_conv_2d", fields, depthwise_overlaps(site))
