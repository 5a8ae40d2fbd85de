"""Planned cascades become `Cascade` instructions on rings and single rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from glowmcu.ir.cascade import Cascade, RowRun, Stage
from glowmcu.ir.instructions import Buffer, Run, View, ViewRole, aligned
from glowmcu.ir.kernel_code import RowCall
from glowmcu.ir.program import Instruction, Program
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.memplan.overlap import Interval, forbidden_differences
from glowmcu.memplan.planned_cascades import PlannedCascade
from glowmcu.memplan.row_flow import support_of

#: For each turn of a cascade, whether something is there.
Turns = npt.NDArray[np.bool_]


def stream_rows(program: Program, cascades: Sequence[PlannedCascade]) -> Program:
    """The program with its planned cascades as instructions; results inside them are in place no
    more.
    """
    ends = {planned.last: planned for planned in cascades}
    inside = {run for item in cascades for run in program.runs[item.first : item.last + 1]}
    own = {buffer for item in cascades for buffer in (*item.inner, item.result)}
    own |= {item.streamed_input for item in cascades if item.streamed_input is not None}
    instructions: list[Instruction] = []
    index = -1
    for item in program.instructions:
        if isinstance(item, View) and item.buffer in own and item.role is not ViewRole.COLUMNS:
            continue
        if isinstance(item, Run):
            index += 1
            if index in ends:
                instructions.append(cascade_of(ends[index]))
            if item in inside:
                continue
        instructions.append(item)
    return program.with_instructions(instructions)


def cascade_of(planned: PlannedCascade) -> Cascade:
    """The instruction, with buffers for everything that lives in it."""
    return _Builder(planned).cascade()


class _Builder:
    def __init__(self, planned: PlannedCascade) -> None:
        self.planned = planned
        self.rings: dict[Buffer, int] = {}
        self.local: dict[Buffer, Buffer] = {}
        for number, stage in enumerate(planned.flow.stages):
            for run in stage.runs[:-1]:
                self.local[run.outputs[0]] = _rows_of(run.outputs[0], 1, "row")
            if stage.result is not planned.result:
                rows = planned.ring_rows[stage.result]
                ring = _rows_of(stage.result, rows, "rows")
                self.local[stage.result] = ring
                self.rings[ring] = number
        self.forbidden_offsets: dict[tuple[Buffer, Buffer], tuple[Interval, ...]] = {}

    def cascade(self) -> Cascade:
        stages = tuple(
            Stage(
                tuple(map(self._row_run, stage.runs)),
                stage.turns,
                None if stage.streamed_input is None else self.local[stage.streamed_input],
            )
            for stage in self.planned.flow.stages
        )
        self._separate(stages)
        for number, stage in enumerate(stages):
            self._relate(stage)
            self._follow(number, stage)
        return Cascade(
            stages,
            self.planned.flow.order,
            self.planned.inputs,
            (self.planned.result,),
            self.rings,
            self.forbidden_offsets,
            self.planned.overlaps,
            self.planned.row_pitch,
        )

    def _separate(self, stages: Sequence[Stage]) -> None:
        """Buffers that are never there in one turn, and rows of the result that come later."""
        flow, result = self.planned.flow, self.planned.result
        lives: list[tuple[int, Buffer, Turns]] = []
        for number, stage in enumerate(stages):
            kept = [buffer for buffer in self._own(stage) if buffer in self.rings]
            kept += [stage.input_ring] if stage.input_ring is not None else []
            kept += [
                i.run.scratch for i in stage.runs if i.call is RowCall.ACCUMULATE and i.run.scratch
            ]
            lives += [(number, buffer, flow.alive(number)) for buffer in kept]
            lives += [(number, buffer, flow.turns_of(number)) for buffer in self._passing(stage)]
        for index, (number, buffer, turns) in enumerate(lives):
            for other_number, other, other_turns in lives[index + 1 :]:
                if number != other_number and not (turns & other_turns).any():
                    self.forbidden_offsets[buffer, other] = ()
            if self.planned.row_pitch:
                continue  # other strips' columns lie between the rows
            size = result.size_bytes
            rows = 1 if flow.stages[-1].accumulates else flow.stages[-1].turns
            written = aligned(flow.written_rows(int(turns.nonzero()[0][-1])) * (size // rows))
            if written < size:
                interval = -written, aligned(buffer.size_bytes)
                self.forbidden_offsets[buffer, result] = (interval,) if written else ()

    def _row_run(self, run: Run) -> RowRun:
        support = support_of(run)
        scratch = None
        if support.scratch_bytes:
            type_ = TensorType((support.scratch_bytes,), ElementType.I8)
            scratch = Buffer(f"{run.node.name}/scratch", type_)
        moved = replace(
            run,
            kernel=support.kernel or run.kernel,
            inputs=tuple(self.local.get(buffer, buffer) for buffer in run.inputs),
            outputs=tuple(self.local.get(buffer, buffer) for buffer in run.outputs),
            scratch=scratch,
            overlaps={},
        )
        return RowRun(moved, support.call, support.rules)

    def _passing(self, stage: Stage) -> Iterator[Buffer]:
        """Buffers that a stage needs during its own turn only."""
        for item in stage.runs:
            if item.run.outputs[0] is not stage.result:
                yield item.run.outputs[0]
            if item.run.scratch is not None and item.call is not RowCall.ACCUMULATE:
                yield item.run.scratch

    def _follow(self, number: int, stage: Stage) -> None:
        """Note how near to an input those buffers of a stage may be that are first written after
        some rows of the input were read for the last time.
        """
        flow = self.planned.flow
        for operand in self.planned.inputs:
            rows = operand.type.shape[1]
            unread = flow.first_live_row(operand, flow.first_write(number))
            start = unread * (operand.size_bytes // rows) if unread < rows else operand.size_bytes
            if start > 0:
                for buffer in self._own(stage):
                    interval = start - aligned(buffer.size_bytes), aligned(operand.size_bytes)
                    self.forbidden_offsets[operand, buffer] = (interval,) if unread < rows else ()

    def _own(self, stage: Stage) -> Iterator[Buffer]:
        """The buffers inside the cascade that a stage brings with it."""
        for item in stage.runs:
            if item.run.outputs[0] is not self.planned.result:
                yield item.run.outputs[0]
            if item.run.scratch is not None:
                yield item.run.scratch

    def _relate(self, stage: Stage) -> None:
        """Within a turn: rows that one kernel reads and writes, and what never meets."""
        runs = stage.runs
        lives: dict[Buffer, tuple[int, int]] = {}
        for index, item in enumerate(runs):
            if item.run.outputs[0] is not stage.result:
                lives[item.run.outputs[0]] = (index, index + 1)
            if item.run.scratch is not None and item.call is not RowCall.ACCUMULATE:
                lives[item.run.scratch] = (index, index)
        pairs = [(a, b) for a in lives for b in lives if a is not b]
        for a, b in pairs:
            if lives[a][1] < lives[b][0]:
                self.forbidden_offsets[a, b] = ()
        for index in range(1, len(runs)):
            self._overlap(runs[index - 1].run.outputs[0], runs[index])

    def _overlap(self, row: Buffer, item: RowRun) -> None:
        """A single row and the row that is made of it."""
        run, support = item.run, support_of(item.run)
        position = run.positions[run.inputs.index(row)]
        rule = support.overlaps.get(position)
        result = run.outputs[0]
        if rule is None or result is self.planned.result or run.inputs.count(row) > 1:
            return
        kept = result.type.shape[1] - 1
        row_bytes = result.size_bytes // (kept + 1)
        if kept and rule.least_gap_bytes is not None:
            rule = replace(rule, least_gap_bytes=max(0, rule.least_gap_bytes))
        low_high = forbidden_differences(rule, row_bytes, row.size_bytes)
        if kept == 0:
            self.forbidden_offsets[row, result] = low_high
            return
        # The newest row is the ring's last; those before it may not lie in `row` at all.
        before = kept * row_bytes
        shifted = [(low - before, high - before) for low, high in low_high]
        shifted.append((-before, aligned(row.size_bytes)))
        self.forbidden_offsets[row, result] = tuple(shifted)


def _rows_of(buffer: Buffer, rows: int, suffix: str) -> Buffer:
    shape = buffer.type.shape
    return Buffer(f"{buffer.name}/{suffix}", buffer.type.with_shape((shape[0], rows, *shape[2:])))
