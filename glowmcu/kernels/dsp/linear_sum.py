"""int8 add and sub in a linear form on four elements a word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from glowmcu.kernels.common.broadcasting import walk_work
from glowmcu.kernels.kernel import Cost, Site, Target, kernel
from glowmcu.kernels.portable.linear_sum import LinearSum
from glowmcu.kernels.requantization.linear_form import HIGH_WORD, Arithmetic
from glowmcu.ops.elementwise import Add, Sub


@kernel("sum.linear_dsp", Add, Sub)
class LinearSumDsp(LinearSum):
    """The same on four elements a word; cores with the DSP instructions."""

    arithmetic: ClassVar[Arithmetic] = HIGH_WORD
    function: ClassVar[str] = "glowmcu_linear_sum_dsp"

    def accepts(self, site: Site, target: Target) -> bool:
        return target.core.has_dsp and super().accepts(site, target)

    def cost(self, site: Site, target: Target) -> Cost:
        work = self.work(site, target)
        unit_costs = {"element": 6.6, "single_element": 22.0, "run": 92.0, "call": 34.0}
        return Cost(sum(unit_costs[name] * amount for name, amount in work.items()), 512, 32)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return walk_work(site.signature, 4)
