"""Inputs that stay in memory of the application's: no arena for them, and nobody writes there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.goals import Goal
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import VerificationError
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.program import ARENA_ALIGN, Run, View, ViewRole, aligned
from glowmcu.ir.text import parse_program, print_program
from glowmcu.ir.verify_program import verify_program
from glowmcu.memplan.planner import plan_memory
from glowmcu.ops.registry import load_operations
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from tests.memplan.spatial_models import SpatialModel
from tests.memplan.streamed import (
    assert_runs_like_the_graph,
    lowered,
    program_of,
    spatial_models,
)
from tests.memplan.streaming_models import MODELS, separable
from tests.support import dead_bytes
from tests.support.check_model import check_model, expect_equal, random_inputs, write_bundle

OPTIONS = Options("m", goal=Goal.RAM, core="cortex-m4", simplify=False)


@settings(max_examples=25)
@given(
    spatial_models(),
    st.sampled_from(list(Goal)),
    st.sampled_from([None, 0]),
    st.booleans(),
)
def test_inputs_outside_take_no_arena_and_change_no_result(
    model: bytes, goal: Goal, stream_to: int | None, all_of_them: bool
) -> None:
    graph = lowered(model)
    external = frozenset(graph.inputs if all_of_them else graph.inputs[:1])
    program = program_of(graph, goal, external=external)
    event(f"{len(external)} of {len(graph.inputs)} inputs outside")
    assert [buffer.external for buffer in program.inputs] == [v in external for v in graph.inputs]
    plan = plan_memory(program, stream_to)
    assert not any(buffer.external for buffer in plan.program.offsets)
    verify_program(plan.program, aligned(plan.arena_bytes, ARENA_ALIGN))
    assert_runs_like_the_graph(graph, plan.program, plan.arena_bytes)


def test_the_text_of_a_program_says_what_is_outside() -> None:
    graph = lowered(separable())
    plan = plan_memory(program_of(graph, external=frozenset(graph.inputs)), 0)
    text = print_program(plan.program)
    assert text.count("external = true") == 1
    assert print_program(parse_program(text, load_operations())) == text


def sum_of_two() -> bytes:
    model = SpatialModel(3)
    x, y = model.input(4, 4, 2), model.input(4, 4, 2)
    return model.finish(model.add(x, y))


def test_no_result_is_computed_in_place_of_an_input_outside() -> None:
    graph = lowered(sum_of_two())
    plan = plan_memory(program_of(graph, external=frozenset(graph.inputs)))
    assert plan.arena_bytes == 32
    half = plan_memory(program_of(graph, external=frozenset(graph.inputs[:1])))
    assert half.arena_bytes == 32


def test_the_verifier_refuses_a_result_in_place_of_an_input_outside() -> None:
    graph = lowered(sum_of_two())
    program = program_of(graph, external=frozenset(graph.inputs))
    (run,) = program.runs
    view = View(run.outputs[0], program.inputs[0], 0, ViewRole.OVERWRITE)
    wrong = program.with_instructions([view, run])
    with pytest.raises(VerificationError, match="input outside the arena"):
        verify_program(wrong)


def test_the_verifier_refuses_a_plan_with_an_input_that_is_not_where_it_should_be() -> None:
    """The same plan with the input as a tensor of the arena's that nobody has placed."""
    graph = lowered(separable())
    plan = plan_memory(program_of(graph, external=frozenset(graph.inputs)))
    program = plan.program
    (x,) = program.inputs
    inside = replace(x, external=False)
    first = program.runs[0]
    items = [
        replace(item, inputs=(inside,)) if item is first and isinstance(item, Run) else item
        for item in program.instructions
    ]
    wrong = replace(program, inputs=(inside,), instructions=tuple(items))
    with pytest.raises(VerificationError):
        verify_program(wrong, aligned(plan.arena_bytes, ARENA_ALIGN))


@pytest.mark.parametrize("name", MODELS)
def test_the_c_reads_inputs_where_they_are(name: str, tmp_path: Path) -> None:
    """On a core whose memory there is read-only and ends with the input, and between sanitizers."""
    data = MODELS[name]()
    names = [value.name for value in lowered(data).inputs]
    options = replace(OPTIONS, inputs=InputOptions(external=tuple(names)))
    compilation = check_model(data, options=options)
    bundle = write_bundle(compilation, tmp_path / "bundle")
    sets = random_inputs(compilation, 1)
    for arrays, got in zip(sets, CortexM("cortex-m4", count=False).run(bundle, sets), strict=True):
        for index, want in enumerate(run_graph(compilation.graph, arrays)):
            expect_equal(got.outputs[index], want, f"output {index} on a modelled core")
    text = dead_bytes.hook_text(compilation.plan.program, compilation.manifest.arena_bytes)
    runner = dead_bytes.build(bundle, text, tmp_path, undefined=False)
    (got_here,) = runner.run(bundle, sets[:1])
    for index, want in enumerate(run_graph(compilation.graph, sets[0])):
        expect_equal(got_here[index], want, f"output {index} with dead bytes destroyed")


def reshaped_input() -> bytes:
    model = ModelBuilder()
    x = model.input("x", (1, 4, 4, 1), "int8", 0.5, 0)
    shape = model.constant("shape", np.array([1, 16], np.int32))
    y = model.tensor("y", (1, 16), "int8", 0.5, 0)
    model.op("RESHAPE", [x, shape], [y], {"new_shape": [1, 16]})
    model.output(y)
    return model.finish()


def test_an_output_that_is_a_reshaped_input_keeps_it_in_the_arena() -> None:
    options = replace(OPTIONS, inputs=InputOptions(external=("x",)))
    with pytest.raises(GlowmcuError) as raised:
        compile_model(reshaped_input(), "m.tflite", options)
    (problem,) = raised.value.problems
    assert problem.code == "GM408"
    assert "output 'y' is the same bytes in another shape" in problem.message


def test_an_input_that_is_bound_cannot_stay_outside() -> None:
    data = sum_of_two()
    first, second = (value.name for value in lowered(data).inputs)
    bound = {first: np.zeros((1, 4, 4, 2), np.int8)}
    options = replace(OPTIONS, inputs=InputOptions(bind=bound, external=(first, second)))
    with pytest.raises(GlowmcuError) as raised:
        compile_model(data, "m.tflite", options)
    (problem,) = raised.value.problems
    assert problem.code == "GM408"
    assert f"input {first!r} cannot stay outside" in problem.message


def test_an_input_outside_that_is_far_larger_than_the_arena_is_planned() -> None:
    """The verifier numbers its bytes, too, though the arena has no room for them."""
    model = ModelBuilder()
    x = model.input("x", (1, 20_000), "int8", 0.5, -3)
    axes = model.constant("axes", np.array([1], np.int32))
    y = model.tensor("y", (1,), "int8", 4.0, 0)
    model.op("SUM", [x, axes], [y], {"keep_dims": False})
    model.output(y)
    graph = lowered(model.finish())
    plan = plan_memory(program_of(graph, external=frozenset(graph.inputs)), 0)
    assert plan.arena_bytes < 64
