"""The kernel of `acme.maximum_3`."""

from __future__ import annotations

from acme_glowmcu.operators import Maximum3
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


@kernel("acme.maximum_3", Maximum3)
class AcmeMaximum3(Kernel):
    """One loop, in C that any core runs."""

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(9.0 * site.signature.output.element_count, 60, 4)

    def generate(self, site: Site, target: Target) -> KernelCode:
        count = Field("count", site.signature.output.element_count)
        return KernelCode(
            function="acme_maximum_3_s8",
            operands=(0, 1, 2),
            header="acme_maximum_3.h",
            parameters=Parameters("acme_maximum_3", (count,)),
        )
