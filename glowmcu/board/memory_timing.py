"""Wait states and caches of a board's memories, as data for `verify/memory_system`.

All cycles are the core's beyond the one that an access takes anyway. Built by `read_timing` only.
"""

from __future__ import annotations

from glowmcu.lazy_dataclass import dataclass

REPLACEMENTS = ("lru", "fifo", "random")


@dataclass(frozen=True)
class CacheGeometry:
    """A cache of `ways` x sets lines; as many ways as lines is a fully associative one.

    `replacement` says which line of a full set goes: the one used least recently, the one that came
    first, or any.
    """

    size_bytes: int
    line_bytes: int
    ways: int
    replacement: str = "lru"

    @property
    def sets(self) -> int:
        """How many sets of `ways` lines there are."""
        return self.size_bytes // (self.line_bytes * self.ways)


@dataclass(frozen=True)
class SlowMemory:
    """A region whose reads wait: `wait_states` for the first `width_bytes`, one unit of the memory.

    Of a cache line each further unit takes `burst_cycles`; 0: as long as the first. Both count in
    cycles of a clock that is the core's divided by `clock_divider`. With `prefetch_lines` 1 the
    line behind a fetched one is read while the core executes that.
    """

    region: str
    wait_states: int
    width_bytes: int
    burst_cycles: int = 0
    clock_divider: int = 1
    prefetch_lines: int = 0

    def line_waits(self, line_bytes: int) -> int:
        """Cycles until all of a line is there."""
        units = max(1, line_bytes // self.width_bytes)
        burst = self.burst_cycles or self.wait_states + 1
        return self.clock_divider * (self.wait_states + (units - 1) * burst)


@dataclass(frozen=True)
class MemoryTiming:
    """The memories that wait and the caches before all of them; other regions never wait.

    `cache` is one for instructions and data and stands alone. `note` names the source. If a chip
    may be one of several, its board has one of these for each.
    """

    memories: tuple[SlowMemory, ...]
    instruction_cache: CacheGeometry | None = None
    data_cache: CacheGeometry | None = None
    cache: CacheGeometry | None = None
    note: str = ""

    def memory(self, region: str) -> SlowMemory | None:
        """The slow memory of that region; None for one that never waits."""
        return next((memory for memory in self.memories if memory.region == region), None)
