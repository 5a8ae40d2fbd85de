"""Fetches, reads and writes in order -> cycles that the core waits for each.

A line of code that no cache holds waits for the memory, or for what is left of its prefetch, which
began when the line before it had arrived. A word of data that no cache holds waits for its line;
without a cache for data each read waits. Writes go to a buffer and wait for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from glowmcu.board.memory_timing import CacheGeometry, MemoryTiming, SlowMemory
from glowmcu.verify.memory_system.cache import CacheLines
from glowmcu.verify.memory_system.layout import PAGE_BYTES, MemoryLayout


@dataclass(frozen=True)
class _Fetch:
    """A block of code: its lines, and how many cycles the core spends with each."""

    memory: SlowMemory | None
    lines: tuple[tuple[int, float], ...]
    cycles: float


class Replayer:
    """One board's memories and caches; empty at first, as after power-on.

    Without a cache for instructions the memory's last unit is kept, as its output register does.
    """

    def __init__(self, timing: MemoryTiming, layout: MemoryLayout) -> None:
        self._timing, self._layout = timing, layout
        self._unified = timing.cache is not None
        shared = None if timing.cache is None else CacheLines(timing.cache)
        self._code = shared or _lines(timing.instruction_cache)
        self._data = shared or _lines(timing.data_cache)
        self._buffers: dict[str, CacheLines] = {}
        self._fetches: dict[int, _Fetch] = {}
        self._reads: dict[int, tuple[int, int]] = {}
        self._now = 0.0
        self._free_block: int | None = None
        self._ahead: int | None = None
        self._ready = 0.0
        self._last_read: int | None = None

    def fetch(self, address: int, size_bytes: int, cycles: int) -> int:
        """Waits for the code of a block that runs from its first to its last byte, in `cycles`
        where nothing waits.
        """
        if address == self._free_block:
            self._now += cycles  # a loop whose lines were all there and still are
            return 0
        known = self._fetches.get(address)
        if known is None:
            known = self._fetches[address] = self._plan(address, size_bytes, cycles)
        if known.memory is None:
            self._now += known.cycles
            return 0
        waits = 0
        lines = self._code or self._buffer(known.memory)
        for line, spent in known.lines:
            if not lines.touch(line):
                waits += self._fetch_line(known.memory, lines, line)
            self._now += spent
        self._free_block = None if waits or self._unified else address
        return waits

    def read(self, address: int, size_bytes: int) -> int:
        """Waits for data."""
        page = address // PAGE_BYTES
        known = self._reads.get(page) or self._look_up(page)
        unit, line_waits = known
        if unit == 0:
            return 0
        lines = self._data
        first, last = address // unit, (address + size_bytes - 1) // unit
        if lines is None:
            waits = line_waits * (1 + last - first)
        elif first == last == self._last_read:
            return 0  # of the line that was used last, so nothing changes
        else:
            waits = 0
            for line in range(first, last + 1):
                if not lines.touch(line):
                    waits += line_waits
                    lines.put(line)
            self._last_read = None if self._unified else last
        if self._now < self._ready:
            self._ready += waits  # data goes first
        self._now += waits
        return waits

    def write(self, address: int, size_bytes: int) -> None:
        """Data goes through the cache, which takes in the line; nothing waits."""
        lines, page = self._data, address // PAGE_BYTES
        if lines is None or (self._reads.get(page) or self._look_up(page))[0] == 0:
            return
        self._last_read = None
        for line in range(
            address // lines.line_bytes, (address + size_bytes - 1) // lines.line_bytes + 1
        ):
            if not lines.touch(line):
                lines.put(line)

    def _fetch_line(self, memory: SlowMemory, lines: CacheLines, line: int) -> int:
        whole = memory.line_waits(lines.line_bytes)
        if line == self._ahead:
            waits = min(whole, max(0, ceil(self._ready - self._now)))
        else:
            waits = whole
        lines.put(line)
        self._now += waits
        self._ahead = line + 1 if memory.prefetch_lines else None
        self._ready = self._now + whole + memory.clock_divider
        return waits

    def _plan(self, address: int, size_bytes: int, cycles: int) -> _Fetch:
        memory = self._memory_at(address)
        if memory is None:
            return _Fetch(None, (), cycles)
        unit = (self._code or self._buffer(memory)).line_bytes
        end, share = address + size_bytes, cycles / max(size_bytes, 1)
        return _Fetch(
            memory,
            tuple(
                (line, share * (min(end, (line + 1) * unit) - max(address, line * unit)))
                for line in range(address // unit, (end - 1) // unit + 1)
            ),
            cycles,
        )

    def _buffer(self, memory: SlowMemory) -> CacheLines:
        if memory.region not in self._buffers:
            width = memory.width_bytes
            self._buffers[memory.region] = CacheLines(CacheGeometry(width, width, 1))
        return self._buffers[memory.region]

    def _memory_at(self, address: int) -> SlowMemory | None:
        region = self._layout.region_at(address)
        return None if region is None else self._timing.memory(region)

    def _look_up(self, page: int) -> tuple[int, int]:
        """Bytes that a read of data brings, and its waits; 0 bytes where nothing waits."""
        memory, lines = self._memory_at(page * PAGE_BYTES), self._data
        if memory is None:
            self._reads[page] = 0, 0
        else:
            unit = memory.width_bytes if lines is None else lines.line_bytes
            self._reads[page] = unit, memory.line_waits(unit)
        return self._reads[page]


def _lines(geometry: CacheGeometry | None) -> CacheLines | None:
    return None if geometry is None else CacheLines(geometry)
