"""Plans of programs with states, executed in one byte array, run after run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.goals import Goal
from glowmcu.ir.graph import Graph, VerificationError
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array
from glowmcu.ir.program import Run
from glowmcu.ir.state_pieces import state_pieces
from glowmcu.ir.verify_program import verify_program
from glowmcu.memplan.execute import execute_program
from glowmcu.memplan.instructions import arranged
from glowmcu.ops.assign import Assign
from glowmcu.pipeline import compile_model
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


def two_queues() -> bytes:
    """New rows lie behind those kept, and are needed by one layer each."""
    model = StreamModel(2)
    x = model.conv(model.queue(model.input(8, 16), 2), 3, 16)
    x = model.conv(model.queue(x, 2), 3, 16)
    model.builder.output(x.ref)
    return model.finish()


def test_what_lies_beside_a_state_is_others_when_it_is_not_needed() -> None:
    plan = compiled(two_queues(), Goal.BALANCED).plan
    pieces = state_pieces(plan.program)
    total = sum(
        end - first
        for buffer, life in plan.program.lives.items()
        for first, end, _ in pieces.of(buffer, life)
    )
    # With the new rows of both queues there all the time it were 320 B more.
    assert plan.arena_bytes < total
    assert plan.arena_bytes <= 660


def test_what_is_needed_beside_a_state_is_nobody_elses() -> None:
    """Any other buffer that is alive then, moved there, is found out; at other times it may be."""
    plan = compiled(two_queues(), Goal.BALANCED).plan
    program, pieces = plan.program, state_pieces(plan.program)
    verdicts = set()
    for root, parts in pieces.of_states.items():
        for first, end, needed in parts:
            for buffer, life in program.lives.items():
                if buffer is root or needed.first < 0:
                    continue
                offsets = {**program.offsets, buffer: program.offsets[root] + first}
                if offsets[buffer] % buffer.align or buffer.size_bytes > end - first:
                    continue
                try:
                    verify_program(program.with_offsets(offsets), plan.arena_bytes + 4096)
                    verdicts.add((needed.overlaps(life), True))
                except VerificationError:
                    verdicts.add((needed.overlaps(life), False))
    # A result may also follow its operand, as its kernel allows; what is not alive is in no way.
    assert (False, True) in verdicts or (True, False) in verdicts
    assert (True, False) in verdicts
