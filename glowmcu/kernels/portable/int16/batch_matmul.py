"""Portable kernel of batch_matmul on 16-bit activations."""

from __future__ import annotations

from glowmcu.kernels.common.layer_fields import constant_bytes
from glowmcu.kernels.kernel import (
    Cost,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.kernels.portable.int16.accumulation import is_wide
from glowmcu.kernels.portable.matmul import matrices
from glowmcu.ops.matmul import BatchMatMul


@kernel("batch_matmul.portable_s16", BatchMatMul)
class WideBatchMatMul(Kernel):
    """Inner products over strides, one result at a time; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_wide(site)

    def cost(self, site: Site, target: Target) -> Cost:
        outputs = site.signature.output.element_count
        return Cost(9.0 * site.node.macs + 60.0 * outputs, 260, constant_bytes(site))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, BatchMatMul)
        scale = op.requantization(site.signature)
        fields = (
            Field("matrices", matrices(site)),
            Field("multiplier", int(scale.multipliers[0])),
            Field("shift", int(scale.shifts[0])),
        )
        bound = op.depth(site.signature) * 2**30
        note = f"{site.node.macs:,} MACs; |acc| <= {bound:,} < 2^47".replace(",", " ")
        return KernelCode(
            function="glowmcu_batch_matmul_s16",
            operands=(0, 1),
            header="glowmcu_batch_matmul_s16.h",
            parameters=Parameters("glowmcu_batch_matmul_wide", fields),
            notes=(note,),
        )
