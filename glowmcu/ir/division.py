"""A run divided between two cores: which rows or channels each computes, and when they meet.

The result consists of equal `units`, one behind the other: rows of an image, channels of a row. In
a `Phase` either core has turns of its own; between two phases they meet. What one core writes in a
phase the other neither reads nor writes: `verify_division.py` proves it for every plan. Where a
core has caches that the other does not see into, that holds of whole lines for what both write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING

from glowmcu.ir.kernel_code import KernelCode, Overlap, RowRule
from glowmcu.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from glowmcu.ir.instructions import Buffer, Run


class Place(Enum):
    """Where a turn leaves its units."""

    RESULT = "result"
    #: Beside the result, while others still read the bytes where they belong.
    STASH = "stash"
    #: They are computed already: copied from the stash to the result.
    FROM_STASH = "from stash"


@dataclass(frozen=True)
class Turn:
    """Units `[first, end)` of the result, at one call."""

    first: int
    end: int
    place: Place = Place.RESULT

    @property
    def computes(self) -> bool:
        """Whether it calls the kernel."""
        return self.place is not Place.FROM_STASH


#: The turns of either core.
Phase = tuple[tuple[Turn, ...], tuple[Turn, ...]]
#: Bytes `[start, end)` of the arena.
Bytes = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Division:
    """How a run is divided. `rules[i]` says which rows of input i a unit needs, None: all of it.

    `scratch` is the second core's; `stash` holds units from `stash_first` on. `codes` are kernels
    of pieces that are layers of their own, by `(first, end)`; without them the run's kernel is
    called for rows. `overlaps` say, by piece and by position, what that piece may share with its
    operand. A program before planning has no `phases`; its result is best placed so that a line of
    caches begins `line_at` bytes from its start.
    """

    units: int
    rules: tuple[RowRule | None, ...]
    phases: tuple[Phase, ...] = ()
    scratch: Buffer | None = None
    stash: Buffer | None = None
    stash_first: int = 0
    codes: Mapping[tuple[int, int], KernelCode] = field(default_factory=dict)
    overlaps: Mapping[tuple[int, int], Mapping[int, Overlap]] = field(default_factory=dict)
    line_at: int = 0

    @property
    def memory(self) -> tuple[Buffer, ...]:
        """Buffers that it needs beside operands, results and scratch of the run."""
        return tuple(buffer for buffer in (self.scratch, self.stash) if buffer is not None)


def unit_bytes(run: Run, division: Division) -> int:
    """Bytes of one unit of the result."""
    return run.outputs[0].size_bytes // division.units


def input_part(division: Division, number: int, size_bytes: int, turn: Turn) -> Bytes:
    """The bytes of input `number`, which has `size_bytes`, that a turn reads, from its first."""
    rule = division.rules[number]
    if rule is None:
        return 0, size_bytes
    pitch = size_bytes // rule.rows
    return rule.first(turn.first) * pitch, rule.end(turn.end - 1) * pitch


@dataclass(frozen=True)
class Accesses:
    """Bytes that a turn touches."""

    reads: tuple[Bytes, ...]
    writes: tuple[Bytes, ...]


def accesses(
    run: Run, division: Division, turn: Turn, core: int, start: Callable[[Buffer], int | None]
) -> Accesses:
    """Those of a turn of `core`; `start` is a buffer's first byte, None outside the arena."""
    size = unit_bytes(run, division)
    result = start(run.outputs[0])
    assert result is not None
    own = result + turn.first * size, result + turn.end * size
    stashed = own
    if turn.place is not Place.RESULT:
        assert division.stash is not None
        stash = start(division.stash)
        assert stash is not None
        inner = stash - division.stash_first * size
        stashed = inner + turn.first * size, inner + turn.end * size
    if not turn.computes:
        return Accesses((stashed,), (own,))
    reads, writes = list[Bytes](), [stashed]
    for number, buffer in enumerate(run.inputs):
        first = start(buffer)
        if first is not None:
            low, high = input_part(division, number, buffer.size_bytes, turn)
            reads.append((first + low, first + high))
    scratch = division.scratch if core else run.scratch
    if scratch is not None:
        first = start(scratch)
        assert first is not None
        writes.append((first, first + scratch.size_bytes))
    return Accesses(tuple(reads), tuple(writes))


def meet(a: Bytes, b: Bytes) -> bool:
    """Whether two ranges have a byte in common."""
    return max(a[0], b[0]) < min(a[1], b[1])


def lines_of(span: Bytes, line_bytes: int) -> Bytes:
    """The bytes of all lines that a range has bytes of."""
    low, high = span
    return low // line_bytes * line_bytes, -(-high // line_bytes) * line_bytes
