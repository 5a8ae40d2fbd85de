"""Portable kernels of conv_2d and depthwise_conv_2d on 16-bit activations."""

from __future__ import annotations

from glowmcu.kernels.common.layer_fields import (
    constant,
    conv_2d_geometry,
    depthwise_geometry,
    is_constant,
)
from glowmcu.kernels.common.overlap import window_overlaps
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
from glowmcu.kernels.portable.convolution import depthwise_overlaps
from glowmcu.kernels.portable.int16.accumulation import WIDE_BLOCK, is_wide, wide_scale
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D


def _flash(site: Site) -> int:
    return site.signature.inputs[1].size_bytes + 9 * site.signature.output.shape[3]


@kernel("conv_2d.portable_s16", Conv2D)
class WideConv2D(Kernel):
    """Direct convolution, four output channels at a time; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_constant(site, 1, 2) and is_wide(site)

    def cost(self, site: Site, target: Target) -> Cost:
        outputs = site.signature.output.element_count
        return Cost(3.8 * site.node.macs + 60.0 * outputs, 640, _flash(site))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, Conv2D)
        signature = site.signature
        weights, bias = constant(site, 1), constant(site, 2)
        rows = weights.reshape(weights.shape[0], -1)
        clamp = op.clamp_range(signature)
        scale, note = wide_scale(site, rows, bias, op.requantization(signature), clamp)
        fields = (
            *conv_2d_geometry(site),
            scale,
            Field("weights", ConstantArray("weights", weights, "OHWI")),
        )
        return KernelCode(
            function="glowmcu_conv_2d_s16",
            operands=(0,),
            header="glowmcu_conv_2d_s16.h",
            parameters=Parameters("glowmcu_conv_2d_wide", fields),
            rows=signature.output.shape[1],
            batches=signature.output.shape[0],
            overlaps=window_overlaps(op, signature, weights.shape[1:3]),
            notes=(note,),
        )


@kernel("depthwise_conv_2d.portable_s16", DepthwiseConv2D)
class WideDepthwiseConv2D(Kernel):
    """One channel at a time over the window; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        fits = site.signature.inputs[1].shape[2] <= WIDE_BLOCK
        return is_constant(site, 1, 2) and is_wide(site) and fits

    def cost(self, site: Site, target: Target) -> Cost:
        outputs = site.signature.output.element_count
        return Cost(9.5 * site.node.macs + 60.0 * outputs, 470, _flash(site))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, DepthwiseConv2D)
        signature = site.signature
        weights, bias = constant(site, 1), constant(site, 2)
        columns = weights.reshape(-1, signature.output.shape[3]).T
        clamp = op.clamp_range(signature)
        scale, note = wide_scale(site, columns, bias, op.requantization(signature), clamp)
        fields = (
            *depthwise_geometry(site),
            scale,
            Field("weights", ConstantArray("weights", weights, "HWC")),
        )
        return KernelCode(
            function="glowmcu_depthwise_conv_2d_s16",
            operands=(0,),
            header="glowmcu_depthwise_conv_2d_s16.h",
            parameters=Parameters("glowmcu_depthwise_conv_2d_wide", fields),
            rows=signature.output.shape[1],
            batches=signature.output.shape[0],
            overlaps=depthwise_overlaps(site),
            notes=(note,),
        )
