"""One-dimensional models stream their time steps: right in plans, in C, against the oracle."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from glowmcu.compilation import Compilation, Options
from glowmcu.goals import Budgets, Goal
from glowmcu.input_options import InputOptions
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.program import ARENA_ALIGN, aligned
from glowmcu.ir.verify_program import verify_program
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from tests.memplan.sequence_models import (
    NETWORKS,
    SMALL,
    SequenceModel,
    Slide,
    residual_network,
    sequence_models,
)
from tests.memplan.streamed import (
    assert_runs_like_the_graph,
    cascades,
    lowered,
    program_of,
    streamed,
)
from tests.memplan.test_streamed_code import stream_everything
from tests.memplan.test_streamed_input import plan_unless_refused
from tests.support.check_model import check_model, random_inputs, write_bundle
from tests.support.oracle import run_tflm

OPTIONS = Options("m", core="cortex-m4", simplify=False)
PUSHED = InputOptions(streamed=("x1",))
#: Most bytes of arena: `balanced`, `ram`, `ram` with a streamed input. As images of one row these
#: took 12800, 8448 and 4064 at `balanced`, 12800, 8320 and 3408 at `ram`, and could not stream.
ARENAS = {
    "temporal convolutions": (12400, 8800, 2300),
    "residual blocks": (8500, 4700, 1700),
    "separable convolutions": (4100, 3450, 950),
}


@cache
def compiled(name: str, goal: Goal, streamed_input: bool = False) -> Compilation:
    inputs = PUSHED if streamed_input else InputOptions()
    return compile_model(NETWORKS[name](), "m.tflite", replace(OPTIONS, goal=goal, inputs=inputs))


@settings(max_examples=40)
@given(sequence_models(), st.sampled_from(list(Goal)), st.booleans())
def test_a_random_sequence_model_runs_in_its_plan_like_the_graph(
    model: bytes, goal: Goal, pushes: bool
) -> None:
    graph = lowered(model)
    streamed_input = graph.inputs[0].name if pushes else None
    plan = plan_unless_refused(program_of(graph, goal, 0, streamed_input), 0)
    if plan is None:
        return
    event(f"{sum(len(item.stages) for item in cascades(plan.program))} stages")
    verify_program(plan.program, aligned(plan.arena_bytes, ARENA_ALIGN))
    assert_runs_like_the_graph(graph, plan.program, plan.arena_bytes)


@settings(max_examples=25)
@given(sequence_models())
def test_a_random_sequence_model_streams_wherever_it_can(model: bytes) -> None:
    graph = lowered(model)
    placed = streamed(program_of(graph, Goal.BALANCED))
    assert_runs_like_the_graph(graph, placed.program, placed.arena_bytes)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("goal", [Goal.BALANCED, Goal.RAM], ids=lambda goal: goal.value)
def test_lying_layers_give_the_oracle_s_bytes(name: str, goal: Goal) -> None:
    check_model(SMALL[name](), oracle=run_tflm, options=replace(OPTIONS, goal=goal))


@pytest.mark.parametrize("name", SMALL)
def test_time_steps_that_are_pushed_give_the_oracle_s_bytes(name: str) -> None:
    options = replace(OPTIONS, goal=Goal.RAM, inputs=PUSHED)
    compilation = check_model(SMALL[name](), oracle=run_tflm, options=options)
    (entry,), (x,) = compilation.manifest.inputs, compilation.imported.inputs
    assert entry.rows is not None
    assert (entry.rows.count, entry.rows.bytes) == x.type.shape[-2:]


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(model=sequence_models())
def test_cascades_of_time_steps_are_right_in_c(
    model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream_everything(monkeypatch)
    check_model(model, options=OPTIONS, count=1)


def test_int16_activations_stream_their_time_steps() -> None:
    model = SequenceModel(7, wide=True)
    x = model.conv(model.input(30, 3), 5, Slide(), "RELU")
    x = model.add(model.depthwise(x, Slide(5)), x)
    data = model.finish(model.conv(x, 4, Slide(3, 2)))
    options = replace(OPTIONS, goal=Goal.RAM, inputs=PUSHED)
    compilation = check_model(data, oracle=run_tflm, options=options)
    assert len(cascades(compilation.plan.program)) == 1


@pytest.mark.parametrize("name", NETWORKS)
def test_realistic_networks_take_few_bytes(name: str) -> None:
    balanced, ram, streamed_input = ARENAS[name]
    assert compiled(name, Goal.BALANCED).manifest.arena_bytes <= balanced
    assert compiled(name, Goal.RAM).manifest.arena_bytes <= ram
    assert compiled(name, Goal.RAM, streamed_input=True).manifest.arena_bytes <= streamed_input


def test_the_layers_that_are_computed_whole_are_transposed() -> None:
    """Single pixels would cost more: whole layers run along the columns of one row."""
    compilation = compiled("residual blocks", Goal.SPEED)
    kernels = [item.kernel_name for item in compilation.selections.values()]
    assert sum(name.endswith(".lying") for name in kernels) >= 10
    assert not cascades(compilation.plan.program)


@pytest.mark.arm
def test_estimates_of_streamed_time_steps_are_near_what_they_take(tmp_path: Path) -> None:
    compilation = compiled("separable convolutions", Goal.RAM, streamed_input=True)
    sets = random_inputs(compilation, 1)[:1]
    bundle = write_bundle(compilation, tmp_path / "b")
    (measured,) = CortexM("cortex-m4").run(bundle, sets)
    for got, want in zip(measured.outputs, run_graph(compilation.imported, sets[0]), strict=True):
        np.testing.assert_array_equal(got, want)
    assert measured.cycles == pytest.approx(compilation.estimated_cycles, rel=0.15)


def test_a_budget_takes_a_plan_that_streams_time_steps() -> None:
    data = residual_network(256, 8)
    whole = compile_model(data, "m.tflite", OPTIONS)
    budget = whole.manifest.arena_bytes * 2 // 3
    options = replace(OPTIONS, budgets=Budgets(arena_bytes=budget))
    found = compile_model(data, "m.tflite", options)
    assert found.manifest.arena_bytes <= budget
    assert cascades(found.plan.program)
