"""Where in the arena a run that is done in parts says how far it is.

A unit of such a run is a layer, or one turn of a cascade: a row of one of its stages. Progress is a
number of units, then how many rows each stage of the cascade has made in which it stopped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from glowmcu.ir.program import ARENA_ALIGN, Cascade, Program, Step, aligned

#: Bytes of progress before the rows that stages have made.
COUNT_BYTES = 4


@dataclass(frozen=True)
class Progress:
    """`size_bytes` at `offset` of an arena that takes `arena_bytes` with them."""

    offset: int
    size_bytes: int
    arena_bytes: int


def place_progress(program: Program, arena_bytes: int) -> Progress:
    """In bytes of the arena that no buffer ever takes where there are so many together, else behind
    them all.
    """
    size = COUNT_BYTES + max(map(_counts_bytes, program.steps), default=0)
    offset = _free(size, ((program.offsets[b], b.size_bytes) for b in program.lives))
    return Progress(offset, size, max(arena_bytes, aligned(offset + size, ARENA_ALIGN)))


def row_count_bytes(most: int) -> int:
    """Of the smallest type of C that counts so far."""
    return 1 if most < 1 << 8 else 2 if most < 1 << 16 else 4


def _counts_bytes(step: Step) -> int:
    """What a cascade remembers between its turns beside whose turn it is."""
    if not isinstance(step, Cascade) or len(step.stages) == 1:
        return 0
    return len(step.stages) * row_count_bytes(max(stage.rows for stage in step.stages))


def _free(size: int, taken: Iterable[tuple[int, int]]) -> int:
    """The first multiple of 4 from which on so many bytes belong to nobody."""
    offset = 0
    for start, taken_bytes in sorted(taken):
        if offset + size <= start:
            break
        offset = max(offset, aligned(start + taken_bytes, COUNT_BYTES))
    return offset
