"""The second of two cores: how much slower it is than the first, and which caches hide from it.

Both run the same kernels, which are chosen for the first. So each layer is divided by what its own
kernel takes on either core by the table of costs, in time, not in cycles.
"""

from __future__ import annotations

from glowmcu.cores import Core
from glowmcu.ir.instructions import BUFFER_ALIGN, Run
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.selection.select import Selection
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memplan.divide_rows import share

#: Cycles of cleaning or invalidating a line of a cache that the other core does not see.
LINE_CYCLES = 8.0
#: Code in the order that suits a core of two pipelines takes one of a single pipeline so many times
#: as long as code in its own order: 1.00 to 1.13 by layers of MLPerf Tiny on the modelled cores.
_OTHER_ORDER = 1.1
#: A piece may be so much slower to compute than the best one where a line begins with it.
_LINE_SLOWDOWN = 1.02


@dataclass(frozen=True)
class Partner:
    """The second core, None if it is like the first, whose clock is `clock_ratio` times as quick.
    The caches of one of both have lines of `line_bytes` that the other does not see; 1: they see
    the same memory.
    """

    core: Core | None = None
    clock_ratio: float = 1.0
    line_bytes: int = 1

    @property
    def is_alike(self) -> bool:
        """Whether both are equally fast and see the same memory."""
        return self == Partner()

    def slower(self, chosen: Selection) -> float:
        """How many times as long as the first core it takes for the layer, by the kernel's costs on
        either and by the clocks; by the clocks alone where a cost is not known.
        """
        if self.core is None or chosen.site is None or chosen.target is None:
            return self.clock_ratio
        target = Target(self.core, chosen.target.goal)
        if not chosen.kernel.accepts(chosen.site, target):
            return self.clock_ratio
        cost = chosen.kernel.calibrated_cost(chosen.site, target)
        if cost.is_guess or chosen.cost.is_guess:
            return self.clock_ratio
        has_other_order = chosen.target.core.dual_issue and not self.core.dual_issue
        longer = _OTHER_ORDER if has_other_order else 1.0
        return self.clock_ratio * longer * cost.cycles / chosen.cost.cycles

    def cycles_to_show(self, run: Run) -> float:
        """Cycles that caches take to show the other core what a run has written."""
        if self.line_bytes == 1:
            return 0.0
        written = [*run.outputs, *run.own_memory]
        return LINE_CYCLES * sum(-(-item.size_bytes // self.line_bytes) for item in written)


def best_split(units: int, unit_bytes: int, slower: float, line_bytes: int) -> int:
    """How many units the first core takes where a line may begin after them, best one that begins
    so in a result that does.
    """

    def cycles(split: int) -> float:
        return max(split, (units - split) * slower)

    words = [k for k in range(1, units) if k * unit_bytes % BUFFER_ALIGN == 0]
    best = min(words, key=cycles, default=share(units, slower))
    lines = [k for k in words if k * unit_bytes % line_bytes == 0]
    nearest = min(lines, key=cycles, default=best)
    return nearest if cycles(nearest) <= _LINE_SLOWDOWN * cycles(best) else best
