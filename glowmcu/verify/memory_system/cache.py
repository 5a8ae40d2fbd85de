"""A cache's lines: which are there, and which one goes."""

from __future__ import annotations

from glowmcu.board.memory_timing import CacheGeometry

_SEED = 0x2545F491


class CacheLines:
    """Lines are known by address // line bytes. Sets are dictionaries in order of replacement."""

    def __init__(self, geometry: CacheGeometry) -> None:
        self.line_bytes = geometry.line_bytes
        self._ways = geometry.ways
        self._mask = geometry.sets - 1
        self._sets: list[dict[int, None]] = [{} for _ in range(geometry.sets)]
        self._renews = geometry.replacement == "lru"
        self._is_random = geometry.replacement == "random"
        self._state = _SEED

    def holds(self, line: int) -> bool:
        """Whether the line is there; leaves everything as it is."""
        return line in self._sets[line & self._mask]

    def touch(self, line: int) -> bool:
        """Whether the line is there; as a use of it."""
        lines = self._sets[line & self._mask]
        if line not in lines:
            return False
        if self._renews and len(lines) > 1:
            del lines[line]
            lines[line] = None
        return True

    def put(self, line: int) -> None:
        """Take in a line that is not there."""
        lines = self._sets[line & self._mask]
        if len(lines) >= self._ways:
            del lines[self._victim(lines)]
        lines[line] = None

    def _victim(self, lines: dict[int, None]) -> int:
        if not self._is_random:
            return next(iter(lines))
        # Xorshift: the same in every run, without the patterns of a counter.
        self._state ^= (self._state << 13) & 0xFFFFFFFF
        self._state ^= self._state >> 17
        self._state ^= (self._state << 5) & 0xFFFFFFFF
        return list(lines)[self._state % len(lines)]
