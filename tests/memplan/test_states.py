"""Plans of programs with states, executed in one byte array, run after run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from glowmcu.goals import Goal
from glowmcu.ir.graph import Graph, VerificationError
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array
from glowmcu.ir.program import Run
from glowmcu.ir.verify_program import verify_program
from glowmcu.memplan.execute import execute_program
from glowmcu.memplan.instructions import arranged
from glowmcu.ops.assign import Assign
from glowmcu.pipeline import Compilation, Options, compile_model
from tests.support.stream_models import StreamModel, random_stream_model

STEPS = 6


def compiled(data: bytes, goal: Goal) -> Compilation:
    return compile_model(data, "m.tflite", Options("m", core="cortex-m4", goal=goal))


def executed(compilation: Compilation, inputs: Sequence[Array]) -> list[Array]:
    """The result of each run."""
    graph, plan = compilation.graph, compilation.plan
    states = [state.initial for state in graph.states]
    results = []
    for x in inputs:
        result, *states = execute_program(plan.program, graph, [x, *states], plan.arena_bytes)
        results.append(result)
    return results


def inputs_of(graph: Graph, seed: int) -> list[Array]:
    random = np.random.default_rng(seed)
    shape = graph.arguments[0].type.shape
    return [random.integers(-128, 128, shape).astype(np.int8) for _ in range(STEPS)]


@pytest.mark.parametrize("goal", [Goal.BALANCED, Goal.RAM])
@pytest.mark.parametrize("seed", range(12))
def test_a_plan_keeps_states_from_run_to_run(seed: int, goal: Goal) -> None:
    compilation = compiled(random_stream_model(seed), goal)
    inputs, session = inputs_of(compilation.imported, seed), Session(compilation.imported)
    for got, x in zip(executed(compilation, inputs), inputs, strict=True):
        assert np.array_equal(got, session.run([x])[0])


def queue(kept: int, channels: int) -> bytes:
    """One row comes, and a convolution reads it with those before."""
    model = StreamModel(1)
    x = model.conv(model.queue(model.input(1, channels), kept), kept + 1, 8)
    model.builder.output(x.ref)
    return model.finish()


def test_a_queue_moves_its_rows_and_copies_nothing_else() -> None:
    compilation = compiled(queue(9, 32), Goal.BALANCED)
    ops = [run.node.op.name for run in compilation.plan.program.runs]
    assert sorted(ops) == ["assign", "conv_2d"]
    # Its rows, the new one, the mark, the result and scratch that is less than a window.
    assert compilation.plan.arena_bytes < 2 * 10 * 32


def test_what_reads_an_old_value_comes_before_who_makes_the_new_one() -> None:
    """Exchanged, the two runs read rows that have moved up already, or what is not there yet."""
    plan = compiled(queue(3, 8), Goal.BALANCED).plan
    first, second = (item for item in plan.program.instructions if isinstance(item, Run))
    assert isinstance(second.node.op, Assign)
    views = plan.program.views.values()
    exchanged = arranged(plan.program, [second, first], views).with_offsets(plan.program.offsets)
    with pytest.raises(VerificationError):
        verify_program(exchanged, plan.arena_bytes)


def test_bytes_of_a_state_are_nobody_elses() -> None:
    """Every other buffer moved onto a state is found out."""
    for seed in (0, 2, 6):
        plan = compiled(random_stream_model(seed), Goal.BALANCED).plan
        program = plan.program
        for state in program.states:
            root = program.root(state.buffer)[0]
            for buffer in program.lives:
                if buffer is not root:
                    place = {**program.offsets, buffer: program.offsets[root]}
                    with pytest.raises(VerificationError):
                        verify_program(program.with_offsets(place), plan.arena_bytes + 4096)
