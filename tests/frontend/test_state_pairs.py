"""Inputs and outputs that are one state: said by the user, or plain by their names."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.frontend import state_pairs
from glowmcu.frontend.state_pairs import found_pairs
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.interpreter import Session, run_graph
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.pipeline import reference_graph
from glowmcu.quant.sample_source import SampleSource

pytest.importorskip("onnx")
from tests.support.onnx_models import finished
from tests.support.recurrent_models import recurrent_step, smooth, stacked_steps

APART = InputOptions(finds_states=False)


def by_hand(data: bytes, xs: np.ndarray) -> list[np.ndarray]:
    """Each run's result, with states handed over by the application."""
    graph = reference_graph(data, "m.onnx", inputs=APART)
    states = [np.zeros(value.type.shape, np.float32) for value in graph.inputs[1:]]
    results = []
    for x in xs:
        y, *states = run_graph(graph, [x, *states])
        results.append(y)
    return results


@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
def test_plain_names_are_found(kind: str) -> None:
    data, xs = recurrent_step(kind), smooth(12, 8, 1)
    graph = reference_graph(data, "m.onnx")
    assert [value.name for value in graph.arguments] == ["x"]
    assert [value.name for value in graph.results] == ["y"]
    session = Session(graph)
    for x, want in zip(xs, by_hand(data, xs), strict=True):
        assert np.array_equal(session.run([x])[0], want)


def test_what_is_said_is_done() -> None:
    data, xs = recurrent_step(names=("what", "ever")), smooth(6, 8, 2)
    assert not reference_graph(data, "m.onnx").states
    graph = reference_graph(data, "m.onnx", inputs=InputOptions(states={"what": "ever"}))
    session = Session(graph)
    for x, want in zip(xs, by_hand(data, xs), strict=True):
        assert np.array_equal(session.run([x])[0], want)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("kind", "steps", "layers"),
    [("GRU", 5, 3), ("GRU", 1, 3), ("LSTM", 5, 3), ("RNN", 5, 3), ("GRU", 5, 2)],
)
def test_layers_that_share_one_state_write_their_parts_of_it(
    kind: str, steps: int, layers: int, turned: bool, tmp_path: Path
) -> None:
    """A layer reads its part of the old state while it writes the new one, which may lie there."""
    data = stacked_steps(kind, layers, steps, turned)
    xs = np.random.default_rng(5).standard_normal((4, steps, 1, 8)).astype(np.float32)
    (tmp_path / "stack.onnx").write_bytes(data)
    session = glowmcu.compile(tmp_path / "stack.onnx", output=tmp_path / "out").session()
    for x, want in zip(xs, by_hand(data, xs), strict=True):
        np.testing.assert_allclose(session.run([x])[0], want, rtol=0, atol=1e-6)


def test_none_leaves_plain_names_alone() -> None:
    assert not reference_graph(recurrent_step(), "m.onnx", inputs=APART).states


def test_a_state_begins_with_what_it_is_bound_to() -> None:
    data, initial = recurrent_step(), np.linspace(-1, 1, 12, dtype=np.float32).reshape(1, 1, 12)
    options = InputOptions(states={"h0": "hn"}, bind={"h0": initial})
    session = Session(reference_graph(data, "m.onnx", inputs=options))
    (x,) = smooth(1, 8, 3)
    plain = reference_graph(data, "m.onnx", inputs=APART)
    assert np.array_equal(session.run([x])[0], run_graph(plain, [x, initial])[0])


@pytest.mark.parametrize(
    ("given", "got", "are"),
    [
        ("state", "stateN", True), ("state", "new_state", True), ("prev_state", "state", True),
        ("hidden", "hidden_out", True), ("cache", "cache_scale", False), ("x", "x_out", False),
        ("state", "out_new_state", False), ("state_n", "state", False),
        ("h0", "hn", True), ("h_0", "h_n", True), ("state_in", "state_out", True),
        ("prevState", "nextState", True), ("past_key", "present_key", True),
        ("hidden.in", "hidden.out", True), ("conv1.cache.in", "conv1.cache.out", True),
        ("conv1.cache.in", "conv2.cache.out", False), ("image_in", "image_out", False),
        ("input", "output", False), ("state", "state_out", True), ("x0", "xn", False),
        ("state_a", "state_b", False), ("h0", "h0_n", True),
    ],
)  # fmt: skip
def test_which_names_are_plain(given: str, got: str, are: bool) -> None:
    assert found_pairs(bordered([given, "x"], [got, "y"])) == ({given: got} if are else {})


def bordered(inputs: list[str], outputs: list[str], shape: tuple[int, ...] = (1, 4)) -> Graph:
    def value(name: str) -> Value:
        return Value(TensorType((1, 9) if name in "xy" else shape, ElementType.F32), name)

    return Graph("main", tuple(map(value, inputs)), (), tuple(map(value, outputs)))


def test_names_of_inputs_that_are_no_state_are_looked_at_once() -> None:
    graph = bordered([f"i{at}" for at in range(30)], [f"o{at}" for at in range(30)])
    with mock.patch.object(state_pairs, "words_of", wraps=state_pairs.words_of) as words_of:
        assert found_pairs(graph) == {}
    assert words_of.call_count == 30


def test_names_that_fit_twice_are_not_plain() -> None:
    assert not found_pairs(bordered(["state_in", "x"], ["state_out", "state.out", "y"]))
    assert not found_pairs(bordered(["state_in", "state.in", "x"], ["state_out", "y"]))


def test_the_application_keeps_an_input_and_an_output() -> None:
    assert not found_pairs(bordered(["state_in"], ["state_out", "y"]))
    assert not found_pairs(bordered(["state_in", "x"], ["state_out"]))


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ({"nothing": "hn"}, "no input is named 'nothing'"),
        ({"h0": "nothing"}, "nothing assigns the state 'h0'"),
        ({"h0": "y"}, "which it is to become"),
        ({"h0": "hn", "x": "hn"}, "two states"),
        ({"h0": "hn", "x": "y"}, "which it is to become"),
    ],
)
def test_pairs_that_are_no_state_are_refused(states: dict[str, str], said: str) -> None:
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(recurrent_step(), "m.onnx", inputs=InputOptions(states=states))
    assert {problem.code for problem in caught.value.problems} == {"GM129"}
    assert any(said in problem.message for problem in caught.value.problems)
    assert "inputs: x, h0" in caught.value.problems[0].hint


def left_as_it_was(kinds: tuple[str, ...]) -> bytes:
    """`y` is `x * h0`; `hn` is `h0` by operators that change nothing."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    names = ["h0", *(f"t{i}" for i in range(len(kinds) - 1)), "hn"]
    shapes = {"flat": np.array([6], np.int64), "square": np.array([2, 3], np.int64)}
    nodes = [node("Mul", ["x", "h0"], ["y"])]
    for index, kind in enumerate(kinds):
        given, got = [names[index]], [names[index + 1]]
        if kind == "Transpose":
            nodes.append(node(kind, given, got, perm=[1, 0]))
        elif kind == "Reshape":
            shape = "flat" if index + 1 < len(kinds) else "square"
            nodes.append(node(kind, [*given, shape], got))
        else:
            nodes.append(node(kind, given, got))
    inputs, outputs = (
        [value(name, onnx.TensorProto.FLOAT, [2, 3]) for name in pair]
        for pair in (("x", "h0"), ("y", "hn"))
    )
    constants = [onnx.numpy_helper.from_array(data, name) for name, data in shapes.items()]
    return finished(onnx, nodes, inputs, outputs, constants)


def test_an_input_that_goes_out_as_it_came_is_no_state() -> None:
    data = left_as_it_was(("Identity",))
    assert not reference_graph(data, "m.onnx").states
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(data, "m.onnx", inputs=InputOptions(states={"h0": "hn"}))
    (problem,) = caught.value.problems
    assert problem.code == "GM129"
    assert "nothing assigns the state 'h0': 'hn' is it as it came" in problem.message


@pytest.mark.parametrize("kinds", [("Transpose", "Transpose"), ("Reshape", "Reshape")])
def test_a_state_that_each_run_leaves_as_it_was_is_a_constant(
    kinds: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "m.onnx").write_bytes(left_as_it_was(kinds))
    h0 = np.arange(6, dtype=np.float32).reshape(2, 3)
    bundle = glowmcu.compile(
        tmp_path / "m.onnx", output=tmp_path / "out", states={"h0": "hn"}, bind={"h0": h0}
    )
    assert not bundle.manifest.states
    session = bundle.session()
    for x in np.random.default_rng(1).standard_normal((3, 2, 3)).astype(np.float32):
        np.testing.assert_array_equal(session.run([x])[0], x * h0)


def test_a_beginning_of_another_shape_is_refused() -> None:
    options = InputOptions(states={"h0": "hn"}, bind={"h0": np.zeros(3, np.float32)})
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(recurrent_step(), "m.onnx", inputs=options)
    assert caught.value.code == "GM129"


def quantized_pair(scale: float, point: int) -> bytes:
    """`total` becomes `total + x`, which the exporter gave a scale of its own."""
    model = ModelBuilder()
    x = model.input("x", (1, 4), "int8", 0.5, 1)
    before = model.input("total_state_in", (1, 4), "int8", 0.5, 1)
    after = model.tensor("total_state_out", (1, 4), "int8", scale, point)
    y = model.tensor("y", (1, 4), "int8", 0.25, -3)
    model.op("ADD", [x, before], [after])
    model.op("ADD", [x, x], [y])
    model.output(after)
    model.output(y)
    return model.finish()


def test_a_state_keeps_its_scale() -> None:
    data = quantized_pair(0.75, -5)
    graph = reference_graph(data, "m.tflite")
    (state,), (assigned,) = graph.states, graph.assigned
    assert assigned.type == state.value.type
    assert set(state.initial.ravel().tolist()) == {1}
    graph.verify()
    same = reference_graph(quantized_pair(0.5, 1), "m.tflite")
    assert len(same.nodes) == len(graph.nodes) - 1


def test_a_bundle_says_which_names_made_a_state(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(recurrent_step())
    bundle = glowmcu.compile(tmp_path / "m.onnx", output=tmp_path / "found")
    assert any("h0=hn" in note and "--state none" in note for note in bundle.notes)
    assert bundle.manifest.options["state"] == "h0=hn"
    said = glowmcu.compile(tmp_path / "m.onnx", output=tmp_path / "said", states={"h0": "hn"})
    assert not any("h0=hn" in note for note in said.notes)
    apart = glowmcu.compile(tmp_path / "m.onnx", output=tmp_path / "apart", states={})
    assert [entry.name for entry in apart.manifest.inputs] == ["x", "h0"]
    assert "state" not in apart.manifest.options


@pytest.mark.parametrize(
    ("became_a", "became_b"), [("b", "a"), ("x", "a"), ("b", "x")],
    ids=["exchanged", "a delay of two", "a delay of two, the other way round"],
)  # fmt: skip
def test_states_that_become_one_another_keep_their_values(
    became_a: str, became_b: str, tmp_path: Path
) -> None:
    onnx = pytest.importorskip("onnx")
    node = onnx.helper.make_node
    nodes = [
        node("Identity", [became_a], ["an"]),
        node("Identity", [became_b], ["bn"]),
        node("Sub", ["a", "b"], ["apart"]),
        node("Add", ["apart", "x"], ["y"]),
    ]
    infos = {name: onnx.helper.make_tensor_value_info(name, 1, (1, 3))
             for name in ("x", "a", "b", "y", "an", "bn")}  # fmt: skip
    inputs, outputs = (
        [infos[name] for name in names] for names in (("x", "a", "b"), ("y", "an", "bn"))
    )
    (tmp_path / "m.onnx").write_bytes(finished(onnx, nodes, inputs, outputs, []))
    begin = {"a": np.full((1, 3), 5, np.float32), "b": np.full((1, 3), 2, np.float32)}
    bundle = glowmcu.compile(
        tmp_path / "m.onnx", output=tmp_path / "out", states={"a": "an", "b": "bn"}, bind=begin
    )
    session, held = bundle.session(), dict(begin)
    for number in range(1, 6):
        held["x"] = np.full((1, 3), number, np.float32)
        (y,) = session.run([held["x"]])
        np.testing.assert_array_equal(y, held["a"] - held["b"] + held["x"])
        held |= {"a": held[became_a], "b": held[became_b]}


@pytest.mark.parametrize("by", ["array", "name", "list"])
def test_samples_without_an_input_called_as_an_output_are_refused_with_the_state(by: str) -> None:
    """`mean` is no word of states: nobody but the user can say that it is one."""
    graph = reference_graph(recurrent_step(names=("mean_in", "mean_out")), "m.onnx")
    assert not graph.states
    xs = smooth(6, 8, 2)
    data = {"array": xs, "name": {"x": xs}, "list": [{"x": xs[0]}]}[by]
    with pytest.raises(GlowmcuError) as caught:
        list(SampleSource(data).read(graph))
    (problem,) = caught.value.problems
    assert problem.code == "GM304"
    assert problem.hint.startswith("add --state mean_in=mean_out if each run is given what")
    assert "states={'mean_in': 'mean_out'}" in str(problem)
    others = reference_graph(recurrent_step(names=("what", "ever")), "m.onnx")
    with pytest.raises(GlowmcuError) as caught:
        list(SampleSource(data).read(others))
    assert "--state" not in caught.value.problems[0].hint
