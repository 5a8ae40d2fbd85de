"""Rows flowing through a range of runs: who takes turns when, and how many rows must be kept.

Turns are taken by demand: a stage that needs a row asks its producer, a row at a time, so rows are
made as late as possible. From the order of turns follow the rows that each ring needs and how far
below an input the result may start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from glowmcu.ir.instructions import Buffer, Run
from glowmcu.ir.kernel_code import RowCall, RowRule, RowSupport
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memplan.flow_times import FlowTimes, Read, StageReads, first_needed, flow_times


def support_of(run: Run) -> RowSupport:
    """How the run goes row by row; it must be able to."""
    assert run.rows is not None, f"{run.node.name!r} computes whole tensors only"
    return run.rows


@dataclass(frozen=True, eq=False)
class FlowStage:
    """Runs that take their turns together; the results of all but the last are single rows.

    Or no runs: the rows of `streamed_input` come from the application.
    """

    runs: tuple[Run, ...]
    streamed_input: Buffer | None = None

    @property
    def result(self) -> Buffer:
        return self.runs[-1].outputs[0] if self.streamed_input is None else self.streamed_input

    @property
    def turns(self) -> int:
        """How often it can have its turn."""
        if self.streamed_input is not None:
            return self.streamed_input.type.shape[1]
        return support_of(self.runs[0]).turns

    @property
    def accumulates(self) -> bool:
        return self.streamed_input is None and support_of(self.runs[-1]).call is RowCall.ACCUMULATE

    @cached_property
    def needs(self) -> tuple[tuple[Buffer, RowRule, bool], ...]:
        """Operands from outside, those of the last run first: they are kept for it in any case.

        And whether they are read before the last run.
        """
        own = {run.outputs[0] for run in self.runs}
        return tuple(
            (buffer, rule, run is not self.runs[-1])
            for run in reversed(self.runs)
            for buffer, rule in zip(run.inputs, support_of(run).rules, strict=True)
            if buffer not in own
        )


@dataclass(frozen=True, eq=False)
class Flow:
    """Stages in the order of their runs, the last one makes the result of the range."""

    stages: tuple[FlowStage, ...]

    @cached_property
    def _numbers(self) -> dict[Buffer, int]:
        """Stages by what they make; operands from outside count down from -1."""
        numbers = {stage.result: index for index, stage in enumerate(self.stages)}
        for stage in self.stages:
            for buffer, _, _ in stage.needs:
                numbers.setdefault(buffer, len(self.stages) - 1 - len(numbers))
        return numbers

    @cached_property
    def times(self) -> FlowTimes:
        """Who takes turns when."""
        return flow_times(
            tuple(
                StageReads(
                    stage.turns,
                    stage.accumulates,
                    tuple(
                        Read(self._numbers[buffer], rule, early)
                        for buffer, rule, early in stage.needs
                    ),
                )
                for stage in self.stages
            )
        )

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Whose turn it is, until the last stage is done."""
        return tuple(self.times.order.tolist())

    def first_write(self, index: int) -> int:
        """The turn that writes the first row of stage `index`: its buffers live from then on."""
        return int(self.times.writes[index][0])

    def first_live_row(self, operand: Buffer, time: int) -> int:
        """The first row of an operand from outside that turns from `time` on read."""
        return int(first_needed(self.times.last_reads[self._numbers[operand]], time))

    def ring_rows(self, index: int) -> int:
        """The rows that must exist at once of what stage `index` makes for others."""
        return self.times.ring_rows[index]

    def alive(self, index: int) -> npt.NDArray[np.bool_]:
        """For each turn, whether anything is there that stage `index` makes for others, or sums."""
        return self.times.alive(index)

    def turns_of(self, index: int) -> npt.NDArray[np.bool_]:
        """For each turn, whether it is that of stage `index`."""
        return np.asarray(self.times.order == index, np.bool_)

    def written_rows(self, time: int) -> int:
        """Rows of the result that are written by the end of a turn; a sum is one, written last."""
        writes = self.times.writes[-1]
        if self.stages[-1].accumulates:
            return int(time >= writes[-1])
        return int(np.searchsorted(writes, time, "right"))

    def gap_bytes(self, operand: Buffer, row_bytes: int) -> int | None:
        """How far below `operand` the result may start: None if that would not save a byte.

        `row_bytes` is what each turn of the last stage adds to the result.
        """
        number, final = self._numbers[operand], self.stages[-1]
        rows, unread = len(self.times.last_needs[number]), self.times.first_unread[number]
        written = np.arange(1, len(unread) + 1) * row_bytes
        if final.accumulates:
            written, unread = np.array([final.result.size_bytes]), unread[-1:]
        pitch = operand.size_bytes // rows
        gaps = (written - unread * pitch)[unread < rows]
        gap = int(gaps.max(initial=-operand.size_bytes))
        return gap if gap < final.result.size_bytes else None


def flow_of(
    runs: Sequence[Run], inner: Mapping[Buffer, int], streamed_input: Buffer | None = None
) -> Flow:
    """Stages of a range of runs. `inner`: how many operands of these runs each result inside is;
    `streamed_input`: an image whose rows come from the application.

    A run that reads the same row of a result which nobody else reads joins that result's stage,
    where there are several the one that needs the tallest window.
    """
    stages: list[tuple[Run, ...]] = []
    hosts: dict[Buffer, tuple[Run, ...]] = {}
    for run in runs:
        support = support_of(run)
        if support.call is RowCall.ACCUMULATE:
            stages.append((run,))
            continue
        found = [
            hosts[buffer]
            for buffer, rule in zip(run.inputs, support.rules, strict=True)
            if buffer in hosts and inner.get(buffer) == 1 and rule.is_same_row
        ]
        host: tuple[Run, ...] = ()
        if found:
            host = max(sorted(found, key=stages.index), key=_window_rows)
            stages.remove(host)
        stage = (*host, run)
        stages.append(stage)
        hosts[run.outputs[0]] = stage
    sources = () if streamed_input is None else (FlowStage((), streamed_input),)
    return Flow((*sources, *map(FlowStage, stages)))


def _window_rows(stage: Sequence[Run]) -> int:
    return max(rule.extent for run in stage for rule in support_of(run).rules)
