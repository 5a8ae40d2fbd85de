"""Count which basic block follows which, separately for each step: all that costing needs.

Counting edges instead of instructions keeps the callback short: one per executed block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.cortex_m.costs import Flash
from glowmcu.verify.cortex_m.machine import RETURN_ADDRESS, Machine
from glowmcu.verify.cortex_m.places import LOOKED_AT, Found, PlaceLearner
from glowmcu.verify.memory_system import Trace

EdgeTable = dict[tuple[int | None, int], int]
BeginTrace = Callable[[dict[int, int]], Trace]
"""Makes the trace of a run whose blocks have these sizes, as far as they are known by then."""


@dataclass
class Counts:
    """`edges[step][previous, block]` = how often `block` ran after `previous`.

    `step` is the one that ran when the block was entered (None before the first), `previous` None
    at the start; blocks are known by address. `sizes`: bytes of each block.
    `read_waits[step][block]` = cycles that the block waited for data from another line of flash
    than the last read's; empty unless asked for. `places`: where accesses went, where learnt.
    `trace` is what a board's memories are replayed from, if that was asked for.
    """

    edges: dict[int | None, EdgeTable] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    read_waits: dict[int | None, dict[int, int]] = field(default_factory=dict)
    trace: Trace | None = None
    places: Found = field(default_factory=dict)


class EdgeCounter:
    """Attaches to a machine once; `begin` gives the counts of a run, `end` completes them.

    With a `flash` that waits, reads of data from it are counted too, which makes a run several
    times slower. A `learner` looks at the first entries of each block. With `begin_trace` blocks
    and steps are told to a trace; who makes it tells reads.
    """

    def __init__(
        self,
        machine: Machine,
        flash: Flash | None = None,
        learner: PlaceLearner | None = None,
        begin_trace: BeginTrace | None = None,
    ) -> None:
        counts = Counts()
        table: EdgeTable = {}
        reads: dict[int, int] = {}
        previous: int | None = None
        last_line: int | None = None
        trace: Trace | None = None

        def begin() -> Counts:
            nonlocal counts, table, reads, previous, last_line, trace
            counts, previous, last_line = _counts(learner, begin_trace), None, None
            trace = counts.trace
            table = counts.edges.setdefault(None, {})
            reads = counts.read_waits.setdefault(None, {})
            return counts

        def enter_step(step: int) -> None:
            nonlocal table, reads
            table = counts.edges.setdefault(step, {})
            reads = counts.read_waits.setdefault(step, {})
            if trace is not None:
                trace.begin_step(step)

        def read(_uc: Any, _kind: int, address: int, size: int, _value: int, _data: Any) -> None:
            nonlocal last_line
            assert flash is not None and previous is not None
            first, last = address // flash.line_bytes, (address + size - 1) // flash.line_bytes
            lines = (first != last_line) + (last != first)
            last_line = last
            waits = lines * flash.waits_at(address)
            if waits:
                reads[previous] = reads.get(previous, 0) + waits

        def count(_uc: Any, address: int, size: int, _data: Any) -> None:
            nonlocal previous
            edge = (previous, address)
            times = table[edge] = table.get(edge, 0) + 1
            if times - 1 in LOOKED_AT:
                counts.sizes[address] = size
                if learner is not None and size:
                    learner.look(edge, size)
            previous = address
            if trace is not None:
                trace.begin_block(address)

        def end() -> None:
            count(None, RETURN_ADDRESS, 0, None)

        self.begin = begin
        self.end = end
        machine.on_step = enter_step
        machine.add_block_hook(count)
        if flash is not None and flash.waits:
            machine.add_flash_read_hook(read)


def _counts(learner: PlaceLearner | None, begin_trace: BeginTrace | None) -> Counts:
    """Of a run that begins."""
    counts = Counts()
    if learner is not None:
        counts.places = learner.begin()
    if begin_trace is not None:
        counts.trace = begin_trace(counts.sizes)
    return counts
