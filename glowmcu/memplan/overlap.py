"""Results that may start in operands which die while they are written.

A kernel says how far below an operand its result must start (`Overlap`); the rule becomes intervals
of forbidden offset differences, which take the place of "share no byte" for the two root buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from glowmcu.ir.kernel_code import Overlap
from glowmcu.ir.program import Buffer, Program, Run, aligned

#: Open interval of offset differences.
Interval = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Relation:
    """offset(result) - offset(operand), of root buffers, lies in none of the open intervals."""

    operand: Buffer
    result: Buffer
    forbidden: tuple[Interval, ...]

    def allows(self, difference: int) -> bool:
        """Whether the roots may be so many bytes apart."""
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
    """Root buffers that meet at one run only, as an operand that dies and the first result."""
    return [found for step, run in enumerate(program.runs) for found in _of_run(program, step, run)]


def _of_run(program: Program, step: int, run: Run) -> Iterator[Relation]:
    if not run.overlaps:
        return
    result, start = program.root(run.outputs[0])
    lives = program.lives
    if result.data is not None or lives[result].first != step:
        return
    others = [*run.outputs[1:], *([run.scratch] if run.scratch is not None else [])]
    operands = dict.fromkeys(program.root(buffer)[0] for buffer in run.inputs)
    for operand in operands:
        if operand.data is not None or operand is result or lives[operand].last != step:
            continue
        if any(program.root(other)[0] is operand for other in others):
            continue
        forbidden: list[Interval] = []
        for buffer, position in zip(run.inputs, run.positions, strict=True):
            root, inner = program.root(buffer)
            if root is operand:
                rule = run.overlaps.get(position)
                size = run.outputs[0].size_bytes, buffer.size_bytes
                forbidden += [
                    (low + inner - start, high + inner - start)
                    for low, high in forbidden_differences(rule, *size)
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
    if rule is not None and rule.in_place and low < 0:
        return (low, 0), (0, operand_bytes)
    return ((low, operand_bytes),)
