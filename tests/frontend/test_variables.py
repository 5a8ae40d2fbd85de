"""Variables of .tflite files: states of the graph, as TensorFlow Lite Micro has them."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array
from glowmcu.pipeline import reference_graph
from tests.support.oracle import open_tflm
from tests.support.stream_models import Signal, StreamModel, random_stream_model

STEPS = 15


def inputs_of(data: bytes, seed: int, steps: int = STEPS) -> list[Array]:
    (x,) = reference_graph(data, "m.tflite").arguments
    random = np.random.default_rng(seed)
    return [random.integers(-128, 128, x.type.shape).astype(np.int8) for _ in range(steps)]


@pytest.mark.parametrize("seed", range(40))
def test_every_run_of_a_stream_is_that_of_tflm(seed: int) -> None:
    data = random_stream_model(seed)
    session, oracle = Session(reference_graph(data, "m.tflite")), open_tflm(data)
    for x in inputs_of(data, seed):
        assert np.array_equal(session.run([x])[0], oracle([x])[0])


def test_reset_begins_again_with_what_call_once_assigned() -> None:
    data = random_stream_model(6)
    session, xs = Session(reference_graph(data, "m.tflite")), inputs_of(data, 1)
    first = [session.run([x])[0] for x in xs]
    on = [session.run([x])[0] for x in xs]
    session.reset()
    again = [session.run([x])[0] for x in xs]
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert any(not np.array_equal(a, b) for a, b in zip(first, on, strict=True))


def test_a_variable_that_nobody_assigns_is_a_constant() -> None:
    model = StreamModel(0)
    x = model.input(1, 4)
    _, kept = model.variable(1, 4)
    model.builder.output(model.add(x, kept).ref)
    data = model.finish()
    graph, oracle = reference_graph(data, "m.tflite"), open_tflm(data)
    assert not graph.states
    for x_data in inputs_of(data, 2, 3):
        assert np.array_equal(Session(graph).run([x_data])[0], oracle([x_data])[0])


def refusal(model: StreamModel) -> GlowmcuError:
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(model.finish(), "m.tflite")
    return caught.value


def test_a_variable_keeps_its_shape_and_scale() -> None:
    model = StreamModel(0, begins=False)
    x = model.input(2, 4)
    handle, kept = model.variable(1, 4)
    model.assign(handle, x)
    model.builder.output(kept.ref)
    (problem,) = refusal(model).problems
    assert problem.code == "GM106"
    assert "1x1x1x4" in problem.message
    assert "1x2x1x4" in problem.message
    model = StreamModel(0, begins=False)
    x = model.input(1, 4, zero_point=7)
    handle, kept = model.variable(1, 4)
    model.assign(handle, x)
    model.builder.output(kept.ref)
    assert [problem.code for problem in refusal(model).problems] == ["GM106"]


def test_call_once_cannot_come_behind_a_use() -> None:
    model = StreamModel(0, begins=False)
    x = model.input(1, 4)
    model.builder.output(model.delayed(x).ref)
    inner, number = model.builder.subgraph("late")
    assert inner is not model.builder
    model.builder.op("CALL_ONCE", [], [], {"init_subgraph_index": number})
    (problem,) = refusal(model).problems
    assert problem.code == "GM105"
    assert "CALL_ONCE" in problem.message


@pytest.mark.parametrize("number", [0, 2, -1, 1 << 30])
def test_a_subgraph_that_is_not_there_is_named(number: int) -> None:
    model = StreamModel(0, begins=False)
    model.builder.subgraph("once")
    model.builder.op("CALL_ONCE", [], [], {"init_subgraph_index": number})
    x = model.input(1, 4)
    model.builder.output(model.delayed(x).ref)
    assert [problem.code for problem in refusal(model).problems] == ["GM101"]


def test_a_subgraph_that_calls_itself_is_refused() -> None:
    model = StreamModel(0, begins=False)
    inner, number = model.builder.subgraph("once")
    inner.op("CALL_ONCE", [], [], {"init_subgraph_index": number})
    model.builder.op("CALL_ONCE", [], [], {"init_subgraph_index": number})
    x = model.input(1, 4)
    model.builder.output(model.delayed(x).ref)
    assert [problem.code for problem in refusal(model).problems] == ["GM105"]


def test_a_handle_is_needed() -> None:
    builder = ModelBuilder()
    x = builder.input("x", [1, 1, 1, 4], "int8", 0.05)
    y = builder.tensor("y", [1, 1, 1, 4], "int8", 0.05)
    builder.op("READ_VARIABLE", [x], [y])
    builder.output(y)
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(builder.finish(), "m.tflite")
    assert [problem.code for problem in caught.value.problems] == ["GM105"]


def test_what_call_once_computes_is_computed_here() -> None:
    """The subgraph may do more than assign constants."""
    model = StreamModel(0, begins=False)
    inner, number = model.builder.subgraph("once")
    handle = inner.tensor("h", [], "resource")
    inner.op("VAR_HANDLE", [], [handle], {"shared_name": "state_2"})
    a = inner.constant("a", np.full((1, 1, 1, 4), 10, np.int8), 0.05, 0)
    total = inner.tensor("total", [1, 1, 1, 4], "int8", 0.05, 0)
    inner.op("ADD", [a, a], [total], {})
    inner.op("ASSIGN_VARIABLE", [handle, total], [])
    model.builder.op("CALL_ONCE", [], [], {"init_subgraph_index": number})
    x: Signal = model.input(1, 4)
    model.builder.output(model.delayed(x).ref)
    graph = reference_graph(model.finish(), "m.tflite")
    assert [state.initial.tolist() for state in graph.states] == [[[[[20] * 4]]]]
