"""When rows are made and last read in a flow: all that does not depend on how large rows are.

Turns are counted from 0 in the order in which they come. Flows of equal stages share their times.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from glowmcu.ir.kernel_code import RowRule
from glowmcu.lazy_dataclass import dataclass

Ints = npt.NDArray[np.int64]

#: Flows that are remembered: those of a large network's candidate ranges.
_MOST_FLOWS = 256


@dataclass(frozen=True)
class Read:
    """An operand, by the stage that makes it or a number below 0; `is_early`: before the last run
    of its stage.
    """

    operand: int
    rule: RowRule
    is_early: bool


@dataclass(frozen=True)
class StageReads:
    """The reads of a stage, in the order in which it asks for rows."""

    turns: int
    accumulates: bool
    reads: tuple[Read, ...]


@lru_cache(_MOST_FLOWS)
def flow_times(stages: tuple[StageReads, ...]) -> FlowTimes:
    """The times of a flow, computed once."""
    return FlowTimes(stages)


@lru_cache(_MOST_FLOWS)
def _last_readers(rule: RowRule, turns: int) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """For each row the last of `turns` turns that reads it, and whether any does."""
    starts = np.arange(turns) * rule.stride - rule.before
    firsts, ends = (np.clip(rows, 0, rule.rows) for rows in (starts, starts + rule.extent))
    rows = np.arange(rule.rows)
    found = np.searchsorted(firsts, rows, "right") - 1
    return found, (found >= 0) & (ends[found] > rows)


def first_needed(last: Ints, times: Ints | int) -> Ints:
    """The first row that is read at or after each time; `len(last)` if there is none."""
    return np.asarray(np.searchsorted(np.maximum.accumulate(last), times), np.int64)


class FlowTimes:
    """Turns by demand: a stage that needs a row asks its producer, a row at a time."""

    def __init__(self, stages: tuple[StageReads, ...]) -> None:
        self.stages = stages
        self.order = np.array(self._order(), np.int64)
        self.writes = [np.flatnonzero(self.order == index) for index in range(len(stages))]

    def _order(self) -> list[int]:
        """Whose turn it is, until the last stage is done."""
        made = [0] * len(self.stages)
        order: list[int] = []

        def turn(index: int) -> None:
            y = made[index]
            for read in self.stages[index].reads:
                if read.operand >= 0:
                    end = read.rule.end(y)
                    while made[read.operand] < end:
                        turn(read.operand)
            order.append(index)
            made[index] += 1

        for _ in range(self.stages[-1].turns):
            turn(len(self.stages) - 1)
        return order

    @cached_property
    def last_reads(self) -> dict[int, Ints]:
        """For each operand: the last turn that reads row i, or -1."""
        return self._last(count_early=False)

    @cached_property
    def last_needs(self) -> dict[int, Ints]:
        """The same of turns in which a write must not hit the row: what the last stage reads before
        its last run, it has read when that writes.
        """
        return self._last(count_early=True)

    def _last(self, count_early: bool) -> dict[int, Ints]:
        found: dict[int, Ints] = {}
        for index, stage in enumerate(self.stages):
            writes, is_final = self.writes[index], index == len(self.stages) - 1
            for read in stage.reads:
                turns, is_read = _last_readers(read.rule, len(writes))
                early = int(count_early and is_final and read.is_early)
                times = np.where(is_read, writes[turns] - early, -1)
                known = found.get(read.operand)
                found[read.operand] = times if known is None else np.maximum(known, times)
        return found

    @cached_property
    def ring_rows(self) -> tuple[int, ...]:
        """The rows that must exist at once of what each stage makes for others."""
        return tuple(map(self._ring_rows, range(len(self.stages))))

    def _ring_rows(self, index: int) -> int:
        last, writes = self.last_reads.get(index), self.writes[index]
        if last is None or len(writes) == 0:
            return 1
        rows = np.arange(len(writes))
        oldest = np.minimum(rows, first_needed(last, writes))
        return int((rows - oldest).max()) + 1

    @cached_property
    def ends(self) -> Ints:
        """For each turn the one that last reads the row that it makes; itself if none does."""
        ends = np.arange(len(self.order))
        for index, writes in enumerate(self.writes):
            last = self.last_reads.get(index)
            if last is not None:
                ends[writes] = np.maximum(last[: len(writes)], writes)
        return ends

    @cached_property
    def spans(self) -> tuple[tuple[int, int] | None, ...]:
        """First and last turn in which a stage's memory exists; None for one with a single row."""
        return tuple(
            (int(writes[0]), int(self.ends[writes].max()))
            if stage.accumulates or self.ring_rows[index] > 1
            else None
            for index, (stage, writes) in enumerate(zip(self.stages, self.writes, strict=True))
        )

    def alive(self, index: int) -> npt.NDArray[np.bool_]:
        """For each turn, whether anything is there that a stage makes for others, or sums."""
        turns = np.zeros(len(self.order), np.bool_)
        span = self.spans[index]
        writes = self.writes[index]
        pairs = [span] if span else list(zip(writes, self.ends[writes], strict=True))
        for first, end in pairs:
            turns[first : end + 1] = True
        return turns

    def most_bytes(self, kept: Ints, passing: Ints, made_bytes: int) -> int:
        """The most that is there in a turn: `kept` of stages while they are alive, `passing` in
        their turns, and `made_bytes` more with each turn of the last stage.
        """
        changes = np.zeros(len(self.order) + 1, np.int64)
        single = kept.copy()
        for index, span in enumerate(self.spans):
            if span is not None:
                changes[span[0]] += kept[index]
                changes[span[1] + 1] -= kept[index]
                single[index] = 0
        sizes = single[self.order]
        changes[:-1] += sizes
        np.subtract.at(changes, self.ends + 1, sizes)
        made = np.cumsum(self.order == len(self.stages) - 1) * made_bytes
        return int((np.cumsum(changes)[:-1] + passing[self.order] + made).max())

    @cached_property
    def first_unread(self) -> dict[int, Ints]:
        """For each operand the first row that is needed at or after each write of the result."""
        return {at: first_needed(last, self.writes[-1]) for at, last in self.last_needs.items()}
