"""The estimated cost of a bundle, by the tables of costs and of stacks, for its manifest."""

from __future__ import annotations

from collections.abc import Iterable

from glowmcu.cores import core
from glowmcu.goals import Goal
from glowmcu.kernels.selection.select import Selection, code_bytes
from glowmcu.kernels.selection.stack_table import core_stacks
from glowmcu.stack_use import KnownCosts


def known_costs(
    core_name: str, goal: Goal, cycles: float, selections: Iterable[Selection], second: str = ""
) -> KnownCosts:
    """On a core that was measured, nothing on a package's core and on no core in particular; no
    cycles where a kernel has no unit costs. `second` names another core that shares the runs.
    """
    if core(core_name).is_foreign or core_name == "generic":
        return KnownCosts(core_name)
    items = list(selections)
    return KnownCosts(
        core_name,
        0 if any(item.cost.is_guess for item in items) else round(cycles),
        code_bytes(items),
        core_stacks(core_name, goal),
        core_stacks(second, goal) if second else None,
    )
