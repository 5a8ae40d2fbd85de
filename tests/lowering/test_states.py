"""Passes on graphs with states: what is kept of a state, and where its new value is made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ir.interpreter import Session
from glowmcu.lowering import materialize_states, narrow_states
from glowmcu.lowering.model_border import with_border
from glowmcu.lowering.passes import lower
from glowmcu.ops.assign import Assign
from glowmcu.ops.elementwise import Add
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.slicing import Slice
from glowmcu.pipeline import reference_graph
from tests.ir.graphs import int8
from tests.support.stream_models import StreamModel, random_stream_model

STEPS = 10


def same_stream(before: Graph, after: Graph, seed: int = 0) -> bool:
    """Whether both give the same results, run after run."""
    random = np.random.default_rng(seed)
    one, other = Session(before), Session(after)
    after.verify()
    return all(
        all(np.array_equal(a, b) for a, b in zip(one.run(xs), other.run(xs), strict=True))
        for xs in (
            [random.integers(-128, 128, v.type.shape).astype(np.int8) for v in before.arguments]
            for _ in range(STEPS)
        )
    )


@pytest.mark.parametrize("seed", range(20))
def test_lowering_keeps_every_run_of_a_stream(seed: int) -> None:
    graph = reference_graph(random_stream_model(seed), "m.tflite")
    assert same_stream(graph, lower(graph), seed)


def whole_queue(rows: int, new: int, read_whole: bool = False) -> Graph:
    """A state of all rows of a window, of which the oldest go before the new ones come."""
    x, state = Value(int8(1, new, 1, 4), "x"), Value(int8(1, rows, 1, 4), "state")
    kept = Value(int8(1, rows - new, 1, 4), "kept")
    window = Value(state.type, "window")
    whole = (1,) * 4
    nodes = [
        Node(Slice((0, new, 0, 0), kept.type.shape, whole), (state,), (kept,), "kept"),
        Node(Concatenation(1), (kept, x), (window,), "window"),
    ]
    outputs = [window]
    if read_whole:
        both = Value(state.type, "both")
        nodes.append(Node(Add(), (state, window), (both,), "both"))
        outputs = [both]
    initial = np.arange(rows * 4, dtype=np.int8).reshape(state.type.shape)
    states = (State(state, initial),)
    return Graph("main", (x, state), tuple(nodes), (*outputs, window), states=states)


@pytest.mark.parametrize(("rows", "new"), [(5, 1), (7, 3), (4, 2)])
def test_rows_that_are_never_read_are_not_kept(rows: int, new: int) -> None:
    graph = whole_queue(rows, new)
    narrow = narrow_states.run(graph)
    (state,) = narrow.states
    assert state.value.type.shape == (1, rows - new, 1, 4)
    assert state.initial.ravel()[0] == 4 * new
    assert same_stream(graph, narrow)
    assert same_stream(graph, lower(graph))


def test_a_state_that_is_read_as_a_whole_stays() -> None:
    graph = whole_queue(5, 1, read_whole=True)
    assert narrow_states.run(graph) is graph


def test_a_state_that_is_a_result_stays() -> None:
    graph = whole_queue(5, 1)
    shown = Graph("main", graph.inputs, graph.nodes, (graph.inputs[1], graph.outputs[1]),
                  states=graph.states)  # fmt: skip
    assert narrow_states.run(shown) is shown


def test_slices_along_several_axes_leave_a_state_as_it_is() -> None:
    graph = whole_queue(6, 2)
    state = graph.states[0].value
    other = Value(int8(1, 6, 1, 2), "half")
    half = Node(Slice((0, 0, 0, 2), other.type.shape, (1,) * 4), (state,), (other,), "half")
    mixed = graph.replace((*graph.nodes, half), (other, graph.outputs[1]))
    assert narrow_states.run(mixed) is mixed


def test_what_two_slices_read_is_kept() -> None:
    graph = whole_queue(9, 4)
    state = graph.states[0].value
    other = Value(int8(1, 2, 1, 4), "others")
    node = Node(Slice((0, 2, 0, 0), other.type.shape, (1,) * 4), (state,), (other,), "others")
    both = graph.replace((*graph.nodes, node), (other, graph.outputs[1]))
    narrow = narrow_states.run(both)
    assert narrow.states[0].value.type.shape == (1, 7, 1, 4)
    assert same_stream(both, narrow)


def long_queue(kept: int, new: int, begins: tuple[int, ...], whole: bool = False) -> Graph:
    """Kept rows, new ones behind them, and windows of two rows of both from each of `begins`."""
    x, state = Value(int8(1, new, 1, 4), "x"), Value(int8(1, kept, 1, 4), "state")
    rows, ones = Value(int8(1, kept + new, 1, 4), "rows"), (1,) * 4
    after = Value(state.type, "after")
    nodes = [
        Node(Concatenation(1), (state, x), (rows,), "rows"),
        Node(Slice((0, new, 0, 0), state.type.shape, ones), (rows,), (after,), "after"),
    ]
    results = [rows] if whole else []
    for begin in begins:
        results.append(Value(int8(1, 2, 1, 4), f"from {begin}"))
        cut = Slice((0, begin, 0, 0), (1, 2, 1, 4), ones)
        nodes.append(Node(cut, (rows,), (results[-1],), results[-1].name))
    initial = np.arange(kept * 4, dtype=np.int8).reshape(state.type.shape)
    states = (State(state, initial),)
    return Graph("main", (x, state), tuple(nodes), (*results, after), states=states)


@pytest.mark.parametrize(
    ("kept", "new", "begins", "stay"),
    [(9, 1, (8,), 1), (9, 1, (5, 7), 4), (9, 3, (10,), 1), (9, 3, (4,), 5), (2, 1, (1,), 1)],
)
def test_rows_that_no_window_reads_are_not_kept(
    kept: int, new: int, begins: tuple[int, ...], stay: int
) -> None:
    graph = long_queue(kept, new, begins)
    graph.verify()
    narrow = narrow_states.run(graph)
    assert narrow.states[0].value.type.shape == (1, stay, 1, 4)
    assert same_stream(graph, narrow)
    assert same_stream(graph, lower(graph))


def test_windows_from_the_first_row_on_or_of_all_rows_keep_a_queue_as_it_is() -> None:
    for graph in (long_queue(5, 1, (0, 3)), long_queue(5, 1, (3,), whole=True)):
        assert narrow_states.run(graph) is graph


def test_a_queue_that_another_stage_reads_stays() -> None:
    graph = long_queue(9, 1, (8,))
    shared = replace(graph, states=(replace(graph.states[0], shared=True),))
    assert narrow_states.run(shared) is shared


def updates(graph: Graph) -> int:
    """How many copies to states there are."""
    return sum(isinstance(node.op, Assign) for node in materialize_states.run(graph).nodes)


def total(*nodes: Node, outputs: tuple[Value, ...], x: Value, old: Value) -> Graph:
    state = State(old, np.zeros(old.type.shape, np.int8))
    return Graph("main", (x, old), nodes, outputs, states=(state,))


def test_a_new_value_is_made_in_place_where_nobody_reads_the_old_one_any_more() -> None:
    x, old, new, y, z = (Value(int8(1, 4), name) for name in ("x", "old", "new", "y", "z"))
    read = Node(Add(), (x, old), (y,), "read")
    made = Node(Add(), (x, y), (new,), "made")
    late = Node(Add(), (new, old), (z,), "late")
    assert updates(total(read, made, outputs=(y, new), x=x, old=old)) == 0
    # Its maker reads the old value, and an addition does not say that it may write there.
    assert updates(total(read, outputs=(x, y), x=x, old=old)) == 1
    assert updates(total(read, made, late, outputs=(z, new), x=x, old=old)) == 1
    assert updates(total(read, made, outputs=(old, new), x=x, old=old)) == 1
    # The application may write into a result.
    assert updates(total(read, made, outputs=(new, new), x=x, old=old)) == 1
    assert updates(total(outputs=(x, x), x=x, old=old)) == 1


def test_states_that_are_exchanged_are_copied() -> None:
    model = StreamModel(0)
    x = model.input(1, 4)
    model.builder.output(model.exchanged(x).ref)
    graph = reference_graph(model.finish(), "m.tflite")
    assert same_stream(graph, materialize_states.run(graph))
    assert updates(graph) >= 1


def test_a_result_that_is_a_state_as_well_has_the_border_that_is_asked_for() -> None:
    graph = reference_graph(random_stream_model(7), "m.tflite")
    assert graph.results[0] in graph.assigned
    outer = with_border(graph, InputOptions(io="uint8"), "m.tflite")
    outer.verify()
    one, other = Session(graph), Session(outer)
    random = np.random.default_rng(0)
    for _ in range(STEPS):
        x = random.integers(-128, 128, graph.arguments[0].type.shape).astype(np.int8)
        (want,), (got,) = one.run([x]), other.run([(x.astype(np.int16) + 128).astype(np.uint8)])
        assert got.dtype == np.uint8
        assert np.array_equal(got, want.astype(np.int16) + 128)
