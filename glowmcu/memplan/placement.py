"""Blocks and the offset differences that they must not have: what every placement search works on.

Two blocks that are alive together must not share a byte: offset(b) - offset(a) is outside the open
interval (-size(b), size(a)). Weaker relations, such as a result that follows its operand at a safe
distance, are narrower intervals; rings are several. The searches know intervals only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from glowmcu.ir.program import BUFFER_ALIGN, aligned


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
        pairs = zip(self.offsets, task.blocks, strict=True)
        return [offset + block.padded_bytes for offset, block in pairs]


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
        births = sorted({block.first for block in self.blocks})
        return tuple(
            tuple(i for i, block in enumerate(self.blocks) if block.first <= step <= block.last)
            for step in births
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
        ends = (o + block.padded_bytes for o, block in zip(offsets, self.blocks, strict=True))
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


def first_fit(task: Problem, order: Sequence[int]) -> Placement:
    """Each block in turn at the lowest offset that the blocks before it leave."""
    offsets: dict[int, int] = {}
    for index in order:
        offsets[index] = lowest_offset(task, index, offsets)
    return task.placement([offsets[index] for index in range(len(task.blocks))])


def lowest_offset(task: Problem, index: int, offsets: dict[int, int]) -> int:
    """The lowest aligned offset of a block that no placed block forbids."""
    forbidden = sorted(
        (offsets[other] + low, offsets[other] + high)
        for other, low, high in task.neighbours[index]
        if other in offsets and low < high
    )
    align, place = task.blocks[index].align, 0
    for low, high in forbidden:
        if low < place < high:
            place = aligned(high, align)
    return place
