"""Fetches, reads and writes in order -> cycles that the core waits for each.

A line of code that no cache holds waits for the memory, or for what is left of its prefetch, which
began when the line before it had arrived; time in which the core waits for data does not help it,
for data goes first. A word of data that no cache holds waits for its line; without a cache for data
each read waits. Writes go to a buffer and wait for nothing.

All of a piece of the trace at once, in arrays: one by one it would take longer than the run.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from glowmcu.board.memory_timing import CacheGeometry, MemoryTiming, SlowMemory
from glowmcu.verify.memory_system.cache import CacheLines, Ints
from glowmcu.verify.memory_system.layout import MemoryLayout
from glowmcu.verify.memory_system.touches import (
    NOWHERE,
    WRITE,
    BlockCost,
    CodeTouches,
    DataTouches,
    Touches,
)

_Unit = Callable[[int], int]
_Number = Callable[[SlowMemory], int]


class Replayer:
    """One board's memories and caches; empty at first, as after power-on.

    Without a cache for instructions a memory's last unit is kept, as its output register does.
    """

    def __init__(self, timing: MemoryTiming, layout: MemoryLayout, cost: BlockCost) -> None:
        self._memories, self._layout = timing.memories, layout
        self._common = _lines(timing.cache)
        self._code = self._common or _lines(timing.instruction_cache)
        self._data = self._common or _lines(timing.data_cache)
        self._buffers = [
            CacheLines(CacheGeometry(memory.width_bytes, memory.width_bytes, 1))
            for memory in timing.memories
        ]
        self._code_touches = CodeTouches(self._memory_at, self._code_unit, cost)
        self._data_touches = DataTouches(self._memory_at, self._data_unit)
        self._last_line, self._arrived = -2, 0

    def replay(self, events: npt.NDArray[np.uint64]) -> Ints:
        """Waits of each event, from where the last piece ended."""
        kinds, addresses = (events & 0xFF).astype(np.int64), (events >> 8).astype(np.int64)
        code = self._code_touches.of(kinds, addresses)
        data = self._data_touches.of(kinds, addresses)
        waits = np.zeros(len(events), np.int64)
        if self._common is not None:
            both = code.merged(data)
            missing = both.of(self._common.use(both.line))
            is_code = kinds[missing.event] >= 2 * WRITE
            code, data = missing.of(np.flatnonzero(is_code)), missing.of(np.flatnonzero(~is_code))
        else:
            code = code.of(self._missing_code(code))
            data = data if self._data is None else data.of(self._data.use(data.line))
        np.add.at(waits, code.event, self._waits_for_code(code))
        data = data.of(np.flatnonzero(kinds[data.event] < WRITE))
        np.add.at(waits, data.event, self._line_waits(data, self._data_unit))
        return waits

    def _missing_code(self, code: Touches) -> Ints:
        if self._code is not None:
            return self._code.use(code.line)
        found = []
        for number, buffer in enumerate(self._buffers):
            mine = np.flatnonzero(code.memory == number)
            found.append(mine[buffer.use(code.line[mine])])
        return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def _waits_for_code(self, missing: Touches) -> Ints:
        whole = self._line_waits(missing, self._code_unit)
        if len(missing.line) == 0:
            return whole
        before = np.concatenate([[self._last_line], missing.line[:-1]])
        arrived = np.concatenate([[self._arrived], missing.clock[:-1]])
        self._last_line, self._arrived = int(missing.line[-1]), int(missing.clock[-1])
        prefetched = self._each(missing, lambda memory: memory.prefetch_lines) > 0
        follows = prefetched & (missing.line == before + 1)
        takes = whole + self._each(missing, lambda memory: memory.clock_divider)
        left = np.clip(takes - (missing.clock - arrived), 0, whole)
        return np.where(follows, left, whole)

    def _line_waits(self, touches: Touches, unit: _Unit) -> Ints:
        each = [memory.line_waits(unit(n)) for n, memory in enumerate(self._memories)]
        return np.array(each, np.int64)[touches.memory]

    def _each(self, touches: Touches, number: _Number) -> Ints:
        return np.array([number(memory) for memory in self._memories], np.int64)[touches.memory]

    def _memory_at(self, address: int) -> int:
        region = self._layout.region_at(address)
        names = [memory.region for memory in self._memories]
        return names.index(region) if region in names else NOWHERE

    def _code_unit(self, number: int) -> int:
        return self._buffers[number].line_bytes if self._code is None else self._code.line_bytes

    def _data_unit(self, number: int) -> int:
        memory = self._memories[number]
        return memory.width_bytes if self._data is None else self._data.line_bytes


def _lines(geometry: CacheGeometry | None) -> CacheLines | None:
    return None if geometry is None else CacheLines(geometry)
