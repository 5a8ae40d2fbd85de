"""Bytes alive at each step: what passes try to lower, and what no placement can go below."""

from __future__ import annotations

from glowmcu.ir.program import Cascade, Program, aligned
from glowmcu.ir.state_pieces import state_pieces


def live_bytes(program: Program) -> list[int]:
    """Bytes alive at steps -1 (before the run), 0, …, `len(steps)` (after it); roots rounded up."""
    changes = [0] * (len(program.steps) + 3)
    pieces = state_pieces(program)
    for buffer, whole in program.lives.items():
        for first, end, life in pieces.of(buffer, whole):
            size = aligned(end - first)
            changes[life.first + 1] += size
            changes[life.last + 2] -= size
    totals, total = [], 0
    for change in changes[:-1]:
        total += change
        totals.append(total)
    return totals


def peak_bytes(program: Program) -> int:
    """The most bytes that are alive at one time."""
    return max(live_bytes(program))


def peak_with_input(program: Program) -> int:
    """The same if the application wrote a streamed input as a whole, before the first step."""
    totals = live_bytes(program)
    if program.streamed_input is not None:
        whole = aligned(program.streamed_input.buffer.size_bytes)
        for step, item in enumerate(program.steps):
            totals[step] += whole
            if isinstance(item, Cascade) and item.input_stage is not None:
                ring = item.stages[item.input_stage].result
                totals[step + 1] += whole - aligned(ring.size_bytes)
                break
    return max(totals)
