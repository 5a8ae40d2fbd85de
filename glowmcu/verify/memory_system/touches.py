"""Events -> the lines of memory that they touch, as arrays: an event may touch several or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.memory_system.cache import Ints
from glowmcu.verify.memory_system.layout import PAGE_BYTES

#: Kinds in the low byte: the size in bytes of a read, or of a write with WRITE; block; step.
WRITE, BLOCK, STEP = 0x40, 0x80, 0x81
NOWHERE = -1

BlockCost = Callable[[int], tuple[int, int]]
"""Bytes of the block at an address, and its cycles where nothing waits."""
MemoryAt = Callable[[int], int]
"""Number of the slow memory at an address, `NOWHERE` for one that never waits."""


@dataclass(frozen=True)
class Touches:
    """`event` touches `line` of the memory of that number, at `clock` cycles without any wait."""

    event: Ints
    line: Ints
    memory: Ints
    clock: Ints

    def of(self, which: Ints) -> Touches:
        """Some of them, in that order."""
        return Touches(self.event[which], self.line[which], self.memory[which], self.clock[which])

    def merged(self, other: Touches) -> Touches:
        """Both, in the order of events."""
        both = Touches(
            *(
                np.concatenate([getattr(part, name) for part in (self, other)])
                for name in ("event", "line", "memory", "clock")
            )
        )
        return both.of(np.argsort(both.event, kind="stable"))


@dataclass(frozen=True)
class _Block:
    """Lines of a block, and the cycles that it has spent when it comes to each."""

    memory: int
    lines: tuple[int, ...]
    clocks: tuple[int, ...]
    cycles: int


class CodeTouches:
    """Lines of `unit(memory)` bytes that blocks touch, from first to last."""

    def __init__(self, memory_at: MemoryAt, unit: Callable[[int], int], cost: BlockCost) -> None:
        self._memory_at, self._unit, self._cost = memory_at, unit, cost
        self._blocks: dict[int, _Block] = {}
        self._clock = 0

    def of(self, kinds: Ints, addresses: Ints) -> Touches:
        """Those of a piece of the trace."""
        events = np.flatnonzero(kinds == BLOCK)
        unique, which = np.unique(addresses[events], return_inverse=True)
        blocks = [self._block(address) for address in unique.tolist()]
        times = _ints(len(block.lines) for block in blocks)[which]
        cycles = _ints(block.cycles for block in blocks)[which]
        begins = self._clock + np.cumsum(cycles) - cycles
        self._clock += int(cycles.sum())
        firsts = _ints(len(block.lines) for block in blocks)
        firsts = np.cumsum(firsts) - firsts
        index = _counted(firsts[which], times)
        lines = _ints(line for block in blocks for line in block.lines)[index]
        clocks = _ints(clock for block in blocks for clock in block.clocks)[index]
        memories = _ints(block.memory for block in blocks)[which]
        return Touches(
            np.repeat(events, times),
            lines,
            np.repeat(memories, times),
            np.repeat(begins, times) + clocks,
        )

    def _block(self, address: int) -> _Block:
        if address not in self._blocks:
            self._blocks[address] = self._planned(address)
        return self._blocks[address]

    def _planned(self, address: int) -> _Block:
        size_bytes, cycles = self._cost(address)
        memory = self._memory_at(address)
        if memory == NOWHERE or size_bytes == 0:
            return _Block(memory, (), (), cycles)
        unit = self._unit(memory)
        lines = tuple(range(address // unit, (address + size_bytes - 1) // unit + 1))
        before = (max(0, line * unit - address) for line in lines)
        return _Block(memory, lines, tuple(cycles * b // size_bytes for b in before), cycles)


class DataTouches:
    """Lines of `unit(memory)` bytes that reads and writes touch."""

    def __init__(self, memory_at: MemoryAt, unit: Callable[[int], int]) -> None:
        self._memory_at, self._unit = memory_at, unit

    def of(self, kinds: Ints, addresses: Ints) -> Touches:
        """Those of a piece of the trace, without a clock."""
        events = np.flatnonzero(kinds < BLOCK)
        pages, which = np.unique(addresses[events] // PAGE_BYTES, return_inverse=True)
        memories = _ints(self._memory_at(page * PAGE_BYTES) for page in pages.tolist())[which]
        slow = memories != NOWHERE
        events, memories = events[slow], memories[slow]
        numbers, which = np.unique(memories, return_inverse=True)
        units = _ints(self._unit(number) for number in numbers.tolist())[which]
        first = addresses[events] // units
        last = (addresses[events] + (kinds[events] & (WRITE - 1)) - 1) // units
        times = last - first + 1
        return Touches(
            np.repeat(events, times),
            _counted(first, times),
            np.repeat(memories, times),
            np.zeros(int(times.sum()), np.int64),
        )


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, np.int64)


def _counted(first: Ints, times: Ints) -> Ints:
    """`first`, `first + 1`, … of each, as often as its `times` say."""
    ends = np.cumsum(times)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) - np.repeat(ends - times - first, times)
