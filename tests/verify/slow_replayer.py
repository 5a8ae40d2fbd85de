"""The meaning of `memory_system.Replayer`, one access after the other: what arrays must come to."""

from __future__ import annotations

from glowmcu.board import CacheGeometry, MemoryTiming, SlowMemory
from glowmcu.verify.memory_system import MemoryLayout


class SlowCache:
    """Each set a list, the next one to go first."""

    def __init__(self, geometry: CacheGeometry) -> None:
        assert geometry.replacement != "random"
        self.geometry = geometry
        self.sets: list[list[int]] = [[] for _ in range(geometry.sets)]

    def use(self, line: int) -> bool:
        """Whether the line was there."""
        held = self.sets[line % self.geometry.sets]
        found = line in held
        if found and self.geometry.replacement == "lru":
            held.remove(line)
            held.append(line)
        if not found:
            if len(held) == self.geometry.ways:
                held.pop(0)
            held.append(line)
        return found


class SlowReplayer:
    """`clock` counts cycles of the core alone: time that it waits for data helps no prefetch."""

    def __init__(self, timing: MemoryTiming, layout: MemoryLayout) -> None:
        self.timing, self.layout = timing, layout
        common = SlowCache(timing.cache) if timing.cache else None
        code, data = timing.instruction_cache, timing.data_cache
        self.code = common or (SlowCache(code) if code else None)
        self.data = common or (SlowCache(data) if data else None)
        self.buffers = {
            memory.region: SlowCache(CacheGeometry(memory.width_bytes, memory.width_bytes, 1))
            for memory in timing.memories
        }
        self.clock = 0
        self.last: tuple[int, int] | None = None  # line of code that came last, and when

    def fetch(self, address: int, size_bytes: int, cycles: int) -> int:
        memory, waits, begin = self._memory(address), 0, self.clock
        if memory is not None and size_bytes:
            cache = self.code or self.buffers[memory.region]
            unit = cache.geometry.line_bytes
            for line in range(address // unit, (address + size_bytes - 1) // unit + 1):
                self.clock = begin + cycles * max(0, line * unit - address) // size_bytes
                if not cache.use(line):
                    waits += self._wait_for(line, memory, unit)
        self.clock = begin + cycles
        return waits

    def _wait_for(self, line: int, memory: SlowMemory, unit: int) -> int:
        waits = whole = memory.line_waits(unit)
        if memory.prefetch_lines and self.last is not None and self.last[0] == line - 1:
            left = whole + memory.clock_divider - (self.clock - self.last[1])
            waits = max(0, min(whole, left))
        self.last = line, self.clock
        return waits

    def access(self, address: int, size_bytes: int, writes: bool) -> int:
        memory, waits = self._memory(address), 0
        if memory is None:
            return 0
        unit = memory.width_bytes if self.data is None else self.data.geometry.line_bytes
        for line in range(address // unit, (address + size_bytes - 1) // unit + 1):
            if self.data is None or not self.data.use(line):
                waits += 0 if writes else memory.line_waits(unit)
        return waits

    def _memory(self, address: int) -> SlowMemory | None:
        region = self.layout.region_at(address)
        return None if region is None else self.timing.memory(region)
