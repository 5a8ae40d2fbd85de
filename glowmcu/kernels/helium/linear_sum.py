"""int8 add and sub in a linear form, four elements a Helium vector."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.kernels.common.broadcasting import loop_axes, walk_work
from glowmcu.kernels.kernel import Cost, Site, Target, kernel
from glowmcu.kernels.portable.linear_sum import LinearSum
from glowmcu.ops.elementwise import Add, Sub

_CYCLES = {"element": 2.1, "single_element": 8.0, "run": 60.0, "call": 60.0}


@kernel("sum.linear_mve", Add, Sub)
class LinearSumMve(LinearSum):
    """Where both operands step along the innermost axis."""

    function = "glowmcu_linear_sum_mve"

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_mve:
            return False
        signature = site.signature
        shapes = [type_.shape for type_ in signature.inputs]
        inner = loop_axes(shapes, signature.output.shape)[-1]
        return inner.strides == (1, 1) and super().accepts(site, target)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return walk_work(site.signature, 4)

    def cost(self, site: Site, target: Target) -> Cost:
        work = self.work(site, target)
        return Cost(sum(_CYCLES[name] * amount for name, amount in work.items()), 260, 32)
