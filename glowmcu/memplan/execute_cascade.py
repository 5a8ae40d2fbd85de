"""A cascade run in the arena, row by row, from the addresses of the plan.

A row is computed from the rows that its kernel reads and no others. Before they are read, what the
kernel writes is filled with garbage, but for operands that it promises to read in time. The scratch
of a kernel that accumulates holds a digest of the rows so far, which must still be there at the
next row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from glowmcu.ir.cascade import Cascade, RowRun, Stage
from glowmcu.ir.graph import Graph
from glowmcu.ir.instructions import Buffer
from glowmcu.ir.kernel_code import RowCall, RowRule
from glowmcu.memplan.byte_arena import GARBAGE, ByteArena
from glowmcu.memplan.execute_rows import Rows, result_from_rows, row_bytes_of

#: First byte and size.
_Span = tuple[int, int]


class CascadeExecution:
    """One run of a cascade; `run` leaves the result in the arena."""

    def __init__(self, cascade: Cascade, arena: ByteArena, graph: Graph) -> None:
        self.cascade = cascade
        self.arena = arena
        self.graph = graph
        self.made = [0] * len(cascade.stages)
        self.seen: dict[RowRun, bytes] = {}

    def run(self) -> None:
        for index in self.cascade.order:
            stage, y = self.cascade.stages[index], self.made[index]
            if stage.result in self.cascade.rings:
                self._slide(stage.result)
            if stage.input_ring is not None:
                start, size = self._result(stage, stage.input_ring, y)
                self.arena.store(start, self.arena.streamed_input[y * size : (y + 1) * size])
            for item in stage.runs:
                if item.call is RowCall.ACCUMULATE:
                    self._accumulate(item, y)
                else:
                    self._row(stage, item, y)
            self.made[index] += 1

    def _slide(self, ring: Buffer) -> None:
        """The oldest row goes; room for the newest is at the end."""
        start, row = self.arena.start(ring), ring.size_bytes // ring.type.shape[1]
        kept = self.arena.load(start + row, ring.size_bytes - row)
        self.arena.store(start, kept)
        self.arena.spoil_bytes(start + len(kept), row)

    def _row(self, stage: Stage, item: RowRun, y: int) -> None:
        run = item.run
        operands = [
            self._operand(buffer, rule, y)
            for buffer, rule in zip(run.inputs, item.rules, strict=True)
        ]
        start, size = self._result(stage, run.outputs[0], y)
        kept = [
            (span, self.arena.load(*span))
            for span, buffer, position in zip(operands, run.inputs, run.positions, strict=True)
            if self.arena.is_inside(buffer) and self._may_share(item, position, span[0] - start)
        ]
        self.arena.spoil_bytes(start, size)
        for (place, _), data in kept:
            self.arena.store(place, data)
        if run.scratch is not None:
            self.arena.spoil(run.scratch)
        result = result_from_rows(run.node, self.graph, self._load(item, operands, y))
        self.arena.store(start, row_bytes_of(result, y, y + 1))

    def _may_share(self, item: RowRun, position: int, gap: int) -> bool:
        """Whether the kernel reads this operand in time, its row `gap` bytes above the result's.

        Nothing is promised for results of the cascade: those keep clear of rows still to be read.
        """
        support = item.run.rows
        if support is None or item.run.outputs[0] in self.cascade.outputs:
            return False
        rule = support.overlaps.get(position)
        return rule is not None and rule.is_kept(gap)

    def _accumulate(self, item: RowRun, y: int) -> None:
        run = item.run
        (rule,), (position,) = item.rules, run.positions
        before = self.seen.get(item, b"")
        if run.scratch is not None:
            sums = self.arena.load(self.arena.start(run.scratch), run.scratch.size_bytes)
            if y > 0 and sums != _digest(before, len(sums)):
                before = bytes([GARBAGE]) * len(before)
            self.arena.spoil(run.scratch)
        is_last = y + 1 == rule.rows
        if is_last:
            self.arena.spoil(run.outputs[0])
        rows = before + self._load(item, [self._operand(run.inputs[0], rule, y)], y)[position].data
        self.seen[item] = rows
        if is_last:
            given = {position: Rows(0, rule.rows, rows)}
            self.arena.write(run.outputs[0], result_from_rows(run.node, self.graph, given))
        elif run.scratch is not None:
            size = run.scratch.size_bytes
            self.arena.store(self.arena.start(run.scratch), _digest(rows, size))

    def _load(self, item: RowRun, operands: list[_Span], y: int) -> Mapping[int, Rows]:
        return {
            position: Rows(rule.first(y), rule.end(y), self.arena.load(*span))
            for position, rule, span in zip(item.run.positions, item.rules, operands, strict=True)
        }

    def _operand(self, buffer: Buffer, rule: RowRule, y: int) -> _Span:
        """Where the rows under row y are, if the plan is right."""
        start, first, end = self.arena.start(buffer), rule.first(y), rule.end(y)
        if buffer in self.cascade.rings:
            rows = buffer.type.shape[1]
            pitch = buffer.size_bytes // rows
            made = self.made[self.cascade.rings[buffer]]
            return start + (rows - made + first) * pitch, (end - first) * pitch
        if buffer in self.cascade.inputs:
            pitch = buffer.size_bytes // rule.rows
            return start + first * pitch, (end - first) * pitch
        return start, buffer.size_bytes

    def _result(self, stage: Stage, result: Buffer, y: int) -> _Span:
        """Where row y goes."""
        start = self.arena.start(result)
        if result in self.cascade.outputs:
            place, row = self.cascade.result_row(stage, y)
            return start + place, row
        row = result.size_bytes // result.type.shape[1]
        return start + result.size_bytes - row, row


def _digest(rows: bytes, size: int) -> bytes:
    """`size` bytes that depend on all rows so far."""
    return hashlib.shake_128(rows).digest(size)
