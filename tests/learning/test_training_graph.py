"""Graphs that learn: what they are made of, what a step does, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.gradient.builder import Builder
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.text import parse_graph, print_graph
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.learning.layers import trained_layers
from glowmcu.learning.training_graph import with_training
from glowmcu.lowering.passes import lower
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.registry import load_operations
from glowmcu.ops.transcendental import Tanh
from glowmcu.pipeline import application_graph
from glowmcu.training import Loss, Training, training_of, training_of_bundle
from tests.support.onnx_models import DEFAULT_OPSET, finished

DIGITS = Path("examples/digits/digits_int8.tflite")
GESTURES = Path("examples/gestures/model_float.tflite")
#: Time is the width of its images, which lowering turns.
VOWELS = Path("examples/vowels/model.onnx")


def graph_of(path: Path) -> Graph:
    return application_graph(path.read_bytes(), path.name)[0]


def learning(path: Path, what: str, **options: float) -> Graph:
    training = training_of(what, **options)  # type: ignore[arg-type]
    return with_training(graph_of(path), training, path.name)


def drawn(graph: Graph, count: int, seed: int = 0) -> list[Array]:
    random, type_ = np.random.default_rng(seed), graph.arguments[0].type
    if type_.element.is_float:
        return [random.standard_normal(type_.shape).astype(np.float32) for _ in range(count)]
    return [random.integers(-128, 128, type_.shape).astype(np.int8) for _ in range(count)]


def label(number: int) -> Array:
    return np.array([number], np.int32)


def onnx_graph(
    nodes: list[Any],
    inputs: dict[str, tuple[Any, tuple[int, ...]]],
    results: list[str],
    constants: dict[str, Array],
) -> bytes:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
        for name, (dtype, shape) in inputs.items()
    ]
    values = [onnx.ValueInfoProto(name=name) for name in results]
    stored = [onnx.numpy_helper.from_array(data, name) for name, data in constants.items()]
    return finished(onnx, nodes, given, values, stored, DEFAULT_OPSET)


def states_of(graph: Graph, session: Session) -> dict[str, Array]:
    return {
        state.value.name: data for state, data in zip(graph.states, session._states, strict=True)
    }


@pytest.mark.parametrize("what", ["last=2", "last=1"])
@pytest.mark.parametrize("kind", ["Gemm", "MatMul", "Conv"])
def test_weights_that_layers_share_learn_together(kind: str, what: str) -> None:
    """The step is that of the loss by all places where they are, by finite differences."""
    onnx = pytest.importorskip("onnx")
    shape = (1, 3, 1, 1) if kind == "Conv" else (1, 3)
    weights = np.random.default_rng(2).standard_normal((3, 3, *shape[2:])).astype(np.float32)
    options = {"transB": 1} if kind == "Gemm" else {}
    make = onnx.helper.make_node
    data = onnx_graph(
        [make(kind, ["x", "w"], ["h"], **options), make("Tanh", ["h"], ["t"]),
         make(kind, ["t", "w"], ["y"], **options)],
        {"x": (np.float32, shape)}, ["y"], {"w": weights},
    )  # fmt: skip
    training = training_of(what, "squared-error", learning_rate=1e-3)
    assert training is not None
    graph = with_training(application_graph(data, "m.onnx")[0], training, "m.onnx")
    names = [state.value.name for state in graph.states if state.value.name.endswith("weights")]
    (at,) = [n for n, state in enumerate(graph.states) if state.value.name in names]
    x, target = drawn(graph, 1)[0], np.zeros(graph.results[0].type.shape, np.float32)

    def loss(moved: Array) -> float:
        session = Session(graph)
        session._states[at] = moved
        return float(session.run([x, target, label(0)])[1][0])

    start, session = graph.states[at].initial, Session(graph)
    session.run([x, target, label(0)])
    gradient = (start - states_of(graph, session)[names[0]]) / 1e-3
    for place in ((0, ..., 1), (2, ..., 0)):
        change = np.zeros_like(start)
        change[place] = 1e-2
        slope = (loss(start + change) - loss(start - change)) / 2e-2
        np.testing.assert_allclose(gradient[place].sum(), slope, rtol=0.02, atol=1e-3)


def test_runs_without_a_label_change_nothing_and_say_what_the_model_says() -> None:
    plain, graph = graph_of(GESTURES), learning(GESTURES, "last=2")
    session = Session(graph)
    before = states_of(graph, session)
    for x in drawn(plain, 3):
        for nothing in (-1, 4, 2**31 - 1, -(2**31)):
            got, loss = session.run([x, label(nothing)])
            np.testing.assert_allclose(got, Session(plain).run([x])[0], rtol=1e-6, atol=1e-6)
            assert loss == 0
    after = states_of(graph, session)
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_an_int8_model_learns_from_what_its_layers_stored() -> None:
    """The scores of the untrained model stay within a step or two of those of the integers."""
    plain, graph = graph_of(DIGITS), learning(DIGITS, "last=1")
    for x in drawn(plain, 8):
        want = Session(plain).run([x])[0].astype(int)
        got = Session(graph).run([x, label(-1)])[0].astype(int)
        assert np.abs(want - got).max() <= 8
    frozen = [node for node in graph.nodes if node.stage == 0 and node.op.name == "conv_2d"]
    assert frozen
    assert all(node.output.type.element.numpy == np.int8 for node in frozen)


def test_a_step_of_the_last_layer_is_the_textbooks() -> None:
    """w - rate (p - y) x^T, written out by hand."""
    graph = learning(GESTURES, "last=1", learning_rate=0.25)
    session = Session(graph)
    weights, bias = (state.initial for state in graph.states[:2])
    (x,) = drawn(graph, 1)
    probabilities, loss = session.run([x, label(2)])
    p = probabilities.reshape(-1).astype(np.float64)
    np.testing.assert_allclose(loss[0], -np.log(p[2]), rtol=1e-5)
    error = p - np.eye(4)[2]
    after = states_of(graph, session)
    np.testing.assert_allclose(after["classify/bias"], bias - 0.25 * error, rtol=1e-4, atol=1e-6)
    moved = (weights - after["classify/weights"]) / 0.25
    # Of rank one: the error times the features, which are the same for each class.
    features = moved / error[:, np.newaxis]
    np.testing.assert_allclose(features, features[:1].repeat(4, 0), rtol=1e-2, atol=1e-3)


def test_momentum_goes_on_by_what_was_asked() -> None:
    """Two steps on one input: v1 = g1, v2 = 0.5 v1 + g2."""
    with_it = learning(GESTURES, "last=1,bias", learning_rate=1.0, momentum=0.5)
    without = learning(GESTURES, "last=1,bias", learning_rate=1.0)
    (x,) = drawn(with_it, 1)
    one, other = Session(with_it), Session(without)
    start = states_of(without, other)["classify/bias"]
    for session in (one, other):
        session.run([x, label(1)])
    first = states_of(without, other)["classify/bias"]
    np.testing.assert_array_equal(states_of(with_it, one)["classify/bias"], first)
    for session in (one, other):
        session.run([x, label(1)])
    second = states_of(without, other)["classify/bias"]
    expected = second + 0.5 * (first - start)
    np.testing.assert_allclose(states_of(with_it, one)["classify/bias"], expected, atol=1e-6)


@pytest.mark.parametrize("what", ["last=1", "last=2", "last=4", "bias", "conv_1,classify"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_losses_of_a_batch_that_is_seen_again_fall(what: str, momentum: float) -> None:
    graph = learning(GESTURES, what, learning_rate=0.05, momentum=momentum)
    session, data = Session(graph), drawn(graph, 4, seed=3)
    losses = [
        sum(float(session.run([x, label(at)])[1][0]) for at, x in enumerate(data))
        for _ in range(30)
    ]
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("path", [DIGITS, GESTURES, VOWELS])
@pytest.mark.parametrize("what", ["last=1", "last=3", "last=2,bias"])
def test_passes_leave_what_a_graph_learns(path: Path, what: str) -> None:
    graph = learning(path, what, learning_rate=0.05, momentum=0.9)
    lowered = lower(graph)
    assert {state.value.name for state in lowered.states} == {s.value.name for s in graph.states}
    stages = {lowered.producers[value].stage for value in lowered.assigned}
    assert stages == {1}, "a state is assigned in runs that do not learn"
    one, other = Session(graph), Session(lowered)
    for at, x in enumerate(drawn(graph, 6)):
        want, got = (session.run([x, label(at % 4)]) for session in (one, other))
        np.testing.assert_allclose(got[1], want[1], rtol=2e-4, atol=2e-5)


def test_squared_error_compares_an_output_with_a_target() -> None:
    graph = with_training(
        graph_of(GESTURES), Training(1, loss=Loss.SQUARED_ERROR, learning_rate=0.5), "m"
    )
    assert [value.name for value in graph.arguments][1:] == ["target", "learn"]
    session, x = Session(graph), 0.1 * drawn(graph, 1)[0]
    target = np.full(graph.results[0].type.shape, 0.25, np.float32)
    first, loss = session.run([x, target, label(0)])
    np.testing.assert_allclose(loss[0], np.mean((first - target) ** 2), rtol=1e-5)
    losses = [float(session.run([x, target, label(0)])[1][0]) for _ in range(20)]
    assert losses[-1] < 0.6 * loss[0]
    assert float(session.run([x, target, label(-1)])[1][0]) == losses[-1]


def test_constants_that_layers_share_learn_together() -> None:
    build, random = Builder("m"), np.random.default_rng(0)
    x = Value(TensorType((1, 4), ElementType.F32), "x")
    weights = build.constant(random.standard_normal((4, 4)).astype(np.float32))
    bias = build.constant(np.ones(4, np.float32))
    hidden = build.add(Tanh(), build.add(FullyConnected(), x, weights, bias))
    y = build.add(FullyConnected(), hidden, weights, bias)
    plain = Graph("m", (x,), tuple(build.nodes), (y,))
    graph = with_training(plain, Training(), "m")
    assert len([state for state in graph.states if "/" in state.value.name]) == 2
    session = Session(graph)
    data = random.standard_normal((1, 4)).astype(np.float32)
    losses = [float(session.run([data, label(3)])[1][0]) for _ in range(40)]
    assert losses[-1] < losses[0]


def test_text_has_what_learning_needs() -> None:
    graph = learning(DIGITS, "last=1")
    again = parse_graph(print_graph(graph), load_operations())
    assert again.rates == graph.rates
    one, other = Session(graph), Session(again)
    for at, x in enumerate(drawn(graph, 3)):
        for want, got in zip(one.run([x, label(at)]), other.run([x, label(at)]), strict=True):
            np.testing.assert_array_equal(want, got)


def test_options_of_a_bundle_make_the_same_graph() -> None:
    training = training_of("last=2,bias", "squared-error", 0.125, 0.5)
    assert training is not None
    assert training_of_bundle(training.text) == training
    assert training_of_bundle({}) is None
    data = DIGITS.read_bytes()
    given = InputOptions(training=training)
    graph, _ = application_graph(data, DIGITS.name, None, Rounding.DOUBLE, given)
    assert len(graph.rates) == 2


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ({"train": "lats=1"}, "GM360", "called 'lats=1'"),
        ({"train": "last=x"}, "GM734", "does not take 'last=x'"),
        ({"train": "last=0"}, "GM734", "does not take 'last=0'"),
        ({"train": ""}, "GM734", "does not take ''"),
        ({"train": "prototypes=0"}, "GM734", "does not take 'prototypes=0'"),
        ({"train": "prototypes=3,bias"}, "GM734", "which layers in front of them learn"),
        ({"train": "last_dense"}, "GM360", "called 'last_dense'"),
        ({"train": "last=1,classify"}, "GM734", "twice"),
        ({"train": "last=1,last=2"}, "GM734", "twice"),
        ({"train": "last=99"}, "GM360", "the last 99 layers cannot learn: 4 have weights"),
        ({"train": "clasify"}, "GM360", "called 'clasify'"),
        ({"train": "last=1", "loss": "hinge"}, "GM735", "not 'hinge'"),
        ({"train": "last=1", "learning_rate": 0.0}, "GM735", "got 0 and 0"),
        ({"train": "last=1", "learning_rate": float("nan")}, "GM735", "must be a number"),
        ({"train": "last=1", "learning_rate": 1e-60}, "GM735", "got 1e-60 and 0"),
        ({"train": "last=1", "momentum": 1.0}, "GM735", "got 0.01 and 1"),
        ({"train": "last=1", "momentum": 1 - 1e-12}, "GM735", "got 0.01 and 1"),
        ({"train": None, "momentum": 0.5}, "GM735", "none are"),
    ],
)
def test_what_cannot_be_learnt_is_refused(options: dict[str, object], code: str, said: str) -> None:
    graph = graph_of(GESTURES)
    with pytest.raises(GlowmcuError, match=code) as found:
        with_training(graph, training_of(**options), "m")  # type: ignore[arg-type]
    assert said in str(found.value)


def test_layers_whose_names_have_commas_can_be_named() -> None:
    onnx = pytest.importorskip("onnx")
    make, ones = onnx.helper.make_node, np.ones((3, 3), np.float32)
    results = ["a,b", "a", "y, z"]
    data = onnx_graph(
        [make("MatMul", [x, f"w {y}"], [y], name=y)
         for x, y in zip(["x", *results], results, strict=False)],
        {"x": (np.float32, (1, 3))}, results[-1:], {f"w {y}": ones for y in results},
    )  # fmt: skip
    graph = application_graph(data, "m.onnx")[0]
    layers = [layer.node.name for layer in trained_layers(graph, Training(), "m")]
    assert [name.count(",") for name in layers] == [1, 0, 1]
    for chosen in (layers[:2], layers[1:], layers):
        training = training_of(",".join(chosen))
        assert training is not None
        found = trained_layers(graph, training, "m")
        assert [layer.node.name for layer in found] == chosen


def test_an_operator_without_gradient_is_named() -> None:
    onnx = pytest.importorskip("onnx")
    make, ones = onnx.helper.make_node, np.ones((3, 3), np.float32)
    data = onnx_graph(
        [make("MatMul", ["x", "w"], ["h"], name="first"),
         make("Mod", ["h", "c"], ["m"], name="odd", fmod=1),
         make("MatMul", ["m", "v"], ["y"], name="last")],
        {"x": (np.float32, (1, 3))}, ["y"],
        {"w": ones, "v": ones, "c": np.full((3,), 2.0, np.float32)},
    )  # fmt: skip
    graph = application_graph(data, "m.onnx")[0]
    with pytest.raises(GlowmcuError, match="GM361") as found:
        with_training(graph, Training(), "m.onnx")
    assert "trunc_mod has no gradient" in str(found.value)
    assert "train='last=1'" in str(found.value)


@pytest.mark.parametrize(("last", "missing"), [("v", "weights, "), ("w", "bias: ")])
def test_a_layer_that_only_a_condition_reads_is_named(last: str, missing: str) -> None:
    """What it shares with the last layer has a gradient from there."""
    onnx = pytest.importorskip("onnx")
    make, ones = onnx.helper.make_node, np.ones((3, 3), np.float32)
    data = onnx_graph(
        [make("Gemm", ["x", "w", "b"], ["a"]), make("Greater", ["a", "zero"], ["c"]),
         make("Where", ["c", "x", "zero"], ["d"]), make("MatMul", ["d", last], ["y"])],
        {"x": (np.float32, (1, 3))}, ["y"],
        {"w": ones, "v": ones, "b": ones[0], "zero": np.float32(0)},
    )  # fmt: skip
    graph = application_graph(data, "m.onnx")[0]
    with_training(graph, Training(1), "m.onnx")
    with pytest.raises(GlowmcuError, match="GM361") as found:
        with_training(graph, Training(), "m.onnx")
    assert f"no gradient comes to a/fully_connected/{missing}" in str(found.value)


def test_cross_entropy_needs_classes() -> None:
    onnx = pytest.importorskip("onnx")
    make = onnx.helper.make_node
    data = onnx_graph(
        [make("MatMul", ["x", "w"], ["y"], name="only")],
        {"x": (np.float32, (1, 3))}, ["y"], {"w": np.ones((3, 1), np.float32)},
    )  # fmt: skip
    graph = application_graph(data, "m.onnx")[0]
    with pytest.raises(GlowmcuError, match="GM362"):
        with_training(graph, Training(1), "m.onnx")
    learns = with_training(graph, Training(1, loss=Loss.SQUARED_ERROR), "m.onnx")
    assert learns.rates[1].end == 1


@pytest.mark.parametrize("path", [DIGITS, GESTURES])
def test_prototypes_are_means_of_features(path: Path) -> None:
    """Against numpy: means in one go, distances, and the nearest class."""
    graph = learning(path, "prototypes=3")
    session, data = Session(graph), drawn(graph, 9)
    # What the last layer reads is what a prototype of one sample is.
    features = []
    for x in data:
        alone = Session(graph)
        alone.run([x, label(0)])
        features.append(states_of(graph, alone)["prototypes/means"][0])
    for at, x in enumerate(data[:8]):
        session.run([x, label(at % 2)])
    state = states_of(graph, session)
    for number in (0, 1):
        want = np.mean(np.array(features[number:8:2], np.float64), axis=0)
        np.testing.assert_allclose(state["prototypes/means"][number], want, rtol=1e-5, atol=1e-6)
    assert state["prototypes/counts"].tolist() == [[4], [4], [0]]
    scores, loss = session.run([data[8], label(-1)])
    distances = ((features[8] - state["prototypes/means"][:2]) ** 2).sum(axis=1)
    np.testing.assert_allclose(scores[0, :2], -distances, rtol=1e-4)
    assert scores[0, 2] == np.float32(-1e30)
    assert session.run([data[8], label(3)])[1] == loss  # no class: nothing is learnt


@pytest.mark.parametrize("options", [{"loss": "squared-error"}, {"learning_rate": 0.1}])
def test_prototypes_have_no_rate_and_no_loss(options: dict[str, object]) -> None:
    with pytest.raises(GlowmcuError, match="GM735"):
        training_of("prototypes=3", **options)  # type: ignore[arg-type]


def test_prototypes_need_a_row_of_features() -> None:
    onnx = pytest.importorskip("onnx")
    data = onnx_graph(
        [onnx.helper.make_node("Conv", ["x", "w"], ["y"], name="only")],
        {"x": (np.float32, (1, 2, 4, 4))}, ["y"], {"w": np.ones((3, 2, 3, 3), np.float32)},
    )  # fmt: skip
    graph = application_graph(data, "m.onnx")[0]
    with pytest.raises(GlowmcuError, match="GM362"):
        with_training(graph, training_of("prototypes=2"), "m.onnx")
