"""The arena: where every buffer lies. Each pass says what it saved."""

from __future__ import annotations

from dataclasses import dataclass

from glowmcu.ir.program import Buffer, Program

#: Every buffer starts on a multiple of this, so that kernels may load words.
BUFFER_ALIGN = 4
#: What the caller's arena must be aligned to: enough for int64 and for Helium loads.
ARENA_ALIGN = 16


@dataclass(frozen=True)
class Plan:
    """A program with offsets; `lower_bound_bytes` is what no placement can go below."""

    program: Program
    arena_bytes: int
    lower_bound_bytes: int

    @property
    def optimal(self) -> bool:
        return self.arena_bytes == self.lower_bound_bytes


def aligned(size_bytes: int, align: int = BUFFER_ALIGN) -> int:
    """The next multiple of `align`."""
    return -(-size_bytes // align) * align


def live_bytes(program: Program) -> list[int]:
    """Bytes alive at each step; the maximum is the lower bound of any arena."""
    steps = len(program.runs)
    totals = [0] * (steps + 2)
    for buffer, life in program.lives.items():
        for step in range(life.first, life.last + 1):
            totals[step + 1] += aligned(buffer.size_bytes)
    return totals


def place_buffers(program: Program) -> dict[Buffer, int]:
    """Greedy by size: the largest first, each at the lowest offset free over its whole life."""
    lives = program.lives
    placed: list[tuple[int, int, Buffer]] = []
    offsets: dict[Buffer, int] = {}
    for buffer in sorted(lives, key=lambda buffer: (-buffer.size_bytes, lives[buffer].first)):
        size, offset = aligned(buffer.size_bytes), 0
        for start, end, other in sorted(placed, key=lambda item: item[0]):
            if lives[buffer].overlaps(lives[other]) and start < offset + size and offset < end:
                offset = end
        placed.append((offset, offset + size, buffer))
        offsets[buffer] = offset
    return offsets


def plan_memory(program: Program) -> Plan:
    """Give every buffer its offset."""
    offsets = place_buffers(program)
    planned = program.with_offsets(offsets)
    arena = max((offset + aligned(b.size_bytes) for b, offset in offsets.items()), default=0)
    return Plan(planned, arena, max(live_bytes(program)))
