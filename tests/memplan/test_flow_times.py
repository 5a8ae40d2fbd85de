"""Times of rows on their way, against what their words say, turn by turn and row by row."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from glowmcu.ir.kernel_code import RowCall, RowRule, RowSupport
from glowmcu.ir.program import Run
from glowmcu.memplan.flow_times import FlowTimes, Read, StageReads, first_needed, flow_times
from glowmcu.memplan.row_flow import _window_rows
from tests.memplan.small_programs import Builder

SEEDS = pytest.mark.parametrize("seed", range(40))


def stages_of(seed: int) -> tuple[StageReads, ...]:
    """A chain with windows of all kinds, some of which reach back further than one stage, or read
    an operand from outside, too.
    """
    random = Random(seed)
    turns, stages = [random.randrange(4, 11)], list[StageReads]()
    for index in range(random.randrange(1, 5)):
        rows = turns[-1]
        stride, extent = random.choice([(1, 1), (1, 3), (2, 3), (2, 2), (1, 2), (3, 2)])
        before = random.randrange(extent)
        count = max(1, -(-rows // stride))
        reads = [Read(index - 1, RowRule(stride, before, extent, rows), random.random() < 0.3)]
        if index and random.random() < 0.5:
            back = random.choice([-2, -1, *range(index - 1)])
            known = turns[back + 1] if back >= 0 else turns[0]
            rule = RowRule(random.choice([1, 2]), 0, random.choice([1, 2]), known)
            reads.append(Read(back, rule, random.random() < 0.3))
        stages.append(StageReads(count, False, tuple(reads)))
        turns.append(count)
    if random.random() < 0.3:
        stages[-1] = StageReads(stages[-1].turns, True, stages[-1].reads)
    return tuple(stages)


def demanded(stages: tuple[StageReads, ...]) -> list[int]:
    """The order of turns when each stage asks for what it needs."""
    made = [0] * len(stages)

    def turns(index: int) -> Iterator[int]:
        for read in stages[index].reads:
            while read.operand >= 0 and made[read.operand] < read.rule.end(made[index]):
                yield from turns(read.operand)
        made[index] += 1
        yield index

    return [turn for _ in range(stages[-1].turns) for turn in turns(len(stages) - 1)]


def read_at(times: FlowTimes, early_before: bool) -> dict[int, dict[int, int]]:
    """By operand and row: the last turn that reads it, found by going through all turns."""
    found: dict[int, dict[int, int]] = {}
    count = [0] * len(times.stages)
    for time, index in enumerate(times.order.tolist()):
        for read in times.stages[index].reads:
            is_early = early_before and read.is_early and index == len(times.stages) - 1
            for row in range(read.rule.first(count[index]), read.rule.end(count[index])):
                known = found.setdefault(read.operand, {})
                known[row] = max(known.get(row, -1), time - is_early)
        count[index] += 1
    return found


@SEEDS
def test_rows_are_made_when_they_are_asked_for(seed: int) -> None:
    times = FlowTimes(stages_of(seed))
    assert times.order.tolist() == demanded(times.stages)
    for index, writes in enumerate(times.writes):
        assert writes.tolist() == [t for t, who in enumerate(times.order) if who == index]


@SEEDS
def test_the_last_turn_that_reads_a_row_is_known(seed: int) -> None:
    times = FlowTimes(stages_of(seed))
    for early, found in ((False, times.last_reads), (True, times.last_needs)):
        wanted = read_at(times, early)
        operands = {read.operand for stage in times.stages for read in stage.reads}
        assert set(found) == operands
        for operand, last in found.items():
            assert last.tolist() == [
                wanted.get(operand, {}).get(row, -1) for row in range(len(last))
            ]


@SEEDS
def test_a_ring_has_the_rows_that_exist_at_once(seed: int) -> None:
    times = FlowTimes(stages_of(seed))
    reads = read_at(times, False)
    for index, writes in enumerate(times.writes):
        most = 1
        for row, write in enumerate(writes.tolist()):
            needed = [i for i, last in reads.get(index, {}).items() if last >= write and i <= row]
            most = max(most, row - min(needed, default=row) + 1)
        assert times.ring_rows[index] == most


@SEEDS
def test_what_is_alive_is_so_from_its_turn_to_its_last_reader(seed: int) -> None:
    times = FlowTimes(stages_of(seed))
    reads, count = read_at(times, False), [0] * len(times.stages)
    ends = []
    for time, index in enumerate(times.order.tolist()):
        ends.append(max(time, reads.get(index, {}).get(count[index], -1)))
        count[index] += 1
    assert times.ends.tolist() == ends
    for index, writes in enumerate(times.writes):
        own = [(write, ends[write]) for write in writes.tolist()]
        if times.stages[index].accumulates or times.ring_rows[index] > 1:
            own = [(own[0][0], max(end for _, end in own))]
            assert times.spans[index] == own[0]
        else:
            assert times.spans[index] is None
        alive = [any(first <= t <= end for first, end in own) for t in range(len(times.order))]
        assert times.alive(index).tolist() == alive


@SEEDS
def test_the_most_bytes_are_those_of_the_fullest_turn(seed: int) -> None:
    times, random = FlowTimes(stages_of(seed)), np.random.default_rng(seed)
    kept, passing = random.integers(0, 50, (2, len(times.stages)))
    for made_bytes in (0, 7):
        totals, made = [], 0
        for time, index in enumerate(times.order.tolist()):
            made += index == len(times.stages) - 1
            there = sum(int(kept[stage]) for stage in range(len(kept)) if times.alive(stage)[time])
            totals.append(there + int(passing[index]) + made * made_bytes)
        before = kept.copy()
        assert times.most_bytes(kept, passing, made_bytes) == max(totals)
        assert np.array_equal(kept, before)


@SEEDS
def test_the_first_row_that_is_still_needed_is_known_at_every_write(seed: int) -> None:
    times = FlowTimes(stages_of(seed))
    needs = read_at(times, True)
    for operand, rows in times.first_unread.items():
        count = len(times.last_needs[operand])
        for write, row in zip(times.writes[-1].tolist(), rows.tolist(), strict=True):
            later = [i for i, last in needs.get(operand, {}).items() if last >= write]
            assert row == min(later, default=count)


def test_rows_before_one_that_is_needed_are_passed_over() -> None:
    last = np.array([3, -1, 5, 4, -1])
    assert first_needed(last, np.arange(7)).tolist() == [0, 0, 0, 0, 2, 2, 5]
    assert int(first_needed(last, 4)) == 2


def test_equal_flows_are_computed_once() -> None:
    assert flow_times(stages_of(3)) is flow_times(stages_of(3))
    assert flow_times(stages_of(3)) is not flow_times(stages_of(4))


@pytest.mark.parametrize("extents", [(1, 3), (3, 1), (5, 3, 1), (2,)])
def test_a_stage_needs_the_rows_of_its_tallest_window(extents: tuple[int, ...]) -> None:
    builder = Builder()
    x = builder.input(4)
    node = builder.graph(builder.mix(4, x)).nodes[0]
    runs = [
        Run(node, "k", (), (), rows=RowSupport(RowCall.RANGE, 4, (RowRule(1, 0, extent, 4),)))
        for extent in extents
    ]
    assert _window_rows(runs) == max(extents)
