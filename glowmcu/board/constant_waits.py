"""Cycles that a core waits for a board's memory of constants when it reads them in order."""

from __future__ import annotations

from glowmcu.board.memory_timing import MemoryTiming, SlowMemory
from glowmcu.board.model import Board

_WORD_BYTES = 4


def constant_waits(board: Board, region: str | None = None) -> tuple[float, int] | None:
    """Cycles of waiting per word of 4 bytes that no cache holds, and bytes that a cache keeps from
    one reading to the next, by the quickest of the board's timings: for constants in a region, by
    default where the board has them. None if the arena is as slow.
    """
    placement = board.placement
    if placement is None or not board.timing:
        return None
    found = []
    for timing in board.timing:
        slow = timing.memory(placement.constants if region is None else region)
        if slow is None or timing.memory(placement.arena) is not None:
            return None
        found.append(_waits(timing, slow))
    least = min(found)
    return least if least[0] > 0 else None


def _waits(timing: MemoryTiming, slow: SlowMemory) -> tuple[float, int]:
    cache = timing.data_cache or timing.cache
    if cache is None:
        return float(slow.line_waits(_WORD_BYTES)), 0
    # Code has its part of a cache for both.
    kept = cache.size_bytes if timing.data_cache else cache.size_bytes // 2
    words = max(cache.line_bytes // _WORD_BYTES, 1)
    return slow.line_waits(cache.line_bytes) / words, kept
