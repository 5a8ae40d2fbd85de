"""Kernels and plan of a bundle whose run may be done in parts: the arena has room for progress."""

from __future__ import annotations

from dataclasses import replace

from glowmcu.goals import Budgets
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.run_progress import place_progress
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.memory_fit.fitted_plan import FittedPlan
from glowmcu.memory_fit.fitter import fit_memory
from glowmcu.planning_progress import PlanningWatch


def fit_in_steps(
    graph: Graph,
    target: Target,
    budgets: Budgets,
    choices: KernelChoices | None = None,
    streamed_input: str | None = None,
    external: frozenset[Value] = frozenset(),
    watch: PlanningWatch | None = None,
) -> FittedPlan:
    """As `fit_memory`; if progress lifts the arena above its budget, with less room by that.

    Raises what that raises.
    """
    room = budgets
    while True:
        fit = _with_progress(
            fit_memory(graph, target, room, choices, streamed_input, external, watch)
        )
        over = fit.arena_bytes - (budgets.arena_bytes or fit.arena_bytes)
        if over <= 0:
            return fit
        assert room.arena_bytes is not None
        room = replace(room, arena_bytes=max(room.arena_bytes - over, 1))


def _with_progress(fit: FittedPlan) -> FittedPlan:
    return replace(fit, progress=place_progress(fit.plan.program, fit.arena_bytes))
