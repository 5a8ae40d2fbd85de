"""Where in the arena a run that is done in parts says how far it is.

A unit of such a run is a layer, or one turn of a cascade: a row of one of its stages. Progress is a
number of units and nothing else: which rows a cascade has made follows from its order, so that
nothing in the arena becomes an address.
"""

from __future__ import annotations

from collections.abc import Iterable

from glowmcu.ir.program import ARENA_ALIGN, Program, aligned
from glowmcu.lazy_dataclass import dataclass

_BYTES = 4


@dataclass(frozen=True)
class RunProgress:
    """`size_bytes` at `offset` of an arena that takes `arena_bytes` with them."""

    offset: int
    size_bytes: int
    arena_bytes: int


def place_progress(program: Program, arena_bytes: int) -> RunProgress:
    """In bytes of the arena that no buffer ever takes, if _BYTES of them lie together, else behind
    them all.
    """
    offset = _free(_BYTES, ((program.offsets[b], b.size_bytes) for b in program.lives))
    return RunProgress(offset, _BYTES, max(arena_bytes, aligned(offset + _BYTES, ARENA_ALIGN)))


def _free(size: int, taken: Iterable[tuple[int, int]]) -> int:
    """The first multiple of 4 from which on `size` bytes belong to no buffer."""
    offset = 0
    for start, taken_bytes in sorted(taken):
        if offset + size <= start:
            break
        offset = max(offset, aligned(start + taken_bytes, _BYTES))
    return offset
