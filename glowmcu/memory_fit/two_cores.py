"""Layers shared between two cores, within an arena that is hardly larger than one core's.

Where the second core is another one (`SecondCore`), layers are shared by what their kernels take on
either, and buffers have lines of caches to themselves.

Every layer begins with the quickest way (`divisible.py`) that its own step has room for. Where the
arena becomes too large all the same, since layers push each other about, those at the fullest steps
take other ways that cost few cycles for what they gain, until it fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from glowmcu.goals import Budgets
from glowmcu.ir.division import Division
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.instructions import ARENA_ALIGN, Buffer, Run, aligned
from glowmcu.ir.kernel_code import Overlap
from glowmcu.ir.program import Instruction, Program
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ir.verify_program import verify_program
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memory_fit.divisible import Divisible, Way, divisible, with_other_kernels
from glowmcu.memory_fit.fitted_plan import FittedPlan
from glowmcu.memory_fit.partner import Partner
from glowmcu.memory_fit.peak import over_arena_budget, tops
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.divide_rows import stash_range
from glowmcu.memplan.planner import plan_memory

#: The arena is at most this many times as large as that of one core.
MOST_GROWTH = 1.10
#: Plans that are made at most.
_MOST_PLANS = 64
#: Words in which either core counts how often it has met the other.
_WORD_BYTES = ElementType.I32.size_bytes
#: Lines that buffers may take more than in the arena of one core, where they do not share any.
_MORE_LINES = 4


def share_between_cores(
    fit: FittedPlan,
    budgets: Budgets,
    external: frozenset[Value] = frozenset(),
    may_exchange: bool = True,
    partner: Partner | None = None,
) -> FittedPlan:
    """A plan for two cores, of which `partner` is the second, like the first if it is not given;
    the layers in cascades stay with the first. `may_exchange`: other kernels may come if the arena
    has no room for two scratches. Raises GM403.
    """
    exchanges = may_exchange and budgets.flash_bytes is None
    found = _Sharing(fit, budgets, external, exchanges, partner or Partner()).best()
    if budgets.arena_bytes is not None and found.arena_bytes > budgets.arena_bytes:
        raise over_arena_budget(found, budgets.arena_bytes)
    return found


#: The way that each layer takes, by its number among the layer's.
_Ways = Mapping[Node, int]


@dataclass(frozen=True, eq=False)
class _Sharing:
    fit: FittedPlan
    budgets: Budgets
    external: frozenset[Value]
    may_exchange: bool
    partner: Partner
    plans: dict[tuple[int, ...], FittedPlan] = field(default_factory=dict)

    @cached_property
    def layers(self) -> dict[Node, Divisible]:
        """The layers that can be shared."""
        updated = {state.updated for state in self.program.states}
        found = {}
        for run in self.program.runs:
            if run.node in self.fit.cascaded or updated.intersection(run.outputs):
                continue
            if not all(self.program.root(buffer)[0].in_arena for buffer in run.operands):
                continue
            layer = divisible(run, self.fit.selections[run.node], self.partner)
            if layer is not None and len(layer.ways) > 1:
                found[run.node] = layer
        return found

    @cached_property
    def ways(self) -> dict[Node, tuple[Way, ...]]:
        """The ways of each layer, the quickest first; the last one leaves it whole."""
        found = {}
        for node, layer in self.layers.items():
            ways = list(layer.ways[:-1])
            others = with_other_kernels(layer) if self.may_exchange else ()
            ways += (way for other in others for way in other.ways[:-1])
            whole = layer.ways[-1]
            quick = [way for way in ways if way.cycles < whole.cycles]
            found[node] = (*sorted(quick, key=lambda way: way.cycles), whole)
        return found

    @cached_property
    def program(self) -> Program:
        """Before planning, of one core."""
        fit = self.fit
        with_rows = fit.stream_to is not None
        program = build_program(fit.graph, fit.selections, with_rows, None, self.external)
        words = TensorType((self.meeting_bytes // _WORD_BYTES,), ElementType.I32)
        meetings = Buffer("meetings of two cores", words)
        return replace(program, meetings=meetings, line_bytes=self.partner.line_bytes)

    @property
    def meeting_bytes(self) -> int:
        """Of the words in which either core counts how often it has met the other, in a line each
        of caches that the other does not see.
        """
        return 2 * max(_WORD_BYTES, self.partner.line_bytes)

    @property
    def most_bytes(self) -> int:
        """Bytes that the arena may take."""
        line = self.partner.line_bytes
        more = self.meeting_bytes + _MORE_LINES * line if line > 1 else 0
        most = (int(self.fit.arena_bytes * MOST_GROWTH) + more) // ARENA_ALIGN * ARENA_ALIGN
        budget = self.budgets.arena_bytes
        return most if budget is None else min(most, budget)

    def best(self) -> FittedPlan:
        """The quickest plan that was found within the limit."""
        ways = {node: self._start(options) for node, options in self.ways.items()}
        found = self.planned(ways)
        while found.arena_bytes > self.most_bytes and len(self.plans) < _MOST_PLANS:
            better = self._changed(ways, found)
            if better is None:
                break
            ways = better
            found = self.planned(ways)
        if found.arena_bytes > self.most_bytes:
            ways = {node: len(options) - 1 for node, options in self.ways.items()}
            found = self.planned(ways)
        return self._quicker(ways, found)

    def _start(self, options: Sequence[Way]) -> int:
        """The quickest way for which the layer's step has room."""
        for number, way in enumerate(options):
            if self._needed(way) <= self.most_bytes:
                return number
        return len(options) - 1

    def _needed(self, way: Way) -> int:
        """Bytes that are alive at a layer's step if it is computed that way."""
        program, layer = self.fit.plan.program, way.layer
        ((step, run),) = (
            (index, item)
            for index, item in enumerate(program.steps)
            if isinstance(item, Run) and item.node is layer.run.node
        )
        result = program.root(run.outputs[0])[0]
        operands = {
            program.root(buffer)[0]: way.overlaps.get(position)
            for buffer, position in zip(run.inputs, run.positions, strict=True)
        }
        lives = program.lives
        dying = [root for root in operands if lives[root].last == step and root is not result]
        others = sum(
            aligned(root.size_bytes)
            for root, life in lives.items()
            if life.first <= step <= life.last
            and root not in (result, run.scratch)
            and root not in dying
        )
        sizes = [
            _span(result.size_bytes, root.size_bytes, operands[root]) for root in dying[:1]
        ] or [aligned(result.size_bytes)]
        rest = sum(aligned(root.size_bytes) for root in dying[1:])
        own = layer.run.scratch
        scratch = 0 if own is None else aligned(own.size_bytes)
        twice = scratch * (2 if way.is_divided else 1)
        stash = aligned(way.stash_units * layer.unit_bytes)
        return others + sizes[0] + rest + twice + stash + self.meeting_bytes

    def _quicker(self, ways: dict[Node, int], found: FittedPlan) -> FittedPlan:
        """Back to quicker ways, if the arena has come to have room for them."""
        for node in sorted(ways, key=lambda node: -self.layers[node].chosen.cost.cycles):
            for way in range(ways[node]):
                if len(self.plans) >= _MOST_PLANS:
                    return found
                other = self.planned({**ways, node: way})
                if other.arena_bytes <= self.most_bytes and other.cycles < found.cycles:
                    ways, found = {**ways, node: way}, other
                    break
        return found

    def _changed(self, ways: dict[Node, int], now: FittedPlan) -> dict[Node, int] | None:
        """One layer at a step that is too full takes another way: what it costs for what it gains.

        If no single one helps, all at that step leave theirs.
        """
        crowded = dict.fromkeys(self._crowded(now))
        can = [node for node in crowded if ways[node] + 1 < len(self.ways[node])]
        if not can:
            return None
        excess, best = self._excess(now), None
        for node in can:
            for way in range(ways[node] + 1, len(self.ways[node])):
                other = self.planned({**ways, node: way})
                gain, loss = excess - self._excess(other), other.cycles - now.cycles
                if gain > 0:
                    cycles_per_byte = max(loss, 1.0) / gain
                    if best is None or cycles_per_byte < best[0]:
                        best = cycles_per_byte, {**ways, node: way}
        if best is not None:
            return best[1]
        return {**ways, **{node: ways[node] + 1 for node in can}}

    def _excess(self, fit: FittedPlan) -> int:
        """Bytes beyond the limit, of all steps."""
        return sum(max(top - self.most_bytes, 0) for top in tops(fit.plan.program))

    def _crowded(self, fit: FittedPlan) -> Iterator[Node]:
        """Shared layers at steps that reach beyond the limit, and beside these."""
        program = fit.plan.program
        highest = tops(program)
        for index, step in enumerate(program.steps):
            near = highest[max(index - 1, 0) : index + 2]
            if isinstance(step, Run) and step.node in self.layers and max(near) > self.most_bytes:
                yield step.node

    def planned(self, ways: _Ways) -> FittedPlan:
        """A plan in which each layer takes its way, or is whole if no rows can be shared so."""
        key = tuple(ways[node] for node in self.layers)
        if key not in self.plans:
            self.plans[key] = self._planned(
                {node: self.ways[node][way] for node, way in ways.items()}
            )
        return self.plans[key]

    def _planned(self, ways: Mapping[Node, Way]) -> FittedPlan:
        while True:
            plan = plan_memory(self._with_ways(ways), self.fit.stream_to)
            program, failed = self._scheduled(plan.program, ways)
            if not failed:
                break
            ways = {**ways, **{node: self.ways[node][-1] for node in failed}}
        verify_program(program, aligned(plan.arena_bytes, ARENA_ALIGN))
        shared = [run for run in program.runs if run.division is not None]
        layers = {run.node: ways[run.node].layer for run in shared}
        saved = sum(
            layers[run.node].chosen.cost.cycles - layers[run.node].costs.of(run.division.phases)
            for run in shared
            if run.division is not None
        )
        selections = self.fit.selections | {node: it.chosen for node, it in layers.items()}
        plan = replace(plan, program=program)
        return replace(self.fit, selections=selections, plan=plan, saved_cycles=saved)

    def _with_ways(self, ways: Mapping[Node, Way]) -> Program:
        def shared(item: object) -> object:
            if not isinstance(item, Run):
                return item
            way = ways.get(item.node)
            if way is None or not way.is_divided:
                return item
            return way.layer.divided_run(way)

        instructions = tuple(map(shared, self.program.instructions))
        return replace(self.program, instructions=instructions)  # type: ignore[arg-type]

    def _scheduled(self, program: Program, ways: Mapping[Node, Way]) -> tuple[Program, list[Node]]:
        """The runs with their phases, and the layers for which there are none at these offsets."""
        failed: list[Node] = []
        instructions: list[Instruction] = []
        for item in program.instructions:
            if isinstance(item, Run) and item.division is not None:
                division = _phases(program, item, ways[item.node])
                if division is None:
                    failed.append(item.node)
                instructions.append(replace(item, division=division))
                continue
            instructions.append(item)
        return replace(program, instructions=tuple(instructions)), failed


def _phases(program: Program, run: Run, way: Way) -> Division | None:
    """How a run is shared at the offsets that it got; None if it cannot be."""
    assert run.division is not None
    layer, result = way.layer, program.offset(run.outputs[0])
    size = run.outputs[0].size_bytes
    gaps: list[int | None] = []
    for buffer in run.inputs:
        gap = program.offset(buffer) - result
        gaps.append(gap if -buffer.size_bytes < gap < size else None)
    line_offset = program.offset(run.outputs[0]) % program.line_bytes
    phases = layer.phases(tuple(gaps), way.stash_units, line_offset)
    if phases is None:
        return None
    turns = [turn for phase in phases for turns in phase for turn in turns if turn.computes]
    overlaps = {
        (turn.first, turn.end): layer.promise(turn.first, turn.end)
        for turn in turns
        if any(gap is not None for gap in gaps)
    }
    first, _ = stash_range(phases)
    return replace(run.division, phases=phases, stash_first=first, overlaps=overlaps)


def _span(result_bytes: int, operand_bytes: int, rule: Overlap | None) -> int:
    """Bytes of a result and an operand that it may overwrite."""
    result_bytes, operand_bytes = aligned(result_bytes), aligned(operand_bytes)
    gaps = [] if rule is None else [rule.only_gap_bytes, rule.least_gap_bytes]
    known = [aligned(gap) for gap in gaps if gap is not None]
    if not known:
        return result_bytes + operand_bytes
    gap = min(known)
    span = max(gap + operand_bytes, result_bytes) - min(0, gap)
    return min(span, result_bytes + operand_bytes)
