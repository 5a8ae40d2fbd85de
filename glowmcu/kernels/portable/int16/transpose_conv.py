"""Portable kernel of transpose_conv_2d on 16-bit activations."""

from __future__ import annotations

from glowmcu.kernels.common.layer_fields import constant, is_constant
from glowmcu.kernels.common.overlap import row_overlaps
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
from glowmcu.kernels.portable.transpose_conv import transpose_geometry
from glowmcu.ops.transpose_conv import TransposeConv2D


@kernel("transpose_conv_2d.portable_s16", TransposeConv2D)
class WideTransposeConv2D(Kernel):
    """Each result gathers the input pixels that reach it; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_constant(site, 1, 2) and is_wide(site)

    def cost(self, site: Site, target: Target) -> Cost:
        outputs = site.signature.output.element_count
        flash = site.signature.inputs[1].size_bytes + 9 * site.signature.output.shape[3]
        return Cost(3.8 * site.node.macs + 70.0 * outputs, 690, flash)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, signature = site.node.op, site.signature
        assert isinstance(op, TransposeConv2D)
        x, out = signature.inputs[0], signature.output
        weights, bias = constant(site, 1), constant(site, 2)
        rows = weights.reshape(weights.shape[0], -1)
        clamp = op.clamp_range(signature)
        scale, note = wide_scale(site, rows, bias, op.requantization(signature), clamp)
        fields = (
            *transpose_geometry(site),
            scale,
            Field("weights", ConstantArray("weights", weights, "OHWI")),
        )
        return KernelCode(
            function="glowmcu_transpose_conv_2d_s16",
            operands=(0,),
            header="glowmcu_transpose_conv_2d_s16.h",
            parameters=Parameters("glowmcu_transpose_conv_2d_wide", fields),
            rows=out.shape[1],
            batches=x.shape[0],
            overlaps=row_overlaps(op, site.signature),
            notes=(note,),
        )
