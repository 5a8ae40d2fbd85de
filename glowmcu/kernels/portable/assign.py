"""Portable kernel of `assign`: a copy from anywhere in the arena, or from a constant in flash."""

from __future__ import annotations

from glowmcu.ir.kernel_code import Field, KernelCode, Overlap, Parameters
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.ops.assign import Assign


@kernel("assign.portable", Assign)
class PortableAssign(Kernel):
    """memmove: the result may share any bytes of the operand; any core, any element type."""

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(60.0 + 0.9 * site.signature.output.size_bytes, 60, 4)

    def generate(self, site: Site, target: Target) -> KernelCode:
        fields = (Field("size_bytes", site.signature.output.size_bytes),)
        return KernelCode(
            function="glowmcu_assign",
            operands=(0,),
            header="glowmcu_assign.h",
            parameters=Parameters("glowmcu_assignment", fields),
            overlaps={0: Overlap(-site.signature.output.size_bytes)},
        )
