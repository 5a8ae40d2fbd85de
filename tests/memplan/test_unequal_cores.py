"""A run divided between a quick and a slow core, of which one has caches to itself."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.small_networks import MODELS
from glowmcu.board import PlacementRequest, find_board
from glowmcu.compilation import Compilation, Options
from glowmcu.cores import core
from glowmcu.interface_options import InterfaceOptions
from glowmcu.ir.division import Place, Turn, lines_of, meet
from glowmcu.ir.graph import VerificationError
from glowmcu.ir.kernel_code import RowRule
from glowmcu.ir.program import Program, Run, aligned
from glowmcu.ir.verify_program import verify_program
from glowmcu.kernels.kernel import Target
from glowmcu.memory_fit import Partner
from glowmcu.memory_fit.partner import best_split
from glowmcu.memplan.divide_rows import Costs, Layout, Operand, best_phases, one_phase, share
from glowmcu.pipeline import compile_model
from tests.memplan.test_two_cores import check, with_run

LINE = 32


def options() -> Options:
    board = find_board("stm32h745")
    return Options(
        "m", board=board.name, core=board.core, interface=InterfaceOptions(cores=2),
        placement=PlacementRequest(board),
    )  # fmt: skip


@cache
def compiled(name: str) -> Compilation:
    return compile_model(MODELS[name](), "m.tflite", options())


def shared_runs(program: Program) -> list[Run]:
    return [run for run in program.runs if run.division is not None]


@pytest.mark.parametrize("slower", [1.0, 1.3, 2.0, 4.24, 7.0])
def test_the_slower_core_gets_as_many_units_as_it_does_in_that_time(slower: float) -> None:
    for units in range(1, 60):
        times = [max(first, (units - first) * slower) for first in range(units + 1)]
        assert times[share(units, slower)] == pytest.approx(min(times))


def test_equal_cores_get_halves() -> None:
    assert [share(units, 1.0) for units in range(1, 8)] == [1, 1, 2, 2, 3, 3, 4]


def test_costs_of_the_second_core_count_for_as_long_as_they_take() -> None:
    costs = Costs(unit=10.0, call=3.0, meeting=5.0, slower=4.0, shown=7.0)
    phase = (Turn(0, 8),), (Turn(8, 10),)
    assert costs.of_phase(phase) == 4.0 * (3 + 2 * 10)
    assert costs.of([phase]) == 7 + 2 * 5 + 4.0 * (3 + 2 * 10)


def layout(units: int, unit_bytes: int, slower: float, offset: int) -> Layout:
    return Layout(
        units, unit_bytes, (Operand(None, 4),), (None,), 0, slower, LINE, offset
    )  # fmt: skip


@pytest.mark.parametrize(("split", "offset"), [(3, 0), (4, 0), (3, 8), (4, 8), (8, 0)])
def test_a_split_that_is_given_holds_only_where_a_line_begins(split: int, offset: int) -> None:
    """Pieces that are layers of their own cannot meet elsewhere: such a layer stays whole."""
    given = replace(layout(12, 8, 4.0, offset), split=split)
    is_apart = (offset + 8 * split) % LINE == 0
    assert given.are_apart((0, split), (split, 12)) is is_apart
    assert (one_phase(given, lambda *_: True) is not None) is is_apart


@pytest.mark.parametrize("slower", [1.0, 4.0])
@pytest.mark.parametrize("offset", range(0, LINE, 4))
@pytest.mark.parametrize("unit_bytes", [4, 12, 20, 32, 36, 320])
def test_pieces_meet_where_a_line_begins_as_near_as_can_be(
    unit_bytes: int, offset: int, slower: float
) -> None:
    def time(split: int) -> float:
        return max(split, (25 - split) * slower)

    found = layout(25, unit_bytes, slower, offset)
    lines = [k for k in range(1, 25) if (offset + k * unit_bytes) % LINE == 0]
    # Where the quick core would wait for longer than it takes for all, it does all.
    useful = [k for k in lines if time(k) < 25]
    phases = one_phase(found, lambda *_: True)
    assert (phases is not None) == bool(useful)
    if phases is None:
        return
    (((first,), (second,)),) = phases
    assert (first.first, first.end, second.end) == (0, second.first, 25)
    assert first.end in useful
    assert time(first.end) == min(map(time, useful))


def test_a_result_may_begin_so_that_a_line_begins_with_the_best_piece() -> None:
    # Rows of 360 bytes are lines after four of them; five are better for a core four times slower.
    assert best_split(6, 360, 4.0, LINE) == 5
    assert best_split(25, 320, 4.0, LINE) == 20
    # Rows of 342 bytes begin with a word after each two.
    assert best_split(6, 342, 4.0, LINE) == 4
    # A line begins one row further, which takes hardly longer.
    assert best_split(1000, 16, 1.0, LINE) == 500
    assert best_split(998, 16, 1.0, LINE) in (498, 500)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """A window over rows, and a result that begins somewhere around the operand."""
    units, unit_bytes = draw(st.integers(2, 24)), draw(st.integers(1, 6))
    stride, extent = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    before = draw(st.integers(0, extent - 1))
    rows = max((units - 1) * stride - before + extent - draw(st.integers(0, extent - 1)), 1)
    operand = Operand(RowRule(stride, before, extent, rows), rows * draw(st.integers(1, 6)))
    gap = draw(st.integers(-units * unit_bytes, operand.size_bytes))
    slower = draw(st.sampled_from([1.0, 1.7, 4.0]))
    line = draw(st.sampled_from([1, 2, 4, 8]))
    return Layout(
        units, unit_bytes, (operand,), (gap,), 0, slower, line, draw(st.integers(0, line - 1))
    )


@settings(max_examples=300, deadline=None)
@given(layouts(), st.integers(0, 6), st.randoms())
def test_phases_give_every_row_and_no_line_is_written_by_both(
    found: Layout, stash: int, random: Random
) -> None:
    costs = Costs(100.0, 10.0, 5.0, slower=found.slower)
    phases = best_phases(found, lambda *_: True, stash, costs)
    if phases is None:
        return
    check(found, phases, random)
    for phase in phases:
        for places in ((Place.RESULT, Place.FROM_STASH), (Place.STASH,)):
            written = [
                [found.written(turn.first, turn.end) for turn in turns if turn.place in places]
                for turns in phase
            ]
            starts = [low for spans in written for low, _ in spans]
            # The stash begins with a line, a result where it does.
            origin = -min(starts, default=0) if places == (Place.STASH,) else found.line_offset
            lines = [
                [lines_of((low + origin, high + origin), found.line_bytes) for low, high in spans]
                for spans in written
            ]
            assert not any(meet(a, b) for a in lines[0] for b in lines[1])


@pytest.mark.parametrize("name", ["residual digits", "separable digits"])
def test_plans_keep_the_cores_lines_apart_and_the_quick_core_busy(name: str) -> None:
    made = compiled(name)
    program = made.plan.program
    assert program.line_bytes == LINE
    assert made.manifest.arena_bytes % LINE == 0
    assert made.manifest.arena_align == LINE
    assert program.meetings is not None
    assert program.meetings.size_bytes == 2 * LINE
    runs = shared_runs(program)
    assert runs
    for run in runs:
        assert run.division is not None
        for buffer in run.own_memory:
            assert program.offset(buffer) % LINE == 0
        turns = [turn for phase in run.division.phases for turn in phase[0] if turn.computes]
        assert sum(turn.end - turn.first for turn in turns) > run.division.units / 2


def refused(program: Program, arena_bytes: int) -> str:
    with pytest.raises(VerificationError) as caught:
        verify_program(program, arena_bytes)
    return str(caught.value)


def test_pieces_that_share_a_line_are_refused() -> None:
    made = compiled("separable digits")
    program, arena = made.plan.program, aligned(made.plan.arena_bytes, LINE)
    verify_program(program, arena)
    # The cores see the same memory, and nobody minds lines of it.
    verify_program(replace(program, line_bytes=1), arena)
    for run in shared_runs(program):
        assert run.division is not None
        if len(run.division.phases) == 1 and not run.division.codes:
            (((first,), (second,)),) = run.division.phases
            unit = run.outputs[0].size_bytes // run.division.units
            for less in range(1, first.end):
                phase = (Turn(0, first.end - less),), (Turn(first.end - less, second.end),)
                if less * unit % LINE:
                    other = replace(run, division=replace(run.division, phases=(phase,)))
                    told = refused(with_run(program, run, other), arena)
                    assert "both cores write to a line of 32 bytes" in told
                    return
    raise AssertionError("no layer has rows that end within a line")


def test_a_layer_is_shared_by_what_its_kernel_takes_on_either_core() -> None:
    made = compiled("separable digits")
    alone = Partner()
    other = Partner(core("cortex-m4"), 2.0, LINE)
    for run in shared_runs(made.plan.program):
        chosen = made.selections[run.node]
        assert chosen.site is not None
        assert chosen.target is not None
        assert alone.slower(chosen) == 1.0
        target = Target(core("cortex-m4"), chosen.target.goal)
        cost = chosen.kernel.calibrated_cost(chosen.site, target).cycles
        # Twice the clock, and code in the order that suits the first core.
        assert other.slower(chosen) == pytest.approx(2.2 * cost / chosen.cost.cycles)
        assert other.cycles_to_show(run) > alone.cycles_to_show(run) == 0.0


def test_channels_are_divided_by_the_speeds_of_the_cores(shared_dir: Path) -> None:
    model = (shared_dir / "models/ad_int8.tflite").read_bytes()
    made = compile_model(model, "ad.tflite", options())
    runs = [run for run in shared_runs(made.plan.program) if run.division and run.division.codes]
    assert len(runs) >= 8
    for run in runs:
        assert run.division is not None
        (((first,), (second,)),) = run.division.phases
        assert first.first == 0
        assert (first.end, second.end) == (second.first, run.division.units)
        assert first.end % 4 == 0
        units = run.division.units
        times = {at: max(at, 4.66 * (units - at)) for at in range(4, units, 4)}
        assert times[first.end] <= 1.04 * min(times.values())
