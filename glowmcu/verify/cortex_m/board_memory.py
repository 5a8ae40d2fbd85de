"""A board's memories as a program on the modelled machine meets them: who is told of what it reads.

The machine has addresses of its own; a region of the board stands behind each. RAM whose reads
never wait is not hooked, so that it costs no time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glowmcu.board import Board, MemoryTiming
from glowmcu.manifest import Manifest
from glowmcu.verify.cortex_m.attribution import Accountant
from glowmcu.verify.cortex_m.machine import (
    ARENA_BASE,
    CODE_BASE,
    OUTSIDE_BASE,
    PLACED_BASE,
    SHOWN_BASE,
    STACK_TOP,
    Machine,
)
from glowmcu.verify.memory_system import MemoryLayout, Span, Trace

_OUTSIDE_END = 2 * OUTSIDE_BASE


def board_layout(
    board: Board, manifest: Manifest, placed: Mapping[str, tuple[int, int]]
) -> MemoryLayout:
    """Where a bundle that was built for the modelled machine would lie on the board; `placed` are
    the regions that code and weights were placed in.
    """
    usual = board.placement
    if usual is None:
        return MemoryLayout(())
    names = [region.name for region in board.memory]
    chosen = [entry.region for entry in manifest.placement if entry.what == "arena"]
    arena = next((name for name in chosen if name in names), usual.fast_data or usual.arena)
    return MemoryLayout(
        (
            Span(CODE_BASE, PLACED_BASE, usual.code),
            *(Span(first, end, region) for region, (first, end) in placed.items()),
            Span(ARENA_BASE, SHOWN_BASE, arena),
            Span(SHOWN_BASE, STACK_TOP, usual.data),
            Span(OUTSIDE_BASE, _OUTSIDE_END, usual.data),
        )
    )


class BoardMemory:
    """Attaches to a machine once; `begin` gives the trace of a run, with nothing in the caches."""

    def __init__(
        self,
        machine: Machine,
        accountant: Accountant,
        timings: tuple[MemoryTiming, ...],
        layout: MemoryLayout,
    ) -> None:
        trace = Trace((), layout, lambda _: (0, 0))

        def begin(sizes: dict[int, int]) -> Trace:
            nonlocal trace

            def cost(address: int) -> tuple[int, int]:
                return sizes[address], accountant.cycles_of(address, sizes[address])

            trace = Trace(timings, layout, cost)
            return trace

        def read(_uc: Any, _kind: int, address: int, size: int, _value: int, _data: Any) -> None:
            trace.record(address << 8 | size)

        def write(_uc: Any, _kind: int, address: int, size: int, _value: int, _data: Any) -> None:
            trace.write(address, size)

        self.begin = begin
        for span in layout.that_wait(timings):
            machine.add_span_hook(span.first, span.end, read)
            if span.first >= ARENA_BASE:
                machine.add_span_hook(span.first, span.end, write, writes=True)
