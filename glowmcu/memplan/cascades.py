"""Which runs to stream row by row: the partition into layers and cascades with the least peak.

Every stretch of runs that hands on one tensor can be a cascade; what each would need is known from
its flow of rows (`row_flow.py`). The best partition follows by dynamic programming, and of those
within the bytes that are needed anyway (or the budget) the one that streams the least work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from glowmcu.ir.instructions import Buffer, ViewRole, aligned
from glowmcu.ir.kernel_code import Overlap, RowCall
from glowmcu.ir.program import Program
from glowmcu.memplan.liveness import live_bytes
from glowmcu.memplan.overlap import Relation, forbidden_differences, relations
from glowmcu.memplan.pushed_input import pushed_image, rows_do_not_last
from glowmcu.memplan.row_flow import Flow, FlowStage, flow_of, support_of

#: Longer cascades are not tried: planning takes the square of this.
MOST_RUNS = 40
#: Bytes of what cannot be.
NEVER = 1 << 62


@dataclass(frozen=True, eq=False)
class Segment:
    """Runs `first` to `last` of a program as a cascade. `overlap`: of the result with inputs.

    `source`: what the application pushes, if that comes here; `row_pitch`: from row to row of a
    result that is columns of a larger image, else 0.
    """

    first: int
    last: int
    flow: Flow
    inputs: tuple[Buffer, ...]
    result: Buffer
    inner: Mapping[Buffer, int]
    source: Buffer | None = None
    row_pitch: int = 0

    @cached_property
    def ring_rows(self) -> dict[Buffer, int]:
        """How many rows are kept of the results that other stages read."""
        stages = self.flow.stages
        return {stage.result: self.flow.ring_rows(index) for index, stage in enumerate(stages[:-1])}

    @cached_property
    def overlaps(self) -> dict[Buffer, Overlap]:
        """What the result may share with inputs that die here."""
        if self.row_pitch:
            return {}
        row_bytes = self.result.size_bytes // max(1, self.flow.stages[-1].turns)
        gaps = {buffer: self.flow.gap_bytes(buffer, row_bytes) for buffer in self.inputs}
        return {buffer: Overlap(gap) for buffer, gap in gaps.items() if gap is not None}

    @cached_property
    def local_bytes(self) -> int:
        """About what rings, accumulators, single rows and scratch take."""
        total = 0
        for buffer, rows in self.ring_rows.items():
            total += aligned(rows * row_bytes_of(buffer))
        return (
            total
            + sum(map(_kept_bytes, self.flow.stages))
            + max(map(_passing_bytes, self.flow.stages))
        )

    @cached_property
    def own_bytes(self) -> int:
        """The most bytes that are there in a turn, of stages and of the result so far."""
        flow, final = self.flow, self.flow.stages[-1]
        total = np.zeros(len(flow.order), np.int64)
        for index, stage in enumerate(flow.stages):
            total += flow.alive(index) * self.stage_bytes(index)
            total += flow.turns_of(index) * _passing_bytes(stage)
        if not final.accumulates:
            made = np.cumsum(flow.turns_of(len(flow.stages) - 1))
            total += made * (aligned(self.result.size_bytes) // final.turns)
        return int(total.max())

    def stage_bytes(self, index: int) -> int:
        """What a stage has from its first turn on: its ring, or sums and their result."""
        stage = self.flow.stages[index]
        rows = self.ring_rows.get(stage.result, 0)
        return aligned(rows * row_bytes_of(stage.result)) + _kept_bytes(stage)

    @property
    def streamed_work(self) -> int:
        """Multiply-accumulates, and a little for every run: what a choice tries to keep whole."""
        return sum(run.node.macs + 1 for stage in self.flow.stages for run in stage.runs)


def row_bytes_of(buffer: Buffer) -> int:
    """Bytes of a row of an image."""
    return buffer.size_bytes // max(1, buffer.type.shape[1])


def _kept_bytes(stage: FlowStage) -> int:
    """Accumulators, which outlive a turn; their result is there at the end, too."""
    if not stage.accumulates:
        return 0
    support = support_of(stage.runs[-1])
    return aligned(support.scratch_bytes) + aligned(stage.result.size_bytes)


def _passing_bytes(stage: FlowStage) -> int:
    """Single rows and scratch of a turn, at the fullest of its runs."""
    most = 0
    for index, run in enumerate(stage.runs):
        support = support_of(run)
        before = aligned(row_bytes_of(stage.runs[index - 1].outputs[0])) if index else 0
        after = aligned(row_bytes_of(run.outputs[0])) if run is not stage.runs[-1] else 0
        if index and after == 0 and 0 in support.overlaps:
            gap = support.overlaps[0].least_gap_bytes
            before = before if gap is None else min(before, max(0, aligned(gap)))
        scratch = 0 if support.call is RowCall.ACCUMULATE else aligned(support.scratch_bytes)
        most = max(most, before + after + scratch)
    return most


class Partition:
    """Finds the segments of a program whose results need not exist whole.

    Raises GM404 for a pushed input whose rows no run can take as they come.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.runs = program.runs
        self.source = None if program.pushed is None else pushed_image(program)
        self.live = live_bytes(program)[1:-1]
        self.relations: dict[int, list[Relation]] = {}
        for item in relations(program):
            step = program.lives[item.result].first
            self.relations.setdefault(step, []).append(item)
        self.readers: dict[Buffer, list[int]] = {}
        for index, run in enumerate(self.runs):
            for buffer in run.inputs:
                self.readers.setdefault(buffer, []).append(index)
        self.makers = {run.outputs[0]: index for index, run in enumerate(self.runs)}
        self.columns = {
            view.buffer: view for view in program.views.values() if view.role is ViewRole.COLUMNS
        }
        for view in self.columns.values():
            made = self.makers[view.buffer]
            self.makers[view.base] = max(made, self.makers.get(view.base, made))
        self.viewed = {
            view.base for view in program.views.values() if view.role is not ViewRole.OVERWRITE
        }

    def layer_bytes(self, step: int) -> int:
        """What is alive while one run computes its whole result; no run reads a source whole, nor
        makes columns.
        """
        if self.source in self.runs[step].inputs or self.runs[step].outputs[0] in self.columns:
            return NEVER
        saved = sum(item.most_shared_bytes for item in self.relations.get(step, ()))
        return self.live[step] - min(saved, aligned(self.runs[step].outputs[0].size_bytes))

    @cached_property
    def least_peak_bytes(self) -> int:
        """The bytes that are alive at once in the best partition; NEVER without any."""
        count = len(self.runs)
        peaks = [0] + [NEVER] * count
        for end in range(1, count + 1):
            for start, cost, _ in self._ways(end, self._segments):
                peaks[end] = min(peaks[end], max(peaks[start], cost))
        return peaks[count]

    def rest_peak_bytes(self, first: int) -> int:
        """The same from run `first` on, whatever comes before."""
        count = len(self.runs)
        peaks = [NEVER] * count + [0]
        for end in range(count, first, -1):
            for start, cost, _ in self._ways(end, self._segments):
                peaks[start] = min(peaks[start], max(peaks[end], cost))
        return peaks[first]

    def best(self, budget: int | None = None) -> list[Segment]:
        """The cascades of the partition with the least peak, or with the least streamed work
        within the budget where that is more. Raises GM404 as the constructor does.
        """
        count, segments = len(self.runs), self._segments
        if self.least_peak_bytes >= NEVER:
            assert self.source is not None
            raise rows_do_not_last(self.program, self.readers[self.source])
        limit = max(self.least_peak_bytes, budget or 0)
        work: list[tuple[int, int, Segment | None, int]] = [(0, 0, None, 0)]
        for end in range(1, count + 1):
            options = [
                (
                    work[start][0] + (segment.streamed_work if segment else 0),
                    max(work[start][1], cost),
                    segment,
                    start,
                )
                for start, cost, segment in self._ways(end, segments)
                if cost <= limit and work[start][0] < NEVER
            ]
            best = min(options, key=lambda item: item[:2], default=(NEVER, 0, None, 0))
            work.append(best)
        chosen: list[Segment] = []
        end = count
        while end > 0:
            _, _, segment, start = work[end]
            if segment is not None:
                chosen.append(segment)
            end = start
        return chosen[::-1]

    def _ways(
        self, end: int, segments: Mapping[int, list[tuple[Segment, int]]]
    ) -> list[tuple[int, int, Segment | None]]:
        ways: list[tuple[int, int, Segment | None]] = [(end - 1, self.layer_bytes(end - 1), None)]
        ways += [(segment.first, cost, segment) for segment, cost in segments.get(end - 1, ())]
        return ways

    @cached_property
    def _segments(self) -> dict[int, list[tuple[Segment, int]]]:
        """By last run: the segments that need less than their fullest layer, or take a source."""
        found: dict[int, list[tuple[Segment, int]]] = {}
        for first in range(len(self.runs)):
            worst = 0
            for last in range(first, min(len(self.runs), first + MOST_RUNS)):
                if self.runs[last].rows is None:
                    break
                worst = max(worst, self.layer_bytes(last))
                takes_source = self.source in self.runs[first].inputs
                segment = self.segment(first, last) if last > first or takes_source else None
                if segment is None:
                    continue
                cost = self.segment_bytes(segment)
                if cost < worst:
                    found.setdefault(last, []).append((segment, cost))
        return found

    def segment(self, first: int, last: int) -> Segment | None:
        """The runs as a cascade, if they make one tensor for others and know of nothing else.

        All or none of them read what is pushed.
        """
        runs = self.runs[first : last + 1]
        result, inner = runs[-1].outputs[0], self._inner(first, last)
        if inner is None or result in inner:
            return None
        if self._is_part(result) or len(result.type.shape) != 4:
            return None
        operands = [buffer for run in runs for buffer in run.inputs]
        outside = [buffer for buffer in dict.fromkeys(operands) if buffer not in inner]
        source = self.source if self.source in outside else None
        if source is not None:
            outside.remove(source)
            if self.readers[source][0] < first or self.readers[source][-1] > last:
                return None
        if any(self.program.root(buffer)[0].data is not None for buffer in outside):
            return None
        if any(self.makers.get(buffer, -1) >= first for buffer in outside):
            return None
        flow = flow_of(runs, inner, source)
        if any(stage.result not in (*inner, source) for stage in flow.stages[:-1]):
            return None
        if any(stage.accumulates for stage in flow.stages[:-1]):
            return None
        view = self.columns.get(result)
        pitch = view.row_pitch if view is not None else 0
        return Segment(first, last, flow, tuple(outside), result, inner, source, pitch)

    def _inner(self, first: int, last: int) -> dict[Buffer, int] | None:
        """Results of all runs but the last, and how often they are read, if by these runs alone."""
        inner: dict[Buffer, int] = {}
        for run in self.runs[first:last]:
            buffer = run.outputs[0]
            readers = self.readers.get(buffer, [])
            if not readers or readers[-1] > last or buffer in self.program.lasting:
                return None
            if buffer in self.viewed or self._is_part(buffer):
                return None
            inner[buffer] = len(readers)
        return inner

    def _is_part(self, buffer: Buffer) -> bool:
        """Whether the buffer is a piece of another one, which is more than computed in place."""
        view = self.program.views.get(buffer)
        return view is not None and view.role in (ViewRole.SLICE, ViewRole.PART)

    def _dead_bytes(self, segment: Segment) -> int:
        """Bytes of the input that what comes late can take: at most at the turn that is worst."""
        flow, final = segment.flow, segment.flow.stages[-1]
        if len(segment.inputs) != 1 or not final.accumulates:
            return 0
        (operand,) = segment.inputs
        root = self.program.root(operand)[0]
        if not root.in_arena or root.size_bytes != operand.size_bytes:
            return 0
        if self.program.lives[root].last > segment.last:
            return 0
        rows, pitch = operand.type.shape[1], row_bytes_of(operand)
        needs = sorted(
            (flow.birth(index), segment.stage_bytes(index)) for index in range(len(flow.stages))
        )
        worst, total = 0, 0
        for birth, size in needs:
            total += size
            worst = max(worst, total + (rows - flow.unread_row(operand, birth)) * pitch)
        return max(0, total + operand.size_bytes - worst)

    def segment_bytes(self, segment: Segment) -> int:
        """What is alive while the cascade runs."""
        own = {*segment.inner, *(() if segment.row_pitch else (segment.result,))}
        if segment.source is not None:
            own.add(segment.source)
        roots = {self.program.root(buffer)[0] for buffer in own} - {
            self.program.root(buffer)[0] for buffer in segment.inputs
        }
        scratch = {run.scratch for run in self.runs[segment.first : segment.last + 1]}
        steps = segment.first, segment.last
        whole = sum(
            aligned(buffer.size_bytes)
            for buffer, life in self.program.lives.items()
            if life.first <= steps[1]
            and life.last >= steps[0]
            and buffer not in roots
            and buffer not in scratch
        )
        local = segment.local_bytes - self._dead_bytes(segment)
        if segment.row_pitch:
            return whole + local  # the result is counted as a part of what it is columns of
        return whole + min(self._result_bytes(segment) + local, segment.own_bytes)

    def _result_bytes(self, segment: Segment) -> int:
        """What the result takes beside the inputs, where they can share bytes."""
        if segment.flow.stages[-1].accumulates or segment.row_pitch:
            return 0  # counted with the accumulators, or with the whole image
        size = aligned(segment.result.size_bytes)
        best = size
        for buffer, rule in segment.overlaps.items():
            root = self.program.root(buffer)[0]
            if not root.in_arena or root.size_bytes != buffer.size_bytes:
                continue
            if self.program.lives[root].last > segment.last or buffer in self.program.lasting:
                continue
            intervals = forbidden_differences(rule, size, root.size_bytes)
            relation = Relation(root, segment.result, intervals)
            best = min(best, size - relation.most_shared_bytes)
        return best
