"""Plans for a board whose memories make the core wait: which kernels are quickest there.

Two plans are made, with kernels that are best on the core alone and with those that are best when
waits count. The first is often as good, since weights can be copied out of slow flash; whoever
calls this compares the two once that is done.
"""

from __future__ import annotations

from dataclasses import replace

from glowmcu.goals import Budgets, Goal
from glowmcu.ir.graph import Graph, Value
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.memory_waits import mean
from glowmcu.kernels.selection.select import SelectionMemory, select_kernels
from glowmcu.memory_fit.fitted_plan import FittedPlan
from glowmcu.memory_fit.fitter import fit_memory
from glowmcu.planning_progress import PlanningWatch

#: A plan is taken for its waits only if it wins as much on the board: estimates are no better.
_LEAST_GAIN = 0.01
#: Factor that the arena may grow by for that, by goal.
_GROWTH = {Goal.BALANCED: 1.03, Goal.SPEED: 2.0}


def fit_on_board(
    graph: Graph,
    target: Target,
    budgets: Budgets,
    streamed_input: str | None = None,
    external: frozenset[Value] = frozenset(),
    watch: PlanningWatch | None = None,
) -> list[FittedPlan]:
    """The plan as on a core alone, and one for the waits of `target` if its kernels are others.

    Raises as `fit_memory`.
    """
    known = SelectionMemory(watch=watch or PlanningWatch())
    weighed = replace(target, weighs_waits=True)
    plain = fit_memory(graph, target, budgets, None, streamed_input, external, watch, known)
    if target.waits is None or target.goal not in _GROWTH:
        return [plain]
    chosen = [
        select_kernels(graph, each, flash_budget=budgets.flash_bytes, memory=known)
        for each in (target, weighed)
    ]
    names = [[found.kernel_name for found in selections.values()] for selections in chosen]
    if names[0] == names[1]:
        return [plain]
    other = fit_memory(graph, weighed, budgets, None, streamed_input, external, watch, known)
    return [plain, other]


def quickest_on_board(fits: list[FittedPlan], goal: Goal) -> FittedPlan:
    """The first plan, or another that takes clearly fewer cycles on the board and no more arena
    than the goal allows for that.

    A board whose memories may be one of several wants a plan that is slower by none of them.
    """
    usual, *others = fits
    most = usual.arena_bytes * _GROWTH.get(goal, 1.0)
    quicker = [
        fit
        for fit in others
        if fit.arena_bytes <= most
        and all(new <= old for new, old in zip(fit.board_cycles, usual.board_cycles, strict=True))
        and mean(fit.board_cycles) < (1.0 - _LEAST_GAIN) * mean(usual.board_cycles)
    ]
    return min(quicker, key=lambda fit: mean(fit.board_cycles), default=usual)
