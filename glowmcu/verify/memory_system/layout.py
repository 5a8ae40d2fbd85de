"""Which region of a board stands behind which addresses of the program that is replayed."""

from __future__ import annotations

from collections.abc import Iterable

from glowmcu.board.memory_timing import MemoryTiming
from glowmcu.lazy_dataclass import dataclass

PAGE_BYTES = 4096


@dataclass(frozen=True)
class Span:
    """Addresses from `first` to before `end`, both multiples of a page, in the board's `region`."""

    first: int
    end: int
    region: str


@dataclass(frozen=True)
class MemoryLayout:
    """The first span that holds an address has it; addresses in none of them never wait."""

    spans: tuple[Span, ...]

    def __post_init__(self) -> None:
        assert all((span.first | span.end) % PAGE_BYTES == 0 for span in self.spans)

    def region_at(self, address: int) -> str | None:
        """The region of an address."""
        return next((s.region for s in self.spans if s.first <= address < s.end), None)

    def that_wait(self, timings: Iterable[MemoryTiming]) -> tuple[Span, ...]:
        """The spans whose accesses have to be replayed: slow in one of the timings."""
        slow = {memory.region for timing in timings for memory in timing.memories}
        return tuple(span for span in self.spans if span.region in slow)
