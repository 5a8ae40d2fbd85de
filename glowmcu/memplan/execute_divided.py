"""A run that two cores share, executed turn by turn, in the order of cores that is asked for.

A turn computes its rows from those rows that it reads, all others garbage. What it writes, and its
scratch, is garbage before it reads, but for operands that its kernel promises to read in time.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.division import Division, Turn, accesses, input_part, meet, unit_bytes
from glowmcu.ir.graph import Graph
from glowmcu.ir.program import Buffer, Run
from glowmcu.memplan.byte_arena import GARBAGE, ByteArena
from glowmcu.memplan.execute_rows import Rows, result_from_rows


def execute_divided(run: Run, arena: ByteArena, graph: Graph, order: tuple[int, int]) -> None:
    """All phases of the run; `order`: whose turns come first in each."""
    assert run.division is not None
    for phase in run.division.phases:
        for core in order:
            for turn in phase[core]:
                _take(run, run.division, turn, core, arena, graph)


def _take(
    run: Run, division: Division, turn: Turn, core: int, arena: ByteArena, graph: Graph
) -> None:
    def start(buffer: Buffer) -> int | None:
        return None if arena.is_constant(buffer) else arena.start(buffer)

    found = accesses(run, division, turn, core, start)
    target, *scratch = found.writes
    if not turn.computes:
        low, high = found.reads[0]
        arena.store(target[0], arena.load(low, high - low))
        return
    promised = division.overlaps.get((turn.first, turn.end), {})
    given = {}
    for reads_first in (True, False):
        for number, (buffer, position) in enumerate(zip(run.inputs, run.positions, strict=True)):
            part = input_part(division, number, buffer.size_bytes, turn)
            at = arena.start(buffer)
            span = at + part[0], at + part[1]
            keeps = position in promised and promised[position].is_kept(span[0] - target[0])
            if reads_first == (meet(span, target) and keeps):
                given[position] = _rows(run, division, number, part, arena)
        if reads_first:
            for low, high in (target, *scratch):
                arena.store(low, bytes([GARBAGE]) * (high - low))
    result = result_from_rows(run.node, graph, given)
    size = unit_bytes(run, division)
    data = np.ascontiguousarray(result).tobytes()
    arena.store(target[0], data[turn.first * size : turn.end * size])


def _rows(
    run: Run, division: Division, number: int, part: tuple[int, int], arena: ByteArena
) -> Rows:
    """An operand's rows, or all of it as what it has along its second axis."""
    buffer, rule = run.inputs[number], division.rules[number]
    low, high = part
    data = arena.load(arena.start(buffer) + low, high - low)
    if rule is None:
        return Rows(0, buffer.type.shape[1], data)
    pitch = buffer.size_bytes // rule.rows
    return Rows(low // pitch, high // pitch, data)
