"""Inputs that outlive a run: no plan lets anything be written over them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glowmcu.goals import Goal
from glowmcu.ir.graph import Graph, VerificationError
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.program import Alloc, Cascade, Dealloc, Program
from glowmcu.ir.verify_program import verify_program
from glowmcu.memplan.execute import execute_program
from glowmcu.memplan.planner import plan_memory
from tests.memplan.small_programs import Builder, random_inputs
from tests.memplan.streamed import lowered, program_of, streamed
from tests.memplan.streaming_models import MODELS
from tests.memplan.test_plan_execution import models


def keeping(program: Program, indices: set[int]) -> Program:
    """The program with these of its inputs kept."""
    kept = tuple(x for index, x in enumerate(program.inputs) if index in indices)
    return dataclasses.replace(program, kept=kept)


def assert_keeps(graph: Graph, program: Program, arena_bytes: int) -> None:
    """Outputs are the graph's; `execute_program` looks at kept inputs itself."""
    arrays = random_inputs(graph)
    got = execute_program(program, graph, arrays, arena_bytes)
    for index, want in enumerate(run_graph(graph, arrays)):
        np.testing.assert_array_equal(got[index], want)


@settings(max_examples=120, deadline=None)
@given(models(), st.sets(st.integers(0, 2), min_size=1))
def test_a_kept_input_is_the_same_after_the_run(
    model: tuple[Graph, Program], indices: set[int]
) -> None:
    graph, program = model
    plan = plan_memory(keeping(program, indices))
    assert_keeps(graph, plan.program, plan.arena_bytes)


@pytest.mark.parametrize("name", MODELS)
def test_a_streamed_model_keeps_its_input(name: str) -> None:
    graph = lowered(MODELS[name]())
    program = keeping(program_of(graph, Goal.RAM), {0})
    placed = streamed(program)
    assert any(isinstance(step, Cascade) for step in placed.program.steps)
    verify_program(placed.program, placed.arena_bytes)
    assert_keeps(graph, placed.program, placed.arena_bytes)


def chain() -> tuple[Graph, Program]:
    builder = Builder()
    x = builder.input(64)
    graph = builder.graph(builder.mix(16, builder.mingle(x)))
    return graph, builder.program(graph)


def test_a_plan_that_writes_over_a_kept_input_is_found_by_both() -> None:
    graph, program = chain()
    plan = plan_memory(program)
    (view,) = plan.program.views.values()
    assert view.base is program.inputs[0], "the input is overwritten where nobody keeps it"
    wrong = dataclasses.replace(plan.program, kept=program.inputs)
    plain = [item for item in wrong.instructions if not isinstance(item, Alloc | Dealloc)]
    with pytest.raises(VerificationError, match="the application reads"):
        verify_program(dataclasses.replace(wrong, instructions=tuple(plain)), plan.arena_bytes)
    with pytest.raises(AssertionError):
        assert_keeps(graph, wrong, plan.arena_bytes)
