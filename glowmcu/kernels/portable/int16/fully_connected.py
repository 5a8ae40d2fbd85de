"""Portable kernel of fully_connected on 16-bit activations."""

from __future__ import annotations

from glowmcu.kernels.common.layer_fields import constant, is_constant
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
from glowmcu.kernels.portable.int16.accumulation import is_wide, wide_scale
from glowmcu.ops.matmul import FullyConnected


@kernel("fully_connected.portable_s16", FullyConnected)
class WideFullyConnected(Kernel):
    """Four output channels at a time; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_constant(site, 1, 2) and is_wide(site)

    def cost(self, site: Site, target: Target) -> Cost:
        outputs = site.signature.output.element_count
        flash = site.signature.inputs[1].size_bytes + 4 * site.signature.inputs[1].shape[0]
        return Cost(3.2 * site.node.macs + 60.0 * outputs, 280, flash)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, signature = site.node.op, site.signature
        assert isinstance(op, FullyConnected)
        weights, bias = constant(site, 1), constant(site, 2)
        clamp = op.clamp_range(signature)
        scale, note = wide_scale(site, weights, bias, op.requantization(signature), clamp)
        fields = (
            Field("rows", signature.inputs[0].element_count // weights.shape[1]),
            Field("depth_in", weights.shape[1]),
            Field("depth_out", weights.shape[0]),
            scale,
            Field("weights", ConstantArray("weights", weights, "OI")),
        )
        return KernelCode(
            function="glowmcu_fully_connected_s16",
            operands=(0,),
            header="glowmcu_fully_connected_s16.h",
            parameters=Parameters("glowmcu_fully_connected_wide", fields),
            notes=(note,),
        )
