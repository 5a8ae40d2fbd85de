"""Portable kernel of `copy`: one memcpy, from the arena or from a constant in flash."""

from __future__ import annotations

from glowmcu.ir.kernel_code import Field, KernelCode, Parameters
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.ops.copy import Copy


@kernel("copy.portable", Copy)
class PortableCopy(Kernel):
    """The strided copy without strides; any core, any element type."""

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(60.0 + 0.6 * site.signature.output.size_bytes, 260, 20)

    def generate(self, site: Site, target: Target) -> KernelCode:
        fields = (
            Field("unit_bytes", site.signature.output.size_bytes),
            Field("in_first", 0),
            Field("out_first", 0),
            Field("loop_count", 0),
            Field("loops", None),
        )
        return KernelCode(
            function="glowmcu_strided_copy_bytes",
            operands=(0,),
            header="glowmcu_strided_copy.h",
            parameters=Parameters("glowmcu_strided_copy", fields),
        )
