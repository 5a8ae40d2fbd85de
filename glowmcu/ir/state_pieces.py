"""Which bytes of a buffer with a state in it are alive when.

The state's are always. Those around it, where new rows of a queue come behind the old ones, are
alive from the first step that writes them to the last that reads them: others may have them before
and after.
"""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.ir.program import Buffer, Life, Program
from glowmcu.lazy_dataclass import dataclass

#: Bytes `[first, end)` of a buffer, and when they are alive.
Piece = tuple[int, int, Life]


@dataclass(frozen=True)
class Pieces:
    """The pieces of every root buffer that has a state in it."""

    of_states: Mapping[Buffer, tuple[Piece, ...]]

    def of(self, buffer: Buffer, life: Life) -> tuple[Piece, ...]:
        """Those of any root buffer, which lives so long."""
        return self.of_states.get(buffer, ((0, buffer.size_bytes, life),))

    def forbidden(
        self, a: tuple[Buffer, Life], b: tuple[Buffer, Life]
    ) -> tuple[tuple[int, int], ...]:
        """Open intervals of offset(b) - offset(a) at which bytes that are alive together meet."""
        return tuple(
            (first - other_end, end - other_first)
            for first, end, life in self.of(*a)
            for other_first, other_end, other_life in self.of(*b)
            if life.overlaps(other_life)
        )


def state_pieces(program: Program) -> Pieces:
    """Pieces of the program's states, in order; none if it has no states."""
    spans: dict[Buffer, list[tuple[int, int]]] = {}
    for state in program.states:
        root, start, end = program.span(state.buffer)
        spans.setdefault(root, []).append((start, end))
    return Pieces({root: tuple(_of_root(program, root, kept)) for root, kept in spans.items()})


def _of_root(program: Program, root: Buffer, kept: list[tuple[int, int]]) -> list[Piece]:
    always = Life(-1, len(program.steps))
    pieces = [(first, end, always) for first, end in kept]
    steps = _touched(program, root, kept)
    if not steps:
        return pieces
    life, at = Life(min(steps), max(steps)), 0
    for first, end in [*sorted(kept), (root.size_bytes, root.size_bytes)]:
        if at < first:
            pieces.append((at, first, life))
        at = max(at, end)
    return pieces


def _touched(program: Program, root: Buffer, kept: list[tuple[int, int]]) -> list[int]:
    """Steps that read or write other bytes of a root than those kept; -1 before all."""

    def is_beside(buffer: Buffer) -> bool:
        found, start, end = program.span(buffer)
        return found is root and not any(a <= start and end <= b for a, b in kept)

    found = [-1] if any(map(is_beside, program.written_before)) else []
    for step, item in enumerate(program.steps):
        if any(map(is_beside, item.operands)):
            found.append(step)
    if any(map(is_beside, program.lasting)):
        found.append(len(program.steps))
    return found
