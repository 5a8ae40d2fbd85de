"""Plans for kernels of less and less scratch, and the one that goal and budgets ask for.

Fast kernels take scratch, streamed rows take cycles. Plans are made for kernels of less and less
scratch, with and without streaming; the goal and the budget say which of them is taken.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from itertools import islice

from glowmcu.errors import GlowmcuError
from glowmcu.goals import Budgets, Goal, PlanPoint
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.value_ranges import ValueRanges, value_ranges
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.kernels.selection.select import (
    Selection,
    SelectionMemory,
    select_kernels,
)
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memory_fit.bodies import BodyPlanner
from glowmcu.memory_fit.fitted_plan import FittedPlan
from glowmcu.memory_fit.peak import around_peak, less_scratch, over_arena_budget
from glowmcu.memory_fit.tensors_alive import tensors_alive_bytes
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.planner import ARENA_ALIGN, PlanMemory, aligned, plan_memory
from glowmcu.memplan.strip_search import promising_strips
from glowmcu.memplan.strips import extra_macs
from glowmcu.planning_progress import PlanningWatch, Stage

#: Each plan aims at an arena that is 1 % smaller; at most 32 plans.
_DESCENT = 0.01
_MOST_PLANS = 32
#: How often layers around the peak are looked at again.
_MOST_ROUNDS = 3
#: Steps from the least arena to that of whole tensors that streaming aims at, and plans for each.
_STREAMED_AIMS, _PLANS_AN_AIM = 6, 3
#: How often the goal `ram` looks for a plan between one that is too slow and one that is quick.
#: Before that, plans of whole tensors.
_NEARER, _WHOLE_PLANS = 4, 5
#: How often `balanced` looks for a plan below the tensors alive: whole, streamed there, streamed.
_PLANS_BELOW = 4
#: Ways to cut a network in strips that are planned, and plans for each.
_MOST_STRIPS, _PLANS_OF_STRIPS = 2, 5
#: The goal `ram` takes the smallest arena that costs at most RAM_SLOWDOWN times the cycles of plans
#: that are free to take memory, by the kernels' own estimates. With Helium whole layers gain more
#: by their kernels than rows do, so that arenas as small cost more times as much.
RAM_SLOWDOWN, HELIUM_RAM_SLOWDOWN = 1.3, 1.5
#: Estimates of plans by rows are low by up to this factor, against those of whole tensors: what is
#: measured keeps to the bound.
_ROWS_MISJUDGED = 1.015
#: If an input is pushed, its work is spread over the time in which rows come.
STREAMED_SLOWDOWN = 1.6


def fit_memory(
    graph: Graph,
    target: Target,
    budgets: Budgets,
    choices: KernelChoices | None = None,
    streamed_input: str | None = None,
    external: frozenset[Value] = frozenset(),
    watch: PlanningWatch | None = None,
    known: SelectionMemory | None = None,
) -> FittedPlan:
    """Choose kernels and a plan by the goal and the budgets (bytes).

    `choices` fixes kernels of layers; `streamed_input` names the input that the application hands
    over row by row; inputs that are `external` take no arena. `watch` counts what is done; `known`
    is what was found out about kernels before, for the same target. Raises GM402 and GM403 if no
    plan keeps to the budgets of flash and arena, GM409 for an input that cannot
    be pushed, GM5xx if no kernel accepts a layer.
    """
    kernels = known or SelectionMemory(watch=watch or PlanningWatch())
    if target.goal is Goal.RAM:
        # Streaming costs cycles enough: kernels are as for `balanced` if the arena has room.
        target = replace(target, goal=Goal.BALANCED)
        return _Fitter(
            graph, target, budgets, choices, kernels, streamed_input, external
        ).smallest()
    fitter = _Fitter(graph, target, budgets, choices, kernels, streamed_input, external)
    free = fitter.fit({}, None)
    if target.goal is Goal.BALANCED and choices is None:
        free = fitter.within_tensors(free)
    if budgets.arena_bytes is None or free.arena_bytes <= budgets.arena_bytes:
        return free
    return fitter.fastest(budgets.arena_bytes)


def memory_curve(
    graph: Graph,
    target: Target,
    budgets: Budgets,
    choices: KernelChoices | None = None,
    streamed_input: str | None = None,
    external: frozenset[Value] = frozenset(),
    watch: PlanningWatch | None = None,
) -> tuple[PlanPoint, ...]:
    """Plans of which none is both smaller and faster than another, the smallest arena first."""
    if target.goal is Goal.RAM:
        target = replace(target, goal=Goal.BALANCED)
    kernels = SelectionMemory(watch=watch or PlanningWatch())
    fitter = _Fitter(graph, target, budgets, choices, kernels, streamed_input, external)
    return tuple(map(_point, fitter.curve()))


def _point(item: FittedPlan) -> PlanPoint:
    macs = sum(run.node.macs for run in item.plan.program.runs)
    streamed = len(item.cascaded)
    return PlanPoint(
        item.arena_bytes, item.cycles, item.flash_bytes, streamed, macs, item.extra_macs
    )


@dataclass(frozen=True, eq=False)
class _Fitter:
    graph: Graph
    target: Target
    budgets: Budgets
    choices: KernelChoices | None
    #: Selections so far: what one knows of its rows is found once for all plans.
    kernels: SelectionMemory = field(repr=False)
    streamed_input: str | None = None
    external: frozenset[Value] = frozenset()
    extra_macs: int = 0
    plans: PlanMemory = field(default_factory=PlanMemory, repr=False)

    def fit(self, limits: Mapping[str, int], stream_to: int | None) -> FittedPlan:
        """With limits of scratch by node name; `stream_to` as in `plan_memory`."""
        return self._planned(self._selected(limits), stream_to)

    def _selected(self, limits: Mapping[str, int]) -> dict[Node, Selection]:
        chosen = select_kernels(
            self.graph, self.target, self.choices, self.budgets.flash_bytes, limits, self._ranges,
            self.kernels,
        )  # fmt: skip
        return self._bodies.with_bodies(chosen)

    @cached_property
    def _bodies(self) -> BodyPlanner:
        return BodyPlanner(self.target, self.graph.rounding)

    @cached_property
    def _ranges(self) -> ValueRanges:
        return value_ranges(self.graph)

    def _planned(self, selections: dict[Node, Selection], stream_to: int | None) -> FittedPlan:
        with_rows = stream_to is not None or self.streamed_input is not None
        program = build_program(
            self.graph, selections, with_rows, self.streamed_input, self.external
        )
        self.kernels.watch.plan_begins()
        plan = plan_memory(program, stream_to, self.plans)
        self.kernels.watch.plan_ends(plan.arena_bytes)
        return FittedPlan(selections, plan, self.graph, self.extra_macs, stream_to)

    def within_tensors(self, free: FittedPlan) -> FittedPlan:
        """`free` or, where scratch has lifted it above the tensors alive, the quickest below them.

        The smallest plan if none is below.
        """
        most = aligned(tensors_alive_bytes(self.graph, self.external), ARENA_ALIGN)
        if free.arena_bytes <= most:
            return free
        plans = [free]
        for stream_to in (None, most, 0):
            plans += islice(self._descent(stream_to), _PLANS_BELOW)
        small = [item for item in plans if item.arena_bytes <= most]
        if not small:
            return min(plans, key=_size)
        return min(small, key=lambda item: (item.cycles, item.arena_bytes))

    def smallest(self) -> FittedPlan:
        """The least arena at reasonable speed; the least of all if the budget asks for it."""
        free = self.fit({}, None)
        fits = [free, *self._descent(0)]
        slowdown = HELIUM_RAM_SLOWDOWN if self.target.core.has_mve else RAM_SLOWDOWN
        if self.streamed_input is not None:
            slowdown = STREAMED_SLOWDOWN
        most = slowdown / _ROWS_MISJUDGED * free.cycles
        fits += self._quicker(fits, most)
        best = self._quick(fits, most)
        for strips in self._with_strips():
            more = list(islice(strips._descent(0), _PLANS_OF_STRIPS))
            fits += more
            best = min([best, *(item for item in more if item.cycles <= most)], key=_size)
        budget = self.budgets.arena_bytes
        if budget is not None and best.arena_bytes > budget:
            best = min(fits, key=_size)
            if best.arena_bytes > budget:
                raise over_arena_budget(best, budget)
        return best

    def _quicker(self, fits: list[FittedPlan], most_cycles: float) -> list[FittedPlan]:
        """Plans that stream less, if all that helps takes too long: ever nearer to the limit."""
        if min(fits, key=_size).cycles <= most_cycles:
            return []
        found = list(islice(self._descent(None), _WHOLE_PLANS))
        slow = min(item.arena_bytes for item in fits)
        quick = min(item.arena_bytes for item in fits + found if item.cycles <= most_cycles)
        for _ in range(_NEARER):
            aim = round((slow * quick) ** 0.5)
            plan = next(self._descent(aim))
            found.append(plan)
            slow, quick = (aim, quick) if plan.cycles > most_cycles else (slow, aim)
        return found

    def _quick(self, fits: list[FittedPlan], most_cycles: float) -> FittedPlan:
        """The smallest of those that take no more cycles, polished."""
        quick = [item for item in fits if item.cycles <= most_cycles]
        return self._polished(min(quick, key=_size), most_cycles)

    def _with_strips(self) -> list[_Fitter]:
        """The same network in strips, in the ways that promise most.

        None if somebody has chosen kernels for the layers as they are.
        """
        if not self.external or self.choices is not None:
            return []
        program = build_program(self.graph, self._selected({}), True, external=self.external)
        return [
            replace(self, graph=graph, extra_macs=extra_macs(graph, self.graph))
            for graph in promising_strips(self.graph, program, self.external, _MOST_STRIPS)
        ]

    def _polished(self, best: FittedPlan, most_cycles: float) -> FittedPlan:
        """Other variants for the layers around the peak, while the arena falls: some leave their
        results where their operands are, others do not.
        """
        if self.budgets.flash_bytes is not None:
            return best  # selection alone knows how to keep to that
        if best.stream_to:
            return best  # a compromise: another one would be as good
        for _ in range(_MOST_ROUNDS):
            better = best
            for node in around_peak(best):
                for item in self._other_plans(best, node):
                    if item.cycles <= most_cycles and item.arena_bytes < better.arena_bytes:
                        better = item
            if better is best:
                return best
            best = better
        return best

    def _other_plans(self, fit: FittedPlan, node: Node) -> Iterator[FittedPlan]:
        chosen = fit.selections[node]
        if chosen.site is None or chosen.site.scratch_limit is not None:
            return
        for variant in chosen.possible:
            if variant is chosen.kernel:
                continue
            try:
                other = chosen.exchanged(variant)
            except GlowmcuError:
                continue
            if other.code.operands == chosen.code.operands:
                yield self._planned({**fit.selections, node: other}, fit.stream_to)

    def fastest(self, budget: int) -> FittedPlan:
        """The least cycles within an arena. Raises GM403."""
        curve = self.curve()
        found = [item for item in curve if item.arena_bytes <= budget]
        if not found:
            raise over_arena_budget(curve[0], budget)
        return min(found, key=lambda item: (item.cycles, item.arena_bytes))

    def curve(self) -> list[FittedPlan]:
        """Plans of which none is both smaller and faster than another, the smallest first.

        They do not depend on a budget: so more room never costs cycles.
        """
        whole = list(self._descent(None))
        streamed = list(self._descent(0))
        least, most = (
            min(item.arena_bytes for item in plans) for plans in (whole + streamed, whole)
        )
        between = [
            round(least * (most / least) ** (part / _STREAMED_AIMS))
            for part in range(1, _STREAMED_AIMS)
        ]
        some = [item for aim in between for item in islice(self._descent(aim), _PLANS_AN_AIM)]
        for strips in self._with_strips():
            some += islice(strips._descent(0), _PLANS_OF_STRIPS)
        curve: list[FittedPlan] = []
        ordered = sorted(
            [*whole, *streamed, *some], key=lambda item: (item.arena_bytes, item.cycles)
        )
        for item in ordered:
            if not curve or item.cycles < curve[-1].cycles:
                curve.append(item)
        return curve

    def _descent(self, stream_to: int | None) -> Iterator[FittedPlan]:
        """Plans with less and less scratch where the arena is full."""
        limits: dict[str, int] = {}
        seen: set[tuple[Hashable, ...]] = set()
        aim = 0
        for _ in range(_MOST_PLANS):
            selections = self._selected(limits)
            key = tuple(self._identities(selections))
            if key not in seen:
                item = self._planned(selections, stream_to)
                seen.add(key)
                yield item
                aim = int(item.arena_bytes * (1 - _DESCENT))
            tighter = less_scratch(item, aim)
            if not tighter:
                return
            limits.update(tighter)

    def _identities(self, selections: Mapping[Node, Selection]) -> Iterator[Hashable]:
        """Keys of the kernels: plans of equal keys are equal, also row by row."""
        for done, item in enumerate(selections.values(), 1):
            yield _identity(item)
            self.kernels.watch.layers(Stage.ROW_KERNELS, done, len(selections))


def _size(item: FittedPlan) -> tuple[int, float]:
    return item.arena_bytes, item.cycles


def _identity(item: Selection) -> Hashable:
    """Kernel, scratch and row kernel of a node: equal for kernels of equal plans."""
    rows = item.row_kernel
    by_rows = (rows.support.kernel, rows.support.scratch_bytes) if rows else None
    return item.kernel_name, item.scratch_bytes, by_rows
