"""Kernels and memory together: which scratch and which streaming an arena has room for.

Fast kernels take scratch, streamed rows take cycles. Plans are made for kernels of less and less
scratch, with and without streaming; the goal and the budget say which of them is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.goals import Budgets, Goal
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.program import Program
from glowmcu.kernels.choices import KernelChoices
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.selection import Selection, select_kernels
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.planner import ARENA_ALIGN, Plan, aligned, plan_memory

#: Bytes of scratch that kernels may take at most, in plans from fast to frugal.
_SCRATCH_CAPS = (4096, 2048, 1280, 896, 640, 512, 384, 320, 256, 192, 144, 96, 48, 0)
#: The goal `ram` takes the smallest arena that costs at most so many times the cycles of plans
#: that are free to take memory, by the kernels' own estimates.
RAM_SLOWDOWN = 1.25


@dataclass(frozen=True, eq=False)
class Fit:
    """Kernels and their plan."""

    selections: dict[Node, Selection]
    plan: Plan

    @property
    def arena_bytes(self) -> int:
        """What the application provides."""
        return aligned(self.plan.arena_bytes, ARENA_ALIGN)

    @cached_property
    def cycles(self) -> float:
        """Estimate, with what it costs to compute row by row."""
        streamed = {
            run.node
            for step in self.plan.program.steps
            if isinstance(step, Cascade)
            for run in step.runs
        }
        return sum(
            item.row_cycles if node in streamed else item.cost.cycles
            for node, item in self.selections.items()
        )


def fit_memory(
    graph: Graph, target: Target, budgets: Budgets, choices: KernelChoices | None = None
) -> Fit:
    """Kernels and plan by the goal and the budgets. Raises GM402, GM403, GM5xx."""
    fitter = _Fitter(graph, target, budgets, choices)
    if target.goal is Goal.RAM:
        return fitter.smallest()
    free = fitter.fit({}, None)
    if budgets.arena_bytes is None or free.arena_bytes <= budgets.arena_bytes:
        return free
    return fitter.fastest(budgets.arena_bytes)


@dataclass(frozen=True, eq=False)
class _Fitter:
    graph: Graph
    target: Target
    budgets: Budgets
    choices: KernelChoices | None

    def fit(self, limits: Mapping[str, int], stream_to: int | None) -> Fit:
        """With limits of scratch by node name; `stream_to` as in `plan_memory`."""
        return self._planned(self._selected(limits), stream_to)

    def _selected(self, limits: Mapping[str, int]) -> dict[Node, Selection]:
        flash = self.budgets.flash_bytes
        return select_kernels(self.graph, self.target, self.choices, flash, limits)

    def _planned(self, selections: dict[Node, Selection], stream_to: int | None) -> Fit:
        program = build_program(self.graph, selections, with_rows=stream_to is not None)
        return Fit(selections, plan_memory(program, stream_to))

    def smallest(self) -> Fit:
        """The least arena at reasonable speed; the least of all where the budget asks for it."""
        fits = list(self._ladder(0))
        most = RAM_SLOWDOWN * self.fit({}, None).cycles
        quick = [item for item in fits if item.cycles <= most]
        best = min(quick or fits, key=lambda item: (item.arena_bytes, item.cycles))
        budget = self.budgets.arena_bytes
        if budget is not None and best.arena_bytes > budget:
            best = min(fits, key=lambda item: (item.arena_bytes, item.cycles))
            if best.arena_bytes > budget:
                raise _over_arena_budget(best, budget)
        eased = self._eased(best.arena_bytes, best.arena_bytes)
        return eased if eased is not None and eased.cycles < best.cycles else best

    def fastest(self, budget: int) -> Fit:
        """The least cycles within an arena. Raises GM403."""
        tried = [self._eased(budget, None), self._eased(budget, budget)]
        found = [item for item in tried if item is not None]
        found += [item for item in self._ladder(budget) if item.arena_bytes <= budget]
        if found:
            return min(found, key=lambda item: (item.cycles, item.arena_bytes))
        least = min(self._ladder(0), key=lambda item: (item.arena_bytes, item.cycles))
        if least.arena_bytes > budget:
            raise _over_arena_budget(least, budget)
        return least

    def _ladder(self, stream_to: int) -> Iterator[Fit]:
        """Streamed plans with less and less scratch, each set of kernels once."""
        seen: set[tuple[tuple[str, int], ...]] = set()
        for cap in (None, *_SCRATCH_CAPS):
            limits = {} if cap is None else {node.name: cap for node in self.graph.nodes}
            selections = self._selected(limits)
            key = tuple((item.kernel_name, item.scratch_bytes) for item in selections.values())
            if key not in seen:
                seen.add(key)
                yield self._planned(selections, stream_to)

    def _eased(self, budget: int, stream_to: int | None) -> Fit | None:
        """Scratch is taken only from kernels that run while the arena is above the budget."""
        limits: dict[str, int] = {}
        while True:
            item = self.fit(limits, stream_to)
            if item.arena_bytes <= budget:
                return item
            tighter = _less_scratch(item, budget)
            if not tighter:
                return None
            limits.update(tighter)


def _less_scratch(item: Fit, budget: int) -> dict[str, int]:
    """New limits by node name for kernels of steps that reach beyond the budget."""
    limits = {}
    for step, top in zip(item.plan.program.steps, _tops(item.plan.program), strict=True):
        if top <= budget:
            continue
        for run in step.runs if isinstance(step, Cascade) else (step,):
            chosen = item.selections[run.node]
            least = min((cost.scratch_bytes for _, cost in chosen.alternatives), default=0)
            if least < chosen.scratch_bytes:
                limits[run.node.name] = max(chosen.scratch_bytes - (top - budget), least)
    return limits


def _tops(program: Program) -> list[int]:
    """The highest byte that is alive at each step."""
    tops = [0] * len(program.steps)
    for buffer, life in program.lives.items():
        end = program.offsets[buffer] + aligned(buffer.size_bytes)
        for step in range(max(life.first, 0), min(life.last + 1, len(tops))):
            tops[step] = max(tops[step], end)
    return tops


def _over_arena_budget(least: Fit, budget: int) -> GlowmcuError:
    program = least.plan.program
    tops = _tops(program)
    peak = max(range(len(tops)), key=lambda step: (tops[step], -step), default=0)
    step = program.steps[peak]
    node = (step.runs[0] if isinstance(step, Cascade) else step).node
    return error(
        "GM403",
        f"the arena budget is {budget} B, {least.arena_bytes} B are the least that was found",
        f'the peak is step {peak}, {node.op.name} "{node.name}"',
        f"give at least --arena-budget {least.arena_bytes}, or make this layer's tensors smaller "
        "in the model",
        ExitCode.DOES_NOT_FIT,
    )
