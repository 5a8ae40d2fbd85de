"""Weights copied from slow flash to scratch before a layer reads them many times.

A copy takes arena while its layer runs, where others may have nothing at the time. Layers that win
most for a byte keep theirs as long as the arena stays within what the goal allows. Where a DMA
copies, a copy may begin a step earlier and takes arena that long: waiting hides behind that step,
so that weights that are read once are worth a copy, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from glowmcu.goals import Budgets, Goal
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.instructions import ARENA_ALIGN, BUFFER_ALIGN, POINTER_ALIGN, aligned
from glowmcu.ir.kernel_code import ConstantArray, KernelCode, Parameters, StagedWeights
from glowmcu.ir.program import Cascade, Program
from glowmcu.kernels.selection.select import Selection
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memory_fit.fitted_plan import FittedPlan
from glowmcu.memory_fit.peak import tops
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.planner import plan_memory
from glowmcu.ops.matmul import FullyConnected

#: Cycles of a copied word beside what its flash makes wait, and of a call around that.
_WORD_CYCLES, _CALL_CYCLES = 3.5, 60.0
#: A copy that saves less than this of all cycles is not worth its code.
_LEAST_GAIN = 0.005
#: Factor that the arena may grow by, by goal. For `ram` and `size` copies take only what is free.
_GROWTH = {Goal.BALANCED: 1.03, Goal.SPEED: 2.0}
#: The same where the user asks for copies that begin early, and gives no budget.
_GROWTH_AHEAD = 2.0
#: Plans that are made at most.
_MOST_PLANS = 12


@dataclass(frozen=True)
class FlashWaits:
    """Cycles of waiting for each word, and bytes that a cache keeps between two passes. With
    `prefetch` a DMA copies while the core computes.
    """

    word_cycles: float
    kept_bytes: int
    prefetch: bool = False


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
    before = _cycles_before(fit) if waits.prefetch else {}
    copies = {
        node: copy
        for node, chosen in fit.selections.items()
        if node not in fit.cascaded
        for copy in [_copy(node, chosen, waits, before.get(node, 0.0))]
        if copy is not None and copy.saved >= _LEAST_GAIN * fit.cycles
    }
    growth = _GROWTH_AHEAD if waits.prefetch else _GROWTH.get(goal, 1.0)
    most = int(fit.arena_bytes * growth) // ARENA_ALIGN * ARENA_ALIGN
    if waits.prefetch and budgets.arena_bytes is not None:
        most = budgets.arena_bytes
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


def staged(code: KernelCode, prefetched: bool = False) -> KernelCode | None:
    """The same with a copy of its largest array in the scratch, which begins early if
    `prefetched`; None if it has none that is read more than once, or early at least once.
    """
    if code.parameters is None or code.staged is not None:
        return None
    if code.weight_passes < 1 or (code.weight_passes <= 1 and not prefetched):
        return None
    if prefetched and code.batches > 1:
        return None  # each of its calls would wait for a copy that began once
    name, array = largest_array(code.parameters)
    size = 0 if array is None else int(array.data.nbytes)
    if size == 0 or size % BUFFER_ALIGN:
        return None
    end = aligned(aligned(code.scratch_bytes) + size, POINTER_ALIGN)
    total = end + POINTER_ALIGN * member_count(code.parameters)
    when = "to RAM while the step before runs" if prefetched else "to RAM first"
    passes = f"{code.weight_passes:.0f} pass{'' if code.weight_passes == 1 else 'es'}"
    note = f"{name} is copied {when}: flash would make {passes} wait"
    return replace(
        code,
        scratch_bytes=total,
        staged=StagedWeights(name, code.scratch_bytes, size, end, prefetched=prefetched),
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


def _cycles_before(fit: FittedPlan) -> dict[Node, float]:
    """Of layers with a step of one layer right before them: that one's cycles."""
    return {
        later.node: fit.selections[step.node].cost.cycles
        for step, later in itertools.pairwise(fit.plan.program.steps)
        if not isinstance(step, Cascade) and not isinstance(later, Cascade)
    }


def _copy(node: Node, chosen: Selection, waits: FlashWaits, cycles_before: float) -> Copy | None:
    """`cycles_before`: that a copy has if it begins early; 0 if it cannot."""
    plain = chosen.code
    if not plain.weight_passes and isinstance(node.op, FullyConnected):
        plain = replace(plain, weight_passes=1.0)  # at least: nobody has counted
    code = staged(plain, prefetched=cycles_before > 0)
    if code is None or code.staged is None:
        return None
    size, passes = code.staged.size_bytes, code.weight_passes
    words = size / BUFFER_ALIGN
    read = passes if size > waits.kept_bytes else 1.0
    if code.staged.prefetched:
        # The device waits for each word, and the core for the device.
        transfer = words * (waits.word_cycles + 1.0)
        saved = read * words * waits.word_cycles - _CALL_CYCLES
        saved -= max(transfer - cycles_before, 0.0)
    else:
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
