"""Which variants a goal and its budgets choose, by the local search of local_search.py.

Limits become weights: sets are found for ever heavier bytes, and the best of those within the
limits is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from glowmcu.goals import Goal
from glowmcu.ir.graph import Node
from glowmcu.kernels.kernel import Kernel
from glowmcu.kernels.selection.choices import Candidates
from glowmcu.kernels.selection.local_search import Chosen, CostWeights, LocalSearch, Totals

#: Weight of a kilobyte of flash as a part of all cycles, where constants are `_USUAL_FLASH` or
#: less; of more a kilobyte is so much smaller a part. Up to 0.008 `balanced` would spend tens of
#: kilobytes on a tenth of the cycles (Winograd), from 0.0095 on it would refuse fast kernels.
_WEIGHT_OF_KILOBYTE = {Goal.BALANCED: 0.0085, Goal.SPEED: 2e-4, Goal.SIZE: 0.0085, Goal.RAM: 0.0085}
_USUAL_FLASH = 256 * 1024
_OF_LARGE_MODELS = (Goal.BALANCED, Goal.RAM)
#: The goal `size` accepts at most SIZE_SLOWDOWN times the cycles of `balanced` and aims for at most
#: SIZE_CODE of its code bytes; if that can be had, constants count, too.
SIZE_SLOWDOWN, SIZE_CODE = 1.5, 0.45
#: But a set with at most 0.9 times the flash may have more code: weights of four bits.
_LESS_FLASH = 0.9
#: Whoever gives weights four bits wants less flash: for kernels that store them as such `balanced`
#: accepts that many times the cycles.
FOUR_BITS_SLOWDOWN = 1.15
_CODE_WEIGHTS = (1.0, 3.0, 10.0)  # of a byte of code, in bytes of constants
_ENDLESS = 1 << 62


def cheapest_set(
    candidates: Candidates,
    goal: Goal,
    flash_budget: int | None = None,
    code_byte_cycles: float = 0.0,
) -> Chosen:
    """One variant a node, by the goal and within the budget for constants and functions; a byte of
    code takes `code_byte_cycles`, once.

    The smallest set that was found if none is within the budget.
    """
    search, goal = LocalSearch(candidates), goal.of_kernels
    weights = goal_weights(candidates, goal)
    weights = replace(weights, code=weights.code + code_byte_cycles)
    if goal is not Goal.SIZE and flash_budget is None:
        chosen = search.cheapest(weights)
        has_four_bits = any(k.stores_four_bits for found in candidates.values() for k in found)
        if goal is not Goal.BALANCED or not has_four_bits:
            return chosen
        return _with_four_bits(search, chosen, weights)
    if goal is Goal.SIZE:
        return _smallest(candidates, weights, flash_budget or _ENDLESS)
    sets = list(search.frontier(weights, (1.0,)))
    within = [item for item in sets if item[0].flash_bytes <= (flash_budget or _ENDLESS)]
    if not within:
        return min(sets, key=lambda item: item[0].flash_bytes)[1]
    return min(within, key=lambda item: item[0].cycles)[1]


def _with_four_bits(search: LocalSearch, chosen: Chosen, weights: CostWeights) -> Chosen:
    """`chosen`, or a set with less flash that stores weights of four bits as such."""
    favoured = {
        node: {
            kernel: replace(cost, cycles=cost.cycles / FOUR_BITS_SLOWDOWN)
            if kernel.stores_four_bits
            else cost
            for kernel, cost in found.items()
        }
        for node, found in search.candidates.items()
    }
    other = LocalSearch(favoured).cheapest(weights)
    before, after = search.totals(chosen), search.totals(other)
    is_shorter = after.flash_bytes < before.flash_bytes
    return other if is_shorter and after.cycles <= FOUR_BITS_SLOWDOWN * before.cycles else chosen


def _size(totals: Totals) -> float:
    """Flash, in which code counts half again: the goal is about code first."""
    return totals.flash_bytes + totals.code_bytes / 2


def _smallest(candidates: Candidates, weights: CostWeights, flash_budget: int) -> Chosen:
    """The least flash among the sets with little code, or the least code, in reasonable time.

    Searches that count all scratch and those that count the most lead to different sets.
    """
    search = LocalSearch(candidates)
    searches = (search, LocalSearch(candidates, is_scratch_shared=False))
    frontiers = [list(each.frontier(weights, _CODE_WEIGHTS)) for each in searches]
    balanced = min((found[0][0] for found in frontiers), key=lambda totals: totals.cycles)
    most = SIZE_SLOWDOWN * balanced.cycles
    sets = [item for found in frontiers for item in found]
    starts = {totals: chosen for totals, chosen in sets if totals.cycles <= most}
    sets += [search.with_less_code(chosen, weights, most) for chosen in starts.values()]
    within = [item for item in sets if item[0].flash_bytes <= flash_budget]
    quick = [item for item in within if item[0].cycles <= most]
    small = [item for item in quick if item[0].code_bytes <= SIZE_CODE * balanced.code_bytes]
    if not within:
        return min(sets, key=lambda item: item[0].flash_bytes)[1]
    if not quick:
        return min(within, key=lambda item: item[0].cycles)[1]
    least = min(quick, key=lambda item: _size(item[0]))
    if small:
        best = min(small, key=lambda item: _size(item[0]))
    else:
        best = min(quick, key=lambda item: item[0].code_bytes)
    return (least if _size(least[0]) < _LESS_FLASH * _size(best[0]) else best)[1]


def least_flash_set(candidates: Candidates, most_cycles: float) -> Chosen:
    """The set with the least flash that was found, among those of at most `most_cycles`."""
    search = LocalSearch(candidates)
    sets = list(search.frontier(goal_weights(candidates, Goal.SIZE), (1.0,)))
    within = [item for item in sets if item[0].cycles <= most_cycles]
    return min(within or sets[:1], key=lambda item: item[0].flash_bytes)[1]


def goal_weights(candidates: Candidates, goal: Goal) -> CostWeights:
    """Cycles that the goal gives for a byte, by those of the quickest set."""
    fastest = sum(min(cost.cycles for cost in found.values()) for found in candidates.values())
    scratch = flash = fastest * _WEIGHT_OF_KILOBYTE[goal.of_kernels] / 1024.0
    if goal in _OF_LARGE_MODELS:
        kernels = candidates.values()
        least = sum(min(cost.flash_bytes for cost in found.values()) for found in kernels)
        flash *= min(1.0, _USUAL_FLASH / max(least, 1))
    return CostWeights(flash, flash, scratch)


def set_totals(candidates: Candidates, chosen: Mapping[Node, Kernel]) -> Totals:
    """Totals of a set."""
    return LocalSearch(candidates).totals(chosen)
