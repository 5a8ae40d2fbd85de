"""Layers that two cores share: no timing changes a byte, and a wrong division is found out."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.small_networks import MODELS as SMALL
from glowmcu.compilation import Compilation, Options
from glowmcu.interface_options import InterfaceOptions
from glowmcu.ir.division import Phase, Place, Turn
from glowmcu.ir.graph import VerificationError
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.kernel_code import RowRule
from glowmcu.ir.program import ARENA_ALIGN, Program, Run, aligned
from glowmcu.ir.verify_program import verify_program
from glowmcu.memplan.divide_rows import Costs, Layout, Operand, best_phases
from glowmcu.memplan.execute import execute_program
from glowmcu.pipeline import compile_model
from tests.memplan.streaming_models import MODELS as STREAMING
from tests.support.check_model import random_inputs

_FEW = ("pictures", "residual digits", "separable digits", "drawn 3")
MODELS = {**STREAMING, **{name: SMALL[name] for name in _FEW}}
CORES = ("cortex-m0plus", "cortex-m33")
COSTS = Costs(100.0, 10.0, 5.0)


@cache
def compiled(name: str, core: str, cores: int) -> Compilation:
    options = Options("m", core=core, interface=InterfaceOptions(cores=cores))
    return compile_model(MODELS[name](), "m.tflite", options)


def shared_runs(program: Program) -> list[Run]:
    return [run for run in program.runs if run.division is not None]


def with_run(program: Program, old: Run, new: Run) -> Program:
    items = tuple(new if item is old else item for item in program.instructions)
    return replace(program, instructions=items)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", MODELS)
def test_whichever_core_is_first_the_bytes_are_the_graphs(name: str, core: str) -> None:
    made = compiled(name, core, 2)
    plan = made.plan
    inputs = random_inputs(made, 1)[0]
    wanted = run_graph(made.graph, inputs)
    for order in ((0, 1), (1, 0)):
        arena = aligned(plan.arena_bytes, ARENA_ALIGN)
        found = execute_program(plan.program, made.graph, inputs, arena, order)
        assert all(map(np.array_equal, found, wanted))


@pytest.mark.parametrize("core", CORES)
def test_an_arena_for_two_cores_is_hardly_larger_than_for_one(core: str) -> None:
    for name in _FEW:
        one, two = (compiled(name, core, count).manifest.arena_bytes for count in (1, 2))
        assert two <= one * 1.10 + ARENA_ALIGN
        assert len(shared_runs(compiled(name, core, 2).plan.program)) > 1


@pytest.mark.parametrize("core", CORES)
def test_stashes_and_walks_are_among_the_plans(core: str) -> None:
    runs = [run for name in MODELS for run in shared_runs(compiled(name, core, 2).plan.program)]
    divisions = [run.division for run in runs if run.division is not None]
    assert any(division.stash is not None and len(division.phases) == 2 for division in divisions)
    assert any(division.codes for division in divisions)
    assert any(len(division.phases) > 2 for division in divisions)


def in_place() -> tuple[Program, Run, int]:
    """A plan, and a run in it whose cores need the stash that they have."""
    for name in MODELS:
        made = compiled(name, "cortex-m33", 2)
        for run in shared_runs(made.plan.program):
            assert run.division is not None
            if any(turn.place is Place.STASH for turn in run.division.phases[0][0]):
                return made.plan.program, run, aligned(made.plan.arena_bytes, ARENA_ALIGN)
    raise AssertionError("no plan has a stash")


def refused(program: Program, arena_bytes: int) -> str:
    with pytest.raises(VerificationError) as caught:
        verify_program(program, arena_bytes)
    return str(caught.value)


def divided(run: Run, phases: tuple[Phase, ...]) -> Run:
    assert run.division is not None
    return replace(run, division=replace(run.division, phases=phases))


def test_two_bands_where_one_writes_what_the_other_reads_are_refused() -> None:
    program, run, arena = in_place()
    verify_program(program, arena)
    assert run.division is not None
    units = run.division.units
    bands: Phase = ((Turn(0, units // 2),), (Turn(units // 2, units),))
    told = refused(with_run(program, run, divided(run, (bands,))), arena)
    assert "one core writes bytes" in told


def test_a_row_less_in_the_stash_is_refused() -> None:
    program, run, arena = in_place()
    assert run.division is not None
    (first, (upper, lower)) = run.division.phases
    split = max(turn.end for turns in first for turn in turns)
    band = lower[0]
    assert band.first == split
    wider: Phase = (upper, (Turn(band.first - 1, band.end), *lower[1:]))
    told = refused(with_run(program, run, divided(run, (first, wider))), arena)
    assert "not every unit is computed once" in told


def test_rows_that_are_copied_while_the_other_core_computes_them_are_refused() -> None:
    program, run, arena = in_place()
    assert run.division is not None
    (first, second) = run.division.phases
    merged: Phase = (first[0] + second[0], first[1] + second[1])
    assert refused(with_run(program, run, divided(run, (merged,))), arena)


def test_cores_that_share_scratch_are_refused() -> None:
    for name in MODELS:
        made = compiled(name, "cortex-m33", 2)
        for run in shared_runs(made.plan.program):
            if run.scratch is None or run.division is None:
                continue
            wrong = replace(run, division=replace(run.division, scratch=run.scratch))
            arena = aligned(made.plan.arena_bytes, ARENA_ALIGN)
            program = with_run(made.plan.program, run, wrong)
            kept = {b: at for b, at in program.offsets.items() if b is not run.division.scratch}
            items = tuple(
                item
                for item in program.instructions
                if getattr(item, "buffer", None) is not run.division.scratch
            )
            program = replace(program, instructions=items, offsets=kept)
            assert "one core writes bytes" in refused(program, arena)
            return
    raise AssertionError("no shared run has scratch")


def test_a_result_moved_over_what_the_other_core_reads_is_refused() -> None:
    """Four bytes down or up: the promise of the kernel, or the other core's rows, are broken."""
    program, run, arena = in_place()
    root, _ = program.root(run.outputs[0])
    for step in (-4, 4):
        moved = program.with_offsets({**program.offsets, root: program.offsets[root] + step})
        assert refused(moved, arena)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """A window over rows, and a result that begins somewhere around the operand."""
    units, unit_bytes = draw(st.integers(2, 24)), draw(st.integers(1, 6))
    stride, extent = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    before = draw(st.integers(0, extent - 1))
    rows = max((units - 1) * stride - before + extent - draw(st.integers(0, extent - 1)), 1)
    operand = Operand(RowRule(stride, before, extent, rows), rows * draw(st.integers(1, 6)))
    gap = draw(st.integers(-units * unit_bytes, operand.size_bytes))
    return Layout(units, unit_bytes, (operand,), (gap,))


@settings(max_examples=300, deadline=None)
@given(layouts(), st.integers(0, 6), st.randoms())
def test_phases_give_every_row_whatever_the_timing(
    layout: Layout, stash: int, random: Random
) -> None:
    """Bytes are run one turn at a time, in an order drawn anew for each phase."""
    phases = best_phases(layout, lambda *_: True, stash, COSTS)
    if phases is None:
        return
    check(layout, phases, random)


def check(layout: Layout, phases: tuple[Phase, ...], random: Random) -> None:
    (operand,), (gap,) = layout.operands, layout.gaps
    assert operand.rule is not None
    assert gap is not None
    low = min(0, gap)
    memory: dict[int, object] = {gap + at - low: ("in", at) for at in range(operand.size_bytes)}
    stash: dict[int, object] = {}
    for phase in phases:
        queues = [list(turns) for turns in phase]
        while any(queues):
            core = random.choice([core for core in (0, 1) if queues[core]])
            turn = queues[core].pop(0)
            if turn.computes:
                first, end = layout.part(0, turn.first, turn.end)
                for at in range(first, end):
                    assert memory.get(gap + at - low) == ("in", at)
            for unit in range(turn.first, turn.end):
                row = {
                    unit * layout.unit_bytes + i: ("out", unit, i) for i in range(layout.unit_bytes)
                }
                if turn.place is Place.STASH:
                    stash[unit] = row
                    continue
                if turn.place is Place.FROM_STASH:
                    assert stash.pop(unit) == row
                memory |= {at - low: token for at, token in row.items()}
    for at in range(layout.units * layout.unit_bytes):
        assert memory[at - low] == ("out", at // layout.unit_bytes, at % layout.unit_bytes)
