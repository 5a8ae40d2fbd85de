"""Weights copied from slow flash to scratch before a layer reads them many times.

A copy takes arena while its layer runs, where others may have nothing at the time. Layers that win
most for a byte keep theirs as long as the arena stays within what the goal allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from glowmcu.goals import Budgets, Goal
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.instructions import ARENA_ALIGN, BUFFER_ALIGN, POINTER_ALIGN, aligned
from glowmcu.ir.kernel_code import ConstantArray, KernelCode, Parameters, StagedWeights
from glowmcu.ir.program import Cascade, Program
from glowmcu.kernels.selection.select import Selection
from glowmcu.memory_fit.fitted_plan import FittedPlan
from glowmcu.memory_fit.peak import tops
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.planner import plan_memory

#: Cycles of a copied word beside what its flash makes wait, and of a call around that.
_WORD_CYCLES, _CALL_CYCLES = 3.5, 60.0
#: A copy that saves less than this of all cycles is not worth its code.
_LEAST_GAIN = 0.005
#: Factor that the arena may grow by, by goal. For `ram` and `size` copies take only what is free.
_GROWTH = {Goal.BALANCED: 1.03, Goal.SPEED: 2.0}
#: Plans that are made at most.
_MOST_PLANS = 12


@dataclass(frozen=True)
class FlashWaits:
    """Cycles of waiting for each word, and bytes that a cache keeps between two passes."""

    word_cycles: float
    kept_bytes: int


@dataclass(frozen=True, eq=False)
class Copy:
    """A layer with its weights in scratch, and what this saves: cycles on the board, or flash."""

    selection: Selection
    saved: float
    size_bytes: int


def stage_weights(
    fit: FittedPlan,
    goal: Goal,
    budgets: Budgets,
    waits: FlashWaits,
    streamed_input: str | None = None,
    external: frozenset[Value] = frozenset(),
    room_bytes: int | None = None,
) -> FittedPlan:
    """The plan with copies of weights where they pay; `fit` itself if none does.

    `room_bytes` is what the arena may take at most on the board.
    """
    copies = {
        node: copy
        for node, chosen in fit.selections.items()
        if node not in fit.cascaded
        for copy in [_copy(chosen, waits)]
        if copy is not None and copy.saved >= _LEAST_GAIN * fit.cycles
    }
    most = int(fit.arena_bytes * _GROWTH.get(goal, 1.0)) // ARENA_ALIGN * ARENA_ALIGN
    for limit in (budgets.arena_bytes, room_bytes):
        most = most if limit is None else max(min(most, limit), fit.arena_bytes)
    return with_copies(fit, copies, most, streamed_input, external)


def with_copies(
    fit: FittedPlan,
    copies: Mapping[Node, Copy],
    most: int,
    streamed_input: str | None,
    external: frozenset[Value],
    most_plans: int = _MOST_PLANS,
) -> FittedPlan:
    """The plan with as many of these as an arena of `most` bytes has room for, those that win most
    for a byte; `fit` itself if it has room for none.
    """
    taken = _with_room(fit, copies, most)
    for _ in range(most_plans):
        if not taken:
            return fit
        found = replanned(
            fit, {node: copies[node].selection for node in taken}, streamed_input, external
        )
        if found.arena_bytes <= most:
            return found
        taken = _fewer(found, copies, taken, most)
    return fit


def staged(code: KernelCode) -> KernelCode | None:
    """The same with a copy of its largest array in the scratch; None if it has none that is read
    more than once.
    """
    if code.parameters is None or code.weight_passes <= 1 or code.staged is not None:
        return None
    name, array = largest_array(code.parameters)
    size = 0 if array is None else int(array.data.nbytes)
    if size == 0 or size % BUFFER_ALIGN:
        return None
    end = aligned(aligned(code.scratch_bytes) + size, POINTER_ALIGN)
    total = end + POINTER_ALIGN * member_count(code.parameters)
    note = f"{name} is copied to RAM first: flash would make {code.weight_passes:.0f} passes wait"
    return replace(
        code,
        scratch_bytes=total,
        staged=StagedWeights(name, code.scratch_bytes, size, end),
        notes=(*code.notes, note),
    )


def largest_array(parameters: Parameters) -> tuple[str, ConstantArray | None]:
    """With its name as `offsetof` takes it; None if there is none."""
    named: list[tuple[str, ConstantArray | None]] = [*_arrays(parameters)]
    size = {name: array.data.nbytes for name, array in _arrays(parameters)}
    return max(named, key=lambda item: size[item[0]], default=("", None))


def _arrays(parameters: Parameters, prefix: str = "") -> Iterator[tuple[str, ConstantArray]]:
    """With their names as `offsetof` takes them, also those of structs in the struct."""
    for item in parameters.fields:
        if isinstance(item.value, ConstantArray):
            yield prefix + item.name, item.value
        elif isinstance(item.value, Parameters):
            yield from _arrays(item.value, f"{prefix}{item.name}.")


def member_count(parameters: Parameters) -> int:
    """Each at most as large as a pointer of the host."""
    return sum(
        member_count(item.value) if isinstance(item.value, Parameters) else 1
        for item in parameters.fields
    )


def _copy(chosen: Selection, waits: FlashWaits) -> Copy | None:
    code = staged(chosen.code)
    if code is None or code.staged is None:
        return None
    size, passes = code.staged.size_bytes, code.weight_passes
    words = size / BUFFER_ALIGN
    read = passes if size > waits.kept_bytes else 1.0
    copied = words * _WORD_CYCLES + _CALL_CYCLES
    saved = (read - 1.0) * words * waits.word_cycles - copied
    # Without wait states a copy takes about what loads from the memory of the rest save.
    known = chosen.cost.waits
    left = None if known is None else tuple(max(waiting - saved, 0.0) for waiting in known)
    cost = replace(chosen.cost, scratch_bytes=code.scratch_bytes, waits=left)
    return Copy(replace(chosen, code=code, cost=cost), saved, size)


def _with_room(fit: FittedPlan, copies: Mapping[Node, Copy], most: int) -> list[Node]:
    """Those for which there is room beside what is alive at their step."""
    program = fit.plan.program
    return [
        step.node
        for index, step in enumerate(program.steps)
        if not isinstance(step, Cascade)
        and step.node in copies
        and _covered_bytes(program, index) + copies[step.node].size_bytes <= most
    ]


def _covered_bytes(program: Program, index: int) -> int:
    """Bytes that anything alive at a step lies in."""
    spans = sorted(
        (program.offsets[root], program.offsets[root] + aligned(root.size_bytes))
        for root, life in program.lives.items()
        if life.first <= index <= life.last
    )
    covered, end = 0, 0
    for first, last in spans:
        covered += max(0, last - max(first, end))
        end = max(end, last)
    return covered


def replanned(
    fit: FittedPlan,
    exchanged: Mapping[Node, Selection],
    streamed_input: str | None,
    external: frozenset[Value],
) -> FittedPlan:
    """The plan with other kernels for some layers."""
    selections = {**fit.selections, **exchanged}
    with_rows = fit.stream_to is not None or streamed_input is not None
    program = build_program(fit.graph, selections, with_rows, streamed_input, external)
    return replace(fit, selections=selections, plan=plan_memory(program, fit.stream_to))


def _fewer(
    found: FittedPlan, copies: Mapping[Node, Copy], taken: Sequence[Node], most: int
) -> list[Node]:
    """Without the one that wins least for its bytes, of those at steps that are too full."""
    ends = tops(found.plan.program)
    crowded = [
        step.node
        for index, step in enumerate(found.plan.program.steps)
        if not isinstance(step, Cascade)
        and step.node in taken
        and max(ends[max(index - 1, 0) : index + 2]) > most
    ]
    least = min(crowded or taken, key=lambda node: copies[node].saved / copies[node].size_bytes)
    return [node for node in taken if node is not least]
