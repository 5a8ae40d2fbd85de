"""Which concatenations take their operands in place, if stages have rates: by the arena.

A queue whose new rows come behind the old ones saves copies, but leaves a hole beside the state
while other stages run, which their large buffers do not fit into. In a program of one rate the rows
beside a state are free when the peak comes or part of it; of several stages only one can have the
peak.
"""

from __future__ import annotations

from glowmcu.ir.program import Program
from glowmcu.memplan.instructions import insert_lifetimes
from glowmcu.memplan.offsets import place_buffers
from glowmcu.memplan.reuse_in_place import reuse_in_place
from glowmcu.memplan.schedule import schedule
from glowmcu.memplan.share_views import with_operands_in_place


def share_by_arena(program: Program) -> Program:
    """One concatenation after the other that needs no copy then, unless the arena grows."""
    least = _arena_bytes(program)
    for run in program.runs:
        shared = with_operands_in_place(program, run)
        if shared is None or len(shared.runs) == len(program.runs):
            continue
        size = _arena_bytes(shared)
        if size <= least:
            program, least = shared, size
    return program


def _arena_bytes(program: Program) -> int:
    ordered = reuse_in_place(schedule(program).program)
    return place_buffers(insert_lifetimes(ordered)).found.placement.arena_bytes
