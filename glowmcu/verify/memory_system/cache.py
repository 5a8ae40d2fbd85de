"""A cache's lines: which are there, and which one goes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glowmcu.board.memory_timing import CacheGeometry

Ints = npt.NDArray[np.int64]
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

    def use(self, lines: Ints) -> Ints:
        """Use these lines one after the other; the positions of those that were not there.

        A line that was the last one used of its set changes nothing, whatever is replaced: those
        are sorted out for all at once, and only the others are looked up.
        """
        positions = self._changing(lines)
        missing = []
        sets, mask, ways = self._sets, self._mask, self._ways
        for position, line in zip(positions.tolist(), lines[positions].tolist(), strict=True):
            held = sets[line & mask]
            if line in held:
                if self._renews:
                    del held[line]
                    held[line] = None
                continue
            missing.append(position)
            if len(held) >= ways:
                del held[self._any(held) if self._is_random else next(iter(held))]
            held[line] = None
        return np.array(missing, np.int64)

    def _changing(self, lines: Ints) -> Ints:
        if len(lines) == 0:
            return np.zeros(0, np.int64)
        order = np.arange(len(lines))
        if self._mask:
            # Numbers of 16 bits are sorted by their digits, which is a lot faster.
            sets = (lines & self._mask).astype(np.uint16 if self._mask < 1 << 16 else np.int64)
            order = np.argsort(sets, kind="stable")
        sorted_lines = lines[order]
        changes = np.ones(len(lines), bool)
        changes[1:] = sorted_lines[1:] != sorted_lines[:-1]
        return np.sort(order[changes])

    def _any(self, lines: dict[int, None]) -> int:
        # Xorshift: the same in every run, without the patterns of a counter.
        self._state ^= (self._state << 13) & 0xFFFFFFFF
        self._state ^= self._state >> 17
        self._state ^= (self._state << 5) & 0xFFFFFFFF
        return list(lines)[self._state % len(lines)]
