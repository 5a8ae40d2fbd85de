"""What a board's memories add to a kernel's cycles, to the first order.

    waits = constants that no cache holds * their wait + lines of code that none holds * theirs

Constants of a layer that fit the cache are read once; of longer ones what the cache has lost is
read again. Lines of code are those that caches of the sizes in `memory_table` missed. What `bench`
replays is exact about order and sets; this is for choosing, before there is any code.
"""

from __future__ import annotations

from glowmcu.board import Board, CacheGeometry, MemoryTiming, SlowMemory
from glowmcu.kernels.memory_table import LINE_BYTES, Misses, Traffic
from glowmcu.lazy_dataclass import dataclass

#: By the least size of the cache what it misses of code; beyond the last a model's loops fit.
_WITH_PREFETCH = ((0, Traffic.JUMPS_256), (1024, Traffic.JUMPS_1K))
_WITHOUT = ((0, Traffic.CODE_2K),)
_LOOPS_FIT_BYTES = 4096
#: Of a cache for both, what the loop of a kernel keeps from constants.
_HOT_CODE_BYTES = 1024


@dataclass(frozen=True)
class MemorySystem:
    """One timing of a board, and of its memories those that hold `code` and `constants`; None for
    one that never waits.
    """

    timing: MemoryTiming
    code: SlowMemory | None
    constants: SlowMemory | None

    def waits(self, misses: Misses, constant_bytes: int) -> float:
        """Cycles that a layer with `constant_bytes` of constants waits."""
        return self._for_code(misses) + self._for_constants(misses, constant_bytes)

    def _for_constants(self, misses: Misses, constant_bytes: int) -> float:
        slow, cache = self.constants, self.timing.data_cache or self.timing.cache
        if slow is None:
            return 0.0
        if cache is None:
            return misses.counts[Traffic.READS] * slow.line_waits(slow.width_bytes)
        # Code has its part of a cache for both.
        beside = 0 if self.timing.data_cache else _HOT_CODE_BYTES
        first = constant_bytes / cache.line_bytes
        again = misses.bytes_read / cache.line_bytes
        lines = max(first, again * lost_part(cache, constant_bytes + beside))
        return lines * slow.line_waits(cache.line_bytes)

    def _for_code(self, misses: Misses) -> float:
        slow, cache = self.code, self.timing.instruction_cache or self.timing.cache
        if slow is None:
            return 0.0
        size = self._code_cache_bytes
        if size >= _LOOPS_FIT_BYTES:
            return 0.0
        line = slow.width_bytes if cache is None else cache.line_bytes
        curve = _WITH_PREFETCH if slow.prefetch_lines else _WITHOUT
        traffic = [found for least, found in curve if size >= least][-1]
        return misses.counts[traffic] * LINE_BYTES / line * slow.line_waits(line)

    @property
    def code_byte(self) -> float:
        """Cycles for a byte of code where all of it is fetched once and kept: other caches miss it
        again, which is among `waits`.
        """
        slow, cache = self.code, self.timing.instruction_cache or self.timing.cache
        if slow is None or cache is None or self._code_cache_bytes < _LOOPS_FIT_BYTES:
            return 0.0
        return slow.line_waits(cache.line_bytes) / cache.line_bytes

    @property
    def _code_cache_bytes(self) -> int:
        if self.timing.instruction_cache is not None:
            return self.timing.instruction_cache.size_bytes
        return 0 if self.timing.cache is None else self.timing.cache.size_bytes // 2


def lost_part(cache: CacheGeometry, size_bytes: int) -> float:
    """Part of `size_bytes`, read from first to last again and again, that is missed each time.

    A set with one line more than it has ways misses all of them, if the line used least recently
    is replaced; sets have as many lines as others, or one more.
    """
    lines = size_bytes / (cache.line_bytes * cache.sets)
    if lines <= cache.ways:
        return 0.0
    return min((lines - cache.ways) * (cache.ways + 1) / lines, 1.0)


@dataclass(frozen=True)
class MemoryWaits:
    """The memories of a board, one system for each of its timings."""

    systems: tuple[MemorySystem, ...]

    def cycles(self, misses: Misses, constant_bytes: int) -> tuple[float, ...]:
        """Cycles that a layer waits for its code and its constants, by each timing."""
        return tuple(system.waits(misses, constant_bytes) for system in self.systems)

    @property
    def code_byte(self) -> tuple[float, ...]:
        """Cycles that a byte of code waits once, the first time, by each timing."""
        return tuple(system.code_byte for system in self.systems)


def mean(waits: tuple[float, ...]) -> float:
    """What counts where a board may be one or the other."""
    return sum(waits) / len(waits)


def memory_waits(
    board: Board, quick_code: bool = False, quick_constants: bool = False
) -> MemoryWaits | None:
    """Those of a board, where code or constants may have been placed in memories that never wait.

    None if nothing waits, or nobody says so.
    """
    usual = board.placement
    if usual is None:
        return None
    systems = tuple(
        MemorySystem(
            timing,
            None if quick_code else timing.memory(usual.code),
            None if quick_constants else timing.memory(usual.constants),
        )
        for timing in board.timing
    )
    waiting = [system for system in systems if system.code or system.constants]
    return MemoryWaits(systems) if waiting else None
