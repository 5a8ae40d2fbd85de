"""Plans run in one byte array give what the graph gives, and wrong plans are found out."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glowmcu.ir.graph import Graph, Value, VerificationError
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.program import Program, View, ViewRole
from glowmcu.ir.types import ElementType
from glowmcu.ir.verify_program import verify_program
from glowmcu.memplan.execute import execute_program
from glowmcu.memplan.instructions import arranged
from glowmcu.memplan.planner import Plan, plan_memory
from tests.memplan.small_programs import Builder, Cut, Mix, random_inputs


@st.composite
def models(draw: st.DrawFn) -> tuple[Graph, Program]:
    """Chains, branches, joins, cuts, several inputs and outputs, results that nobody reads."""
    builder = Builder()
    element = draw(st.sampled_from([ElementType.I8, ElementType.I8, ElementType.I32]))
    values = [
        builder.input(draw(st.integers(1, 40)), element) for _ in range(draw(st.integers(1, 3)))
    ]
    for _ in range(draw(st.integers(0, 12))):
        values.extend(_draw_node(draw, builder, values))
    outputs = draw(st.lists(st.sampled_from(values), min_size=1, max_size=4))
    graph = builder.graph(*outputs)
    return graph, builder.program(graph)


def _draw_node(draw: st.DrawFn, builder: Builder, values: list[Value]) -> tuple[Value, ...]:
    kind = draw(st.sampled_from(["mix", "mix", "mingle", "mingle", "join", "cut", "two results"]))
    # Recent values are drawn more often, so that graphs get deep.
    value = values[-1 - draw(st.integers(0, min(3, len(values) - 1)))]
    scratch = draw(st.sampled_from([0, 0, 3, 50]))
    # A kernel that needs words cannot read a slice that begins between them.
    sliced = any(isinstance(node.op, Cut) and value in node.outputs for node in builder.nodes)
    align = 1 if sliced else draw(st.sampled_from([1, 1, 4]))
    count = value.type.shape[0]
    if kind == "mix":
        size = draw(st.integers(1, 40))
        return (builder.mix(size, value, scratch=scratch, align=align),)
    if kind == "mingle":
        same = [other for other in values if other.type == value.type]
        return (builder.mingle(value, *draw(st.lists(st.sampled_from(same), max_size=2))),)
    if kind == "join":
        others = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
        return (builder.join(value, *others),)
    if kind == "cut" and count >= 2:
        at = draw(st.integers(1, count - 1))
        return builder.cut(value, at, count - at)
    return builder.add(Mix(((5,), (9,))), value, scratch=scratch)


def assert_runs_like_the_graph(graph: Graph, plan: Plan) -> None:
    arrays = random_inputs(graph)
    got = execute_program(plan.program, graph, arrays, plan.arena_bytes)
    for index, want in enumerate(run_graph(graph, arrays)):
        np.testing.assert_array_equal(got[index], want)


@settings(max_examples=150)
@given(models())
def test_a_plan_in_one_byte_array_gives_what_the_graph_gives(model: tuple[Graph, Program]) -> None:
    graph, program = model
    plan = plan_memory(program)
    assert plan.arena_bytes >= plan.lower_bound_bytes
    assert_runs_like_the_graph(graph, plan)


@settings(max_examples=60)
@given(models())
def test_a_buffer_moved_onto_a_live_one_is_found_by_the_verifier(
    model: tuple[Graph, Program],
) -> None:
    plan = plan_memory(model[1])
    program, lives = plan.program, plan.program.lives
    # A result may lie on an operand of its own layer, where its kernel says so.
    related = {
        frozenset((program.root(result)[0], program.root(operand)[0]))
        for run in program.runs
        for result in run.outputs
        for operand in run.inputs
    }
    pairs = [
        (a, b)
        for a in lives
        for b in lives
        if a is not b and lives[a].overlaps(lives[b]) and a.size_bytes and b.size_bytes
        if frozenset((a, b)) not in related
    ]
    for moved, victim in pairs[:6]:
        offsets = {**program.offsets, moved: program.offsets[victim]}
        with pytest.raises(VerificationError):
            verify_program(program.with_offsets(offsets), plan.arena_bytes + 256)


def residual() -> tuple[Graph, Program]:
    builder = Builder()
    x = builder.input(64)
    a = builder.mix(64, x)
    b = builder.mix(64, a)
    graph = builder.graph(builder.mix(16, builder.mingle(a, b)))
    return graph, builder.program(graph)


def test_overlapping_a_live_buffer_by_four_bytes_spoils_the_result() -> None:
    graph, program = residual()
    plan = plan_memory(program)
    a, b = (plan.program.root(run.outputs[0])[0] for run in plan.program.runs[:2])
    shifted = {**plan.program.offsets, b: plan.program.offsets[a] + 60}
    wrong = dataclasses.replace(plan, program=plan.program.with_offsets(shifted), arena_bytes=512)
    with pytest.raises(VerificationError, match="share bytes while both live"):
        verify_program(wrong.program, 512)
    with pytest.raises(AssertionError):
        assert_runs_like_the_graph(graph, wrong)


def test_overwriting_an_operand_that_is_read_later_is_found_by_both() -> None:
    graph, program = residual()
    first, second = program.runs[0].outputs[0], program.runs[1].outputs[0]
    stolen = View(second, first, 0, ViewRole.OVERWRITE)
    wrong = arranged(program, program.runs, [stolen])
    with pytest.raises(VerificationError, match="writes"):
        verify_program(wrong)
    offsets = {buffer: 64 * index for index, buffer in enumerate(wrong.lives)}
    plan = Plan(wrong.with_offsets(offsets), 512, 0)
    with pytest.raises(AssertionError):
        assert_runs_like_the_graph(graph, plan)


def test_an_arena_one_byte_short_is_found_by_both() -> None:
    graph, program = residual()
    plan = plan_memory(program)
    with pytest.raises(VerificationError, match="does not fit an arena"):
        verify_program(plan.program, plan.arena_bytes - 1)
    with pytest.raises(AssertionError, match="beyond the arena"):
        assert_runs_like_the_graph(
            graph, dataclasses.replace(plan, arena_bytes=plan.arena_bytes - 1)
        )


def test_an_output_that_is_a_view_of_an_input_costs_nothing() -> None:
    builder = Builder()
    x = builder.input(24)
    head, tail = builder.cut(x, 8, 16)
    graph = builder.graph(tail, builder.mix(4, head))
    plan = plan_memory(builder.program(graph))
    assert plan.arena_bytes == 28
    assert_runs_like_the_graph(graph, plan)


def test_an_input_that_is_an_output_too_is_never_overwritten() -> None:
    builder = Builder()
    x = builder.input(32)
    graph = builder.graph(x, builder.mingle(x))
    plan = plan_memory(builder.program(graph))
    assert plan.arena_bytes == 64
    assert_runs_like_the_graph(graph, plan)


def test_results_that_nobody_reads_have_room_in_their_own_step_only() -> None:
    builder = Builder()
    x = builder.input(8)
    kept, _unread = builder.add(Mix(((8,), (100,))), x)
    graph = builder.graph(builder.mix(8, kept))
    plan = plan_memory(builder.program(graph))
    assert plan.arena_bytes == 8 + 8 + 100
    assert_runs_like_the_graph(graph, plan)
