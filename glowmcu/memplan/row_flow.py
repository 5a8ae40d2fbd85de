"""Rows flowing through a segment of runs: who takes turns when, and how many rows must be kept.

Turns are taken by demand: a stage that needs a row asks its producer, a row at a time, so rows are
made as late as possible. From the order of turns follow the rows that each ring needs and how far
below an input the result may start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from glowmcu.ir.instructions import Buffer, Run
from glowmcu.ir.kernel_code import RowCall, RowRule, RowSupport


def support_of(run: Run) -> RowSupport:
    """How the run goes row by row; it must be able to."""
    assert run.rows is not None, f"{run.node.name!r} computes whole tensors only"
    return run.rows


@dataclass(frozen=True, eq=False)
class FlowStage:
    """Runs that take their turns together; the results of all but the last are single rows.

    Or no runs: the rows of `source` come from the application.
    """

    runs: tuple[Run, ...]
    source: Buffer | None = None

    @property
    def result(self) -> Buffer:
        return self.runs[-1].outputs[0] if self.source is None else self.source

    @property
    def turns(self) -> int:
        """How often it can have its turn."""
        if self.source is not None:
            return self.source.type.shape[1]
        return support_of(self.runs[0]).turns

    @property
    def accumulates(self) -> bool:
        return self.source is None and support_of(self.runs[-1]).call is RowCall.ACCUMULATE

    @cached_property
    def needs(self) -> tuple[tuple[Buffer, RowRule], ...]:
        """Operands from outside, those of the last run first: they are kept for it in any case."""
        own = {run.outputs[0] for run in self.runs}
        return tuple(
            (buffer, rule)
            for run in reversed(self.runs)
            for buffer, rule in zip(run.inputs, support_of(run).rules, strict=True)
            if buffer not in own
        )


@dataclass(frozen=True, eq=False)
class Flow:
    """Stages in the order of their runs, the last one makes the result of the segment."""

    stages: tuple[FlowStage, ...]

    @cached_property
    def producers(self) -> Mapping[Buffer, int]:
        """What stages make, to the stage."""
        return {stage.result: index for index, stage in enumerate(self.stages)}

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Whose turn it is, until the last stage is done."""
        made = [0] * len(self.stages)
        order: list[int] = []

        def turn(index: int) -> None:
            y = made[index]
            for buffer, rule in self.stages[index].needs:
                producer = self.producers.get(buffer)
                while producer is not None and made[producer] < rule.end(y):
                    turn(producer)
            order.append(index)
            made[index] += 1

        while made[-1] < self.stages[-1].turns:
            turn(len(self.stages) - 1)
        return tuple(order)

    @cached_property
    def _last_reads(self) -> dict[Buffer, list[int]]:
        """For each buffer that is read: the last turn that reads row i, or -1."""
        reads: dict[Buffer, list[int]] = {}
        made = [0] * len(self.stages)
        for time, index in enumerate(self.order):
            y = made[index]
            made[index] += 1
            for buffer, rule in self.stages[index].needs:
                last = reads.setdefault(buffer, [-1] * rule.rows)
                for row in range(rule.first(y), rule.end(y)):
                    last[row] = time
        return reads

    @cached_property
    def _births(self) -> list[list[int]]:
        births: list[list[int]] = [[] for _ in self.stages]
        for time, index in enumerate(self.order):
            births[index].append(time)
        return births

    def birth(self, index: int) -> int:
        """The first turn of stage `index`: from then on its buffers are in use."""
        return self._births[index][0]

    def unread_row(self, operand: Buffer, time: int) -> int:
        """The first row of an operand from outside that turns from `time` on read."""
        last = self._last_reads[operand]
        return next((row for row, read in enumerate(last) if read >= time), len(last))

    def ring_rows(self, index: int) -> int:
        """The rows that must exist at once of what stage `index` makes for others."""
        last = self._last_reads[self.stages[index].result]
        rows, oldest = 1, 0
        for row, time in enumerate(self._births[index]):
            while last[oldest] < time and oldest < row:
                oldest += 1
            rows = max(rows, row - oldest + 1)
        return rows

    def alive(self, index: int) -> npt.NDArray[np.bool_]:
        """For each turn, whether anything is there that stage `index` makes for others, or sums."""
        return self._alive[index]

    @cached_property
    def _alive(self) -> tuple[npt.NDArray[np.bool_], ...]:
        return tuple(map(self._alive_turns, range(len(self.stages))))

    def _alive_turns(self, index: int) -> npt.NDArray[np.bool_]:
        turns = np.zeros(len(self.order), np.bool_)
        births, stage = self._births[index], self.stages[index]
        last = self._last_reads.get(stage.result, [])
        ends = [max(last[row], time) if last else time for row, time in enumerate(births)]
        if stage.accumulates or (last and self.ring_rows(index) > 1):
            turns[births[0] : max(ends) + 1] = True
            return turns
        for first, end in zip(births, ends, strict=True):
            turns[first : end + 1] = True
        return turns

    def turns_of(self, index: int) -> npt.NDArray[np.bool_]:
        """For each turn, whether it is that of stage `index`."""
        return np.array([stage == index for stage in self.order], np.bool_)

    def written_rows(self, time: int) -> int:
        """Rows of the result that are written by the end of a turn; a sum is one, written last."""
        births = self._births[-1]
        if self.stages[-1].accumulates:
            return int(time >= births[-1])
        return sum(birth <= time for birth in births)

    def _last_needs(self, operand: Buffer) -> list[int]:
        """For each row of an operand the last turn of which a write must not hit it, or -1.

        What the last stage reads before its last run, it has read when that writes.
        """
        needs: list[int] = []
        made = [0] * len(self.stages)
        for time, index in enumerate(self.order):
            y = made[index]
            made[index] += 1
            stage = self.stages[index]
            for run in stage.runs:
                early = stage is self.stages[-1] and run is not stage.runs[-1]
                for buffer, rule in zip(run.inputs, support_of(run).rules, strict=True):
                    if buffer is operand:
                        needs = needs or [-1] * rule.rows
                        for row in range(rule.first(y), rule.end(y)):
                            needs[row] = max(needs[row], time - early)
        return needs

    def gap_bytes(self, operand: Buffer, row_bytes: int) -> int | None:
        """How far below `operand` the result may start: None if that would not save a byte.

        `row_bytes` is what each turn of the last stage adds to the result.
        """
        last = self._last_needs(operand)
        pitch = operand.size_bytes // len(last)
        read_first = [0] * (len(self.order) + 1)  # first row needed at or after a time
        unread = len(last)
        by_time: dict[int, int] = {}
        for row, time in enumerate(last):
            if time >= 0:
                by_time[time] = min(by_time.get(time, row), row)
        for time in range(len(self.order), -1, -1):
            unread = min(unread, by_time.get(time, unread))
            read_first[time] = unread
        gap = -operand.size_bytes
        final = self.stages[-1]
        for row, time in enumerate(self._births[-1]):
            if final.accumulates and row + 1 < final.turns:
                continue
            if read_first[time] < len(last):
                written = final.result.size_bytes if final.accumulates else (row + 1) * row_bytes
                gap = max(gap, written - read_first[time] * pitch)
        return gap if gap < self.stages[-1].result.size_bytes else None


def flow_of(runs: Sequence[Run], inner: Mapping[Buffer, int], source: Buffer | None = None) -> Flow:
    """Stages of a segment. `inner`: how many operands of the segment's runs each result inside is;
    `source`: an image whose rows come from the application.

    A run that reads the same row of a result which nobody else reads joins that result's stage,
    where there are several the one that needs the tallest window.
    """
    stages: list[list[Run]] = []
    for run in runs:
        support = support_of(run)
        hosts = [
            stage
            for stage in stages
            for buffer, rule in zip(run.inputs, support.rules, strict=True)
            if stage[-1].outputs[0] is buffer
            and inner.get(buffer) == 1
            and rule.is_same_row
            and support_of(stage[-1]).call is not RowCall.ACCUMULATE
        ]
        if support.call is not RowCall.ACCUMULATE and hosts:
            host = max(hosts, key=_window_rows)
            stages.remove(host)
            stages.append([*host, run])
        else:
            stages.append([run])
    sources = () if source is None else (FlowStage((), source),)
    return Flow((*sources, *(FlowStage(tuple(stage)) for stage in stages)))


def _window_rows(stage: Sequence[Run]) -> int:
    return max(rule.extent for run in stage for rule in support_of(run).rules)
