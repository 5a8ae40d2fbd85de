"""Results that may start in operands which die while they are written.

A kernel says how far below an operand its result must start (`Overlap`); the rule becomes intervals
of forbidden offset differences, which take the place of "share no byte" for the two root buffers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glowmcu.ir.cascade import Cascade
from glowmcu.ir.kernel_code import Overlap
from glowmcu.ir.program import Buffer, Program, Run, ViewRole, aligned
from glowmcu.ir.state_pieces import state_pieces
from glowmcu.lazy_dataclass import dataclass

#: Open interval of offset differences.
Interval = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Relation:
    """offset(result) - offset(operand), of root buffers, lies in none of the open intervals."""

    operand: Buffer
    result: Buffer
    forbidden: tuple[Interval, ...]

    def allows(self, difference: int) -> bool:
        """Whether the roots may be `difference` bytes apart."""
        return all(not low < difference < high for low, high in self.forbidden)

    @property
    def most_shared_bytes(self) -> int:
        """Bytes that the two roots have in common at best."""
        sizes = aligned(self.operand.size_bytes), aligned(self.result.size_bytes)
        ends = [end for interval in self.forbidden for end in interval]
        best = 0
        for difference in (0, sizes[0] - sizes[1], *ends):
            if self.allows(difference):
                shared = min(difference + sizes[1], sizes[0]) - max(difference, 0)
                best = max(best, shared)
        return best


def relations(program: Program) -> list[Relation]:
    """Root buffers that share bytes: an operand that dies at a run and the run's first result, what
    a cascade says of its own, and what lies beside states.
    """
    found = list(_of_states(program))
    for step, item in enumerate(program.steps):
        if isinstance(item, Cascade):
            found += _of_cascade(program, step, item)
        elif item.overlaps:
            found += _of_run(program, step, item)
    return found


def _of_states(program: Program) -> Iterator[Relation]:
    """Bytes beside a state are others' before and after they are needed."""
    pieces = state_pieces(program)
    if not pieces.of_states:
        return
    lives = list(program.lives.items())
    for index, (buffer, life) in enumerate(lives):
        for other, other_life in lives[index + 1 :]:
            if not {buffer, other} & pieces.of_states.keys() or not life.overlaps(other_life):
                continue
            first = (buffer, life), (other, other_life)
            yield Relation(buffer, other, _rounded(pieces.forbidden(*first)))


def _rounded(intervals: Sequence[Interval]) -> tuple[Interval, ...]:
    """Buffers lie at multiples of their alignment: wider by less than that is no loss."""
    return tuple((-aligned(-low), aligned(high)) for low, high in intervals)


def _of_cascade(program: Program, step: int, item: Cascade) -> Iterator[Relation]:
    for (a, b), forbidden in item.forbidden_offsets.items():
        root, _ = program.root(a)
        if a not in item.inputs:
            yield Relation(a, b, forbidden)
        elif (
            root.in_arena
            and program.lives[root].last == step
            and _is_read_once(program, item, root)
        ):
            yield Relation(root, b, forbidden)
    pairs = [(buffer, rule) for buffer, rule in item.overlaps.items()]
    yield from _of_operands(program, step, item.outputs[0], pairs, item.inputs)


def _is_read_once(program: Program, item: Cascade, root: Buffer) -> bool:
    """Whether one input alone, which is all of it, lies in a root buffer."""
    inside = [buffer for buffer in item.inputs if program.root(buffer)[0] is root]
    return len(inside) == 1 and inside[0].size_bytes == root.size_bytes


def _of_run(program: Program, step: int, run: Run) -> Iterator[Relation]:
    kept = {program.root(buffer)[0] for buffer in (*run.outputs, *run.own_memory)}
    pairs = [
        (buffer, run.overlaps.get(position))
        for buffer, position in zip(run.inputs, run.positions, strict=True)
    ]
    for found in _of_operands(program, step, run.outputs[0], pairs, run.inputs):
        if found.operand not in kept:
            yield found


def _of_operands(
    program: Program,
    step: int,
    output: Buffer,
    rules: Sequence[tuple[Buffer, Overlap | None]],
    inputs: Sequence[Buffer],
) -> Iterator[Relation]:
    """For operands that die at a step where `output` is the first that is written to its root."""
    result, start = program.root(output)
    lives = program.lives
    view = program.views.get(output)
    if view is not None and view.role is ViewRole.COLUMNS:
        return  # a row of it is beside rows of others
    if not result.in_arena or lives[result].first != step:
        return
    known: dict[Buffer, Overlap | None] = {}
    for buffer, rule in rules:
        known[buffer] = rule if known.get(buffer, rule) == rule else None
    for operand in dict.fromkeys(program.root(buffer)[0] for buffer in inputs):
        if not operand.in_arena or operand is result or lives[operand].last != step:
            continue
        forbidden: list[Interval] = []
        for buffer in dict.fromkeys(inputs):
            root, inner = program.root(buffer)
            if root is operand:
                sizes = output.size_bytes, buffer.size_bytes
                forbidden += [
                    (low + inner - start, high + inner - start)
                    for low, high in forbidden_differences(known.get(buffer), *sizes)
                ]
        if forbidden != [(-aligned(result.size_bytes), aligned(operand.size_bytes))]:
            yield Relation(operand, result, tuple(forbidden))


def forbidden_differences(
    rule: Overlap | None, result_bytes: int, operand_bytes: int
) -> tuple[Interval, ...]:
    """Open intervals of offset(result) - offset(operand); sizes are rounded up as buffers are."""
    result_bytes, operand_bytes = aligned(result_bytes), aligned(operand_bytes)
    low = -result_bytes
    if rule is not None and rule.least_gap_bytes is not None:
        low = max(low, -rule.least_gap_bytes)
    if low >= operand_bytes:
        return ()
    if rule is not None and rule.only_gap_bytes is not None:
        only = -rule.only_gap_bytes
        if low < only < operand_bytes and only == -aligned(rule.only_gap_bytes):
            return (low, only), (only, operand_bytes)
    return ((low, operand_bytes),)
