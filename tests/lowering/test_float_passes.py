"""Batch normalization and activations go into the layer in front, exactly in real numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array, Operation
from glowmcu.lowering import fold_activation_float, fold_batch_norm
from glowmcu.lowering.float_passes import prepare_for_quantization
from glowmcu.ops.activation import Relu
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.elementwise import Add, Maximum, Minimum, Mul, Sub
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import RELU, draw, real

Step = tuple[Operation, Array | None, bool]
LAYERS: dict[str, tuple[Operation, tuple[int, ...], tuple[int, ...], int]] = {
    "conv": (Conv2D(padding=(1, 1, 1, 1)), (1, 5, 5, 3), (4, 3, 3, 3), 4),
    "depthwise": (DepthwiseConv2D((2, 2)), (1, 5, 5, 2), (1, 3, 3, 4), 4),
    "dense": (FullyConnected(), (1, 6), (4, 6), 4),
}


def followed_by(
    layer: str, steps: Sequence[Step], clamp: tuple[float, float] | None = None
) -> Graph:
    """The layer, then `(operator, constant, constant first)` one after the other; unverified, since
    operators get their float types one by one.
    """
    op, x_shape, w_shape, outputs = LAYERS[layer]
    if clamp is not None:
        op = type(op)(clamp=clamp)  # type: ignore[call-arg]
    graph = GraphBuilder()
    x = graph.input(real(*x_shape), "x")
    w, b = graph.constant(draw(0, *w_shape)), graph.constant(draw(1, outputs))
    value: Value = graph.add(op, x, w, b, name="layer")
    for index, (operation, data, first) in enumerate(steps):
        inputs = [value]
        if data is not None:
            inputs.insert(0 if first else 1, graph.constant(data, name=f"c{index}"))
        value = graph.add(operation, *inputs, like=value.type, name=f"step{index}")
    return Graph("main", tuple(graph.inputs), tuple(graph.nodes), (value,))


def only_node(graph: Graph) -> Node:
    (node,) = (node for node in graph.nodes if node.inputs)
    return node


SCALE, SHIFT = np.float32([0.5, -2.0, 3.0, 0.25]), np.float32([1.0, 2.0, -3.0, 0.0])
FOLDED: dict[str, tuple[Sequence[Step], Callable[[Array], Array]]] = {
    "batch normalization": (
        [(Mul(), SCALE, False), (Add(), SHIFT, False)],
        lambda y: y * SCALE + SHIFT,
    ),
    "constants in front": (
        [(Mul(), SCALE, True), (Add(), SHIFT, True)],
        lambda y: y * SCALE + SHIFT,
    ),
    "minus a constant": ([(Sub(), SHIFT, False)], lambda y: y - SHIFT),
    "a constant minus it": ([(Sub(), SHIFT, True)], lambda y: SHIFT - y),
    "one value for all": ([(Mul(), np.float32([[3.0]]), False)], lambda y: y * 3),
    "a fused activation": (
        [(Mul(), SCALE, False), (Add(RELU), SHIFT, False)],
        lambda y: np.maximum(y * SCALE + SHIFT, 0),
    ),
}


@pytest.mark.parametrize("name", list(FOLDED))
@pytest.mark.parametrize("layer", list(LAYERS))
def test_scaling_and_shifting_go_into_the_layer(layer: str, name: str) -> None:
    steps, meaning = FOLDED[name]
    graph = fold_batch_norm.run(followed_by(layer, steps))
    node = only_node(graph)
    assert node.op.name == LAYERS[layer][0].name
    graph.verify()
    x = draw(5, *graph.inputs[0].type.shape)
    (plain,) = run_graph(followed_by(layer, []), [x])
    np.testing.assert_allclose(run_graph(graph, [x])[0], meaning(plain), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    "steps",
    [
        [(Mul(), draw(3, 1, 5, 5, 4), False)],
        [(Mul(), draw(3, 5, 1), False)],
        [(Mul(), draw(3, 2, 1, 1, 1, 4), False)],
    ],
    ids=["a value an element", "a value a row", "more axes"],
)
def test_other_constants_stay(steps: Sequence[Step]) -> None:
    try:
        graph = followed_by("conv", steps)
    except AssertionError:
        pytest.fail("the graph could not be built")
    assert len([node for node in fold_batch_norm.run(graph).nodes if node.inputs]) == 2


def test_nothing_goes_through_an_activation() -> None:
    graph = followed_by("dense", [(Mul(), SCALE, False)], clamp=RELU)
    assert fold_batch_norm.run(graph) is graph


CLAMPS: dict[str, tuple[Sequence[Step], tuple[float, float]]] = {
    "relu": ([(Relu(RELU), None, False)], RELU),
    "other limits": ([(Relu((-1.0, 2.0)), None, False)], (-1.0, 2.0)),
    "relu, then other limits": (
        [(Relu(RELU), None, False), (Relu((-1.0, 2.0)), None, False)],
        (0.0, 2.0),
    ),
    "maximum": ([(Maximum(), np.float32([-1.0]), False)], (-1.0, FLOAT_MAX)),
    "maximum and minimum": (
        [(Maximum(), np.float32([0.0]), True), (Minimum(), np.float32([6.0]), False)],
        (0.0, 6.0),
    ),
    "ranges that do not meet": (
        [(Relu((1.0, 2.0)), None, False), (Relu((3.0, 4.0)), None, False)],
        (3.0, 3.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CLAMPS))
@pytest.mark.parametrize("layer", list(LAYERS))
def test_clamping_becomes_the_layers_clamp(layer: str, name: str) -> None:
    steps, clamp = CLAMPS[name]
    graph = fold_activation_float.run(followed_by(layer, steps))
    assert only_node(graph).op.clamp == clamp  # type: ignore[attr-defined]
    x = draw(5, *graph.inputs[0].type.shape)
    (plain,) = run_graph(followed_by(layer, []), [x])
    assert np.array_equal(run_graph(graph, [x])[0], np.clip(plain, *np.float32(clamp)))


def test_a_bound_for_each_channel_stays() -> None:
    graph = followed_by("dense", [(Maximum(), SHIFT, False)])
    assert fold_activation_float.run(graph) is graph


def test_all_of_it_in_the_order_of_the_passes() -> None:
    steps, _ = FOLDED["batch normalization"]
    graph = followed_by("conv", [*steps, (Relu(RELU), None, False)])
    assert only_node(prepare_for_quantization(graph)).op.clamp == RELU  # type: ignore[attr-defined]


def behind_a_move(move: Operation, *steps: Step) -> Graph:
    graph = GraphBuilder()
    x = graph.input(real(1, 5, 5, 3), "x")
    w, b = graph.constant(draw(0, 4, 3, 3, 3)), graph.constant(draw(1, 4))
    value = graph.add(move, graph.add(Conv2D(), x, w, b, name="layer"), name="moved")
    for operation, data, _ in steps:
        constants = [] if data is None else [graph.constant(data)]
        value = graph.add(operation, value, *constants)
    return graph.finish(value)


@pytest.mark.parametrize("move", [Reshape((1, 9, 4)), Transpose((0, 3, 1, 2))], ids=str)
def test_a_clamp_comes_to_its_layer_through_a_move(move: Operation) -> None:
    graph = behind_a_move(move, (Relu(RELU), None, False))
    folded = fold_activation_float.run(graph)
    assert [node.op.name for node in folded.nodes if node.inputs] == ["conv_2d", move.name]
    inputs = [draw(5, 1, 5, 5, 3)]
    assert np.array_equal(run_graph(folded, inputs)[0], run_graph(graph, inputs)[0])


def test_scaling_comes_to_its_layer_through_a_reshape_that_keeps_channels() -> None:
    graph = behind_a_move(Reshape((1, 9, 4)), (Mul(), SCALE, False), (Add(), SHIFT[None], False))
    folded = fold_batch_norm.run(graph)
    assert [node.op.name for node in folded.nodes if node.inputs] == ["conv_2d", "reshape"]
    inputs = [draw(5, 1, 5, 5, 3)]
    np.testing.assert_allclose(
        run_graph(folded, inputs)[0], run_graph(graph, inputs)[0], rtol=2e-5, atol=2e-5
    )


def test_scaling_behind_a_reshape_that_mixes_channels_stays() -> None:
    graph = behind_a_move(Reshape((1, 36)), (Mul(), draw(3, 36), False))
    assert fold_batch_norm.run(graph) is graph
