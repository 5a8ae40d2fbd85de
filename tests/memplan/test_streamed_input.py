"""Inputs that are pushed: plans run like the graph, wrong ones are found, refusals say why."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.goals import Goal
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.graph import Graph, VerificationError
from glowmcu.ir.program import ARENA_ALIGN, Program, aligned
from glowmcu.ir.text.program_text import parse_program, print_program
from glowmcu.ir.verify_program import verify_program
from glowmcu.memplan.planner import Plan, plan_memory
from glowmcu.ops.registry import load_operations
from tests.memplan.spatial_models import Image, SpatialModel, Window
from tests.memplan.streamed import (
    assert_found_by_both,
    assert_runs_like_the_graph,
    cascades,
    lowered,
    program_of,
    spatial_models,
    spread,
    streamed,
    swapped_turns,
    with_cascade,
    with_shorter_ring,
    without_lifetimes,
)
from tests.memplan.streaming_models import MODELS, separable


@settings(max_examples=40)
@given(spatial_models(), st.sampled_from(list(Goal)), st.sampled_from([None, 0]), st.data())
def test_a_streamed_input_gives_what_the_graph_gives_or_says_why_not(
    model: bytes, goal: Goal, stream_to: int | None, data: st.DataObject
) -> None:
    graph = lowered(model)
    name = data.draw(st.sampled_from([value.name for value in graph.inputs]))
    program = program_of(graph, goal, 0, name)
    plan = plan_unless_refused(program, stream_to)
    if plan is None:
        return
    event(f"{streaming_cascade(plan).streamed_rows} rows")
    verify_program(plan.program, aligned(plan.arena_bytes, ARENA_ALIGN))
    assert_runs_like_the_graph(graph, plan.program, plan.arena_bytes)


def plan_unless_refused(program: Program, stream_to: int | None) -> Plan | None:
    try:
        return plan_memory(program, stream_to)
    except GlowmcuError as cause:
        if cause.code != "GM409":
            raise
        event(cause.problems[0].message.partition(":")[2][:30])
        return None


def streaming_cascade(plan: Plan) -> Cascade:
    """The cascade that the rows come to."""
    (found,) = (item for item in cascades(plan.program) if item.input_stage is not None)
    return found


@cache
def planned(name: str, stream_to: int | None = 0) -> tuple[Graph, Plan]:
    graph = lowered(MODELS[name]())
    program = program_of(graph, Goal.RAM, 0, graph.inputs[0].name)
    return graph, plan_memory(program, stream_to)


@pytest.mark.parametrize("stream_to", [None, 0], ids=["only what is needed", "all that helps"])
@pytest.mark.parametrize("name", MODELS)
def test_every_model_whose_rows_stream_takes_a_streamed_input(
    name: str, stream_to: int | None
) -> None:
    graph, plan = planned(name, stream_to)
    assert_runs_like_the_graph(graph, plan.program, plan.arena_bytes)
    readers = [
        run for run in plan.program.runs if run.inputs[0].name.startswith(graph.inputs[0].name)
    ]
    if stream_to is None:
        assert len(streaming_cascade(plan).runs) == len(readers), (
            "more streams than what reads the input"
        )


def test_the_report_says_what_a_streamed_input_saves() -> None:
    graph, plan = planned("separable, odd size")
    whole = plan_memory(program_of(graph, Goal.RAM, 0), 0)
    (report,) = (item for item in plan.reports if item.name == "push_input")
    cascade = streaming_cascade(plan)
    assert cascade.input_stage is not None
    ring = cascade.stages[cascade.input_stage].result
    pushed = plan.program.streamed_input
    assert pushed is not None
    spared = aligned(pushed.buffer.size_bytes) - aligned(ring.size_bytes)
    assert report.saved_bytes == spared > 0
    assert graph.inputs[0].name in report.note
    assert plan.arena_bytes < whole.arena_bytes


@pytest.mark.parametrize("name", ["separable, odd size", "residual blocks with a stride"])
def test_a_ring_of_the_input_with_a_row_less_is_found_by_both(name: str) -> None:
    graph, plan = planned(name)
    cascade = streaming_cascade(plan)
    assert cascade.input_stage is not None
    ring = cascade.stages[cascade.input_stage].result
    assert ring.type.shape[1] > 1
    wrong = with_shorter_ring(plan.program, cascade, ring)
    assert_found_by_both(graph, wrong, plan.arena_bytes)


@pytest.mark.parametrize("name", ["separable, odd size", "residual blocks with a stride"])
def test_a_turn_before_the_row_that_it_waits_for_is_found_by_both(name: str) -> None:
    graph, plan = planned(name)
    cascade = streaming_cascade(plan)
    early = [item for item in swapped_turns(cascade) if item.streamed_rows == cascade.streamed_rows]
    for swapped in early[:4]:
        wrong = with_cascade(plan.program, cascade, swapped)
        assert_found_by_both(graph, wrong, plan.arena_bytes)
    assert early


@pytest.mark.parametrize("name", ["separable, odd size", "inverted bottlenecks"])
def test_a_result_may_lie_in_a_ring_with_its_late_rows_alone(name: str) -> None:
    graph = lowered(MODELS[name]())
    placed = streamed(program_of(graph, Goal.RAM, 0, graph.inputs[0].name))
    bare, tried = without_lifetimes(placed.program), 0
    for cascade in cascades(placed.program):
        result = cascade.outputs[0]
        for (ring, other), forbidden in cascade.forbidden_offsets.items():
            if other is not result or ring not in cascade.rings or not forbidden:
                continue
            ((low, high),) = forbidden
            assert -result.size_bytes < low < 0 < high
            offsets, arena = spread(bare)
            right = bare.with_offsets({**offsets, result: offsets[ring] + low})
            verify_program(right, arena)
            assert_runs_like_the_graph(graph, right, arena)
            wrong = bare.with_offsets({**offsets, result: offsets[ring]})
            assert_found_by_both(graph, wrong, arena)
            tried += 1
    assert tried


def test_a_buffer_laid_over_the_counter_of_rows_is_found() -> None:
    _, plan = planned("separable, odd size")
    bare, cascade = without_lifetimes(plan.program), streaming_cascade(plan)
    assert bare.streamed_input is not None
    for victim in cascade.rings:
        offsets = {**bare.offsets, bare.streamed_input.counter: bare.offsets[victim]}
        with pytest.raises(VerificationError, match="share bytes"):
            verify_program(bare.with_offsets(offsets), aligned(plan.arena_bytes, ARENA_ALIGN))


def test_a_program_with_a_streamed_input_prints_and_parses_back() -> None:
    _, plan = planned("two inputs")
    text = print_program(plan.program)
    assert '"glowmcu.streamed_input"' in text
    again = parse_program(text, load_operations())
    assert print_program(again) == text
    verify_program(again, aligned(plan.arena_bytes, ARENA_ALIGN))


def refusal(model: bytes, number: int = 0) -> str:
    graph = lowered(model)
    with pytest.raises(GlowmcuError) as caught:
        plan_memory(program_of(graph, Goal.RAM, 0, graph.inputs[number].name), 0)
    assert caught.value.code == "GM409"
    assert caught.value.exit_code is ExitCode.UNSUPPORTED
    return caught.value.problems[0].message


def dense() -> bytes:
    model = ModelBuilder()
    x = model.input("x", (1, 24), "int8", 0.5, -3)
    weights = model.constant("w", np.arange(-36, 36, dtype=np.int8).reshape(3, 24), 0.1)
    y = model.tensor("y", (1, 3), "int8", 4.0, 0)
    model.op("FULLY_CONNECTED", [x, weights, None], [y])
    model.output(y)
    return model.finish()


def one_row() -> bytes:
    """A pixel: of several columns time steps would be rows."""
    model = SpatialModel(1)
    return model.finish(model.conv(model.input(1, 1, 12), 4, Window((1, 1))))


def also_an_output() -> bytes:
    model = SpatialModel(2)
    x = model.input(6, 4, 2)
    return model.finish(model.conv(x, 4, Window()), x)


def reshaped_to_an_output() -> bytes:
    """The reshape costs nothing and has no memory of its own: it is the input."""
    model = SpatialModel(2)
    x = model.input(6, 4, 2)
    flat = model.builder.tensor("flat", (1, 48), "int8", x.scale, x.zero_point)
    model.builder.op("RESHAPE", [x.ref], [flat])
    model.builder.output(flat)
    return model.finish(model.conv(x, 4, Window()))


def only_reshaped() -> bytes:
    model = ModelBuilder()
    x = model.input("x", (1, 6, 4, 2), "int8", 0.5, -3)
    flat = model.tensor("flat", (1, 48), "int8", 0.5, -3)
    model.op("RESHAPE", [x], [flat])
    model.output(flat)
    return model.finish()


def a_part_is_an_output() -> bytes:
    model = SpatialModel(2)
    x = model.input(6, 4, 2)
    part = model.builder.tensor("part", (1, 4, 4, 2), "int8", x.scale, x.zero_point)
    bounds = [
        model.builder.constant(name, np.array(numbers, np.int32))
        for name, numbers in (("begin", (0, 1, 0, 0)), ("size", (1, 4, 4, 2)))
    ]
    model.builder.op("SLICE", [x.ref, *bounds], [part])
    model.builder.output(part)
    return model.finish(model.conv(x, 4, Window()))


def only_a_part_is_read() -> bytes:
    """The layer's rows are numbers from the middle of the input, not rows of it."""
    model = SpatialModel(2)
    x = model.input(6, 4, 2)
    flat = model.builder.tensor("flat", (1, 48), "int8", x.scale, x.zero_point)
    part = model.builder.tensor("part", (1, 18), "int8", x.scale, x.zero_point)
    image = model.builder.tensor("image", (1, 3, 3, 2), "int8", x.scale, x.zero_point)
    bounds = [
        model.builder.constant(name, np.array(numbers, np.int32))
        for name, numbers in (("begin", (0, 7)), ("size", (1, 18)))
    ]
    model.builder.op("RESHAPE", [x.ref], [flat])
    model.builder.op("SLICE", [flat, *bounds], [part])
    model.builder.op("RESHAPE", [part], [image])
    return model.finish(model.conv(Image(image, (3, 3, 2), x.scale, x.zero_point), 4, Window()))


def read_by_a_copy() -> bytes:
    """A space-to-depth moves blocks of rows: it is called for the whole tensor only."""
    model = SpatialModel(3)
    x = model.input(8, 4, 2)
    turned = model.builder.tensor("turned", (1, 4, 2, 8), "int8", x.scale, x.zero_point)
    model.builder.op("SPACE_TO_DEPTH", [x.ref], [turned], {"block_size": 2})
    image = Image(turned, (4, 2, 8), x.scale, x.zero_point)
    return model.finish(model.conv(image, 3, Window()))


def read_late() -> bytes:
    """The input comes again after layers of which one needs all of its operand."""
    model = SpatialModel(4)
    x = model.input(8, 4, 4)
    y = model.conv(x, 4, Window())
    deep = model.builder.tensor("deep", (1, 4, 2, 16), "int8", y.scale, y.zero_point)
    back = model.builder.tensor("back", (1, 8, 4, 4), "int8", y.scale, y.zero_point)
    model.builder.op("SPACE_TO_DEPTH", [y.ref], [deep], {"block_size": 2})
    moved = model.conv(Image(deep, (4, 2, 16), y.scale, y.zero_point), 16, Window())
    model.builder.op("DEPTH_TO_SPACE", [moved.ref], [back], {"block_size": 2})
    image = Image(back, (8, 4, 4), moved.scale, moved.zero_point)
    return model.finish(model.add(image, x))


def read_early_twice_and_late() -> bytes:
    """Two of its readers are next to each other; the third comes after what needs its operand."""
    model = SpatialModel(4)
    x = model.input(8, 4, 4)
    y = model.add(model.conv(x, 4, Window()), x)
    deep = model.builder.tensor("deep", (1, 4, 2, 16), "int8", y.scale, y.zero_point)
    back = model.builder.tensor("back", (1, 8, 4, 4), "int8", y.scale, y.zero_point)
    model.builder.op("SPACE_TO_DEPTH", [y.ref], [deep], {"block_size": 2})
    model.builder.op("DEPTH_TO_SPACE", [deep], [back], {"block_size": 2})
    return model.finish(model.add(Image(back, (8, 4, 4), y.scale, y.zero_point), x))


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "fully connected": (dense, 'fully_connected "y" reads it as int8[1x24]'),
    "a single row": (one_row, "a single row"),
    "also an output": (also_an_output, "it is an output, too"),
    "reshaped to an output": (reshaped_to_an_output, "it is an output, too, 'flat'"),
    "nothing but a reshape": (only_reshaped, "it is an output, too, 'flat'"),
    "a part of it is an output": (a_part_is_an_output, "it is an output, too, 'part'"),
    "only a part of it is read": (only_a_part_is_read, "reads only a part of it, int8[1x3x3x2]"),
    "read by what needs all of it": (read_by_a_copy, '"turned" needs all of it at a time'),
    "read when its rows are gone": (read_late, "which needs its operands whole"),
    "read by a third layer when its rows are gone": (
        read_early_twice_and_late,
        "which needs its operands whole",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_streamed_is_refused_with_the_layer_to_blame(name: str) -> None:
    make, reason = REFUSED[name]
    message = refusal(make())
    assert "cannot be streamed" in message
    assert reason in message


def test_no_layer_reads_an_input_that_is_not_needed() -> None:
    model = SpatialModel(5)
    unread, x = model.input(6, 4, 2), model.input(6, 4, 2)
    assert unread.shape == x.shape
    assert "no layer reads it" in refusal(model.finish(model.conv(x, 4, Window())))


def test_a_plan_that_reads_a_streamed_input_whole_is_refused() -> None:
    graph = lowered(separable())
    plan = plan_memory(program_of(graph, Goal.RAM, 0), None)
    streamed_input = program_of(graph, Goal.RAM, 0, graph.inputs[0].name).streamed_input
    assert streamed_input is not None
    wrong = Program(
        plan.program.name,
        plan.program.inputs,
        plan.program.outputs,
        without_lifetimes(plan.program).instructions,
        {**plan.program.offsets, streamed_input.counter: aligned(plan.arena_bytes)},
        streamed_input=type(streamed_input)(plan.program.inputs[0], streamed_input.counter),
    )
    with pytest.raises(VerificationError, match="0 cascades take rows"):
        verify_program(wrong, aligned(plan.arena_bytes + 16, ARENA_ALIGN))


def test_residual_blocks_that_read_the_input_twice_stream_it() -> None:
    model = SpatialModel(6)
    x = model.input(15, 6, 4)
    inner = model.conv(model.depthwise(x, Window()), 4, Window((1, 1)))
    y = model.conv(model.add(inner, x), 6, Window(stride=(2, 2)))
    graph = lowered(model.finish(y))
    plan = plan_memory(program_of(graph, Goal.RAM, 0, graph.inputs[0].name), None)
    assert len(streaming_cascade(plan).runs) == 3
    assert_runs_like_the_graph(graph, plan.program, plan.arena_bytes)
