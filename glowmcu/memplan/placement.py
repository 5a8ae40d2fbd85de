"""Blocks and the offset differences that they must not have: what every placement search works on.

Two blocks that are alive together must not share a byte: offset(b) - offset(a) is outside the open
interval (-size(b), size(a)). Weaker relations, such as a result that follows its operand at a safe
distance, are narrower intervals; rings are several. The searches know intervals only.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import cached_property

from glowmcu.ir.program import BUFFER_ALIGN, aligned
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Block:
    """`size_bytes` alive from step `first` to step `last`, both included."""

    first: int
    last: int
    size_bytes: int
    align: int = BUFFER_ALIGN

    @property
    def padded_bytes(self) -> int:
        return aligned(self.size_bytes)


@dataclass(frozen=True)
class Conflict:
    """offset(second) - offset(first) must not lie in the open interval (low, high)."""

    first: int
    second: int
    low: int
    high: int


@dataclass(frozen=True)
class Placement:
    """Offset of every block, by index, and the bytes that they span."""

    offsets: tuple[int, ...]
    arena_bytes: int

    def ends(self, task: Problem) -> list[int]:
        """The byte after each block."""
        return list(map(operator.add, self.offsets, task.sizes))


@dataclass(frozen=True)
class Sharing:
    """Block `second` may take up to `most_bytes` of what block `first` has when it dies.

    `forbidden`: open intervals of offset(second) - offset(first).
    """

    first: int
    second: int
    forbidden: tuple[tuple[int, int], ...]
    most_bytes: int


@dataclass(frozen=True)
class Problem:
    """Blocks and their conflicts. `shared` are pairs that do not exclude each other in full."""

    blocks: tuple[Block, ...]
    conflicts: tuple[Conflict, ...] = field(repr=False)
    shared: tuple[Sharing, ...] = ()

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The bytes that each block takes."""
        return tuple(block.padded_bytes for block in self.blocks)

    @cached_property
    def neighbours(self) -> tuple[tuple[tuple[int, int, int], ...], ...]:
        """For each block `(other, low, high)`: own offset less the other's is not in it."""
        found: list[list[tuple[int, int, int]]] = [[] for _ in self.blocks]
        for item in self.conflicts:
            found[item.second].append((item.first, item.low, item.high))
            found[item.first].append((item.second, -item.high, -item.low))
        return tuple(map(tuple, found))

    @cached_property
    def crowds(self) -> tuple[tuple[int, ...], ...]:
        """Blocks alive at each step where one is born: the fullest is the lower bound."""
        first_steps = sorted({block.first for block in self.blocks})
        return tuple(
            tuple(i for i, block in enumerate(self.blocks) if block.first <= step <= block.last)
            for step in first_steps
        )

    @cached_property
    def lower_bound_bytes(self) -> int:
        """Most bytes of blocks that are alive at one step, less what they may share."""
        return max(map(self._least_bytes, self.crowds), default=0)

    def _least_bytes(self, crowd: Sequence[int]) -> int:
        members = set(crowd)
        saved: dict[int, int] = {}
        for item in self.shared:
            if item.first in members and item.second in members:
                saved[item.second] = saved.get(item.second, 0) + item.most_bytes
        total = sum(self.blocks[index].padded_bytes for index in crowd)
        return total - sum(
            min(self.blocks[index].padded_bytes, most) for index, most in saved.items()
        )

    def placement(self, offsets: Sequence[int]) -> Placement:
        """These offsets with the bytes that they span."""
        ends = map(operator.add, offsets, self.sizes)
        return Placement(tuple(offsets), max(ends, default=0))


def problem(blocks: Iterable[Block], shared: Iterable[Sharing] = ()) -> Problem:
    """Blocks of which no two alive together may share a byte, but for pairs in `shared`."""
    blocks, shared = tuple(blocks), tuple(shared)
    special = {(item.first, item.second): item for item in shared}
    order = sorted(range(len(blocks)), key=lambda index: blocks[index].first)
    conflicts: list[Conflict] = []
    alive: list[int] = []
    for index in order:
        alive = [other for other in alive if blocks[other].last >= blocks[index].first]
        for other in alive:
            low, high = -blocks[index].padded_bytes, blocks[other].padded_bytes
            if (other, index) in special:
                forbidden = special[other, index].forbidden
                conflicts += [Conflict(other, index, *interval) for interval in forbidden]
            else:
                conflicts.append(Conflict(other, index, low, high))
        alive.append(index)
    return Problem(blocks, tuple(conflicts), shared)


class FirstFit:
    """Each block in turn at the lowest offset that the blocks before it leave.

    An order that begins like the one before is placed from the first difference on.
    """

    def __init__(self, task: Problem) -> None:
        self._task = task
        self._sizes, self._aligns = task.sizes, [block.align for block in task.blocks]
        self._neighbours = [
            [item for item in near if item[1] < item[2]] for near in task.neighbours
        ]
        self._order: list[int] = []
        self._offsets: list[int | None] = [None] * len(task.blocks)

    def place(self, order: Sequence[int], most_bytes: int | None = None) -> Placement | None:
        """The placement; None as soon as it takes more than `most_bytes`."""
        common = 0
        for before, now in zip(self._order, order, strict=False):
            if before != now:
                break
            common += 1
        for index in self._order[common:]:
            self._offsets[index] = None
        self._order = list(order[:common])
        for index in order[common:]:
            place = lowest_offset(self._neighbours[index], self._aligns[index], self._offsets)
            if most_bytes is not None and place + self._sizes[index] > most_bytes:
                return None
            self._offsets[index] = place
            self._order.append(index)
        found = self._task.placement([place for place in self._offsets if place is not None])
        return found if most_bytes is None or found.arena_bytes <= most_bytes else None


def first_fit(task: Problem, order: Sequence[int]) -> Placement:
    """The placement of one order, which names every block."""
    placement = FirstFit(task).place(order)
    assert placement is not None
    return placement


def lowest_offset(
    near: Iterable[tuple[int, int, int]], align: int, offsets: Sequence[int | None]
) -> int:
    """The lowest aligned offset of a block that no neighbour which has an offset forbids."""
    forbidden = [
        (place + low, place + high)
        for other, low, high in near
        if (place := offsets[other]) is not None
    ]
    forbidden.sort()
    lowest = 0
    for low, high in forbidden:
        if low >= lowest:
            break
        lowest = max(lowest, -(-high // align) * align)
    return lowest
