"""Vectors divided by their length, as F.normalize is exported, are computed on integers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.lowering import recognize_functions
from glowmcu.ops.activation import Abs, Relu
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Add, Maximum, Mul
from glowmcu.ops.moments import MeanVarianceNormalization
from glowmcu.ops.parametric_activation import Softsign
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.real_functions import Sqrt, Square
from glowmcu.ops.reduction import ReduceSumSquare, Sum
from glowmcu.ops.tiling import BroadcastTo
from glowmcu.ops.transcendental import Rsqrt
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import draw, real

onnx = pytest.importorskip("onnx", reason="pip install onnx")
Chain = Callable[[GraphBuilder, Value], Value]
SHAPE = (2, 5, 8)


def number(graph: GraphBuilder, value: float) -> Value:
    return graph.constant(np.array(value, np.float32))


def length(graph: GraphBuilder, x: Value, axis: int = 2, keep: bool = True) -> Value:
    return graph.add(Sqrt(), graph.add(ReduceSumSquare((axis,), keep), x))


def by_length(graph: GraphBuilder, x: Value) -> Value:
    return graph.add(Div(), x, length(graph, x))


def as_torch_exports(graph: GraphBuilder, x: Value) -> Value:
    floored = graph.add(Relu((1e-12, FLOAT_MAX)), length(graph, x, axis=1))
    return graph.add(Div(), x, graph.add(BroadcastTo(SHAPE), floored))


def by_a_maximum(graph: GraphBuilder, x: Value) -> Value:
    return graph.add(Div(), x, graph.add(Maximum(), length(graph, x, 0), number(graph, 1e-8)))


def by_an_inverse_root(graph: GraphBuilder, x: Value) -> Value:
    squares = graph.add(Sum((2,), True), graph.add(Square(), x))
    inverse = graph.add(Rsqrt(), graph.add(Maximum(), squares, number(graph, 1e-12)))
    return graph.add(Mul(), x, inverse)


def by_a_product(graph: GraphBuilder, x: Value) -> Value:
    squares = graph.add(Sum((1,), True), graph.add(Mul(), x, x))
    return graph.add(Div(), x, graph.add(Sqrt(), squares))


KNOWN = {
    "the length alone": by_length, "as torch exports": as_torch_exports, "a maximum": by_a_maximum,
    "an inverse root": by_an_inverse_root, "a product": by_a_product,
}  # fmt: skip


def built(chain: Chain) -> Graph:
    graph = GraphBuilder()
    return graph.finish(chain(graph, graph.input(real(*SHAPE))))


@pytest.mark.parametrize("name", KNOWN)
def test_vectors_of_unit_length_are_recognized(name: str) -> None:
    graph = built(KNOWN[name])
    found = recognize_functions.run(graph)
    assert any(isinstance(node.op, MeanVarianceNormalization) for node in found.nodes)
    assert not any(isinstance(node.op, Div | Sqrt | Rsqrt) for node in found.nodes)
    x = draw(3, *SHAPE, scale=2.0)
    (want,), (got,) = run_graph(graph, [x]), run_graph(found, [x])
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)


def other_vectors(graph: GraphBuilder, x: Value) -> Value:
    return graph.add(Div(), x, length(graph, graph.add(Add(), x, x)))


def both_axes(graph: GraphBuilder, x: Value) -> Value:
    return graph.add(Div(), x, graph.add(Sqrt(), graph.add(ReduceSumSquare((1, 2), True), x)))


def an_axis_that_goes(graph: GraphBuilder, x: Value) -> Value:
    columns = graph.add(Sqrt(), graph.add(ReduceSumSquare((0,), False), x))
    return graph.add(Div(), x, columns)


def a_high_floor(graph: GraphBuilder, x: Value) -> Value:
    return graph.add(Div(), x, graph.add(Maximum(), length(graph, x), number(graph, 0.1)))


def a_ceiling(graph: GraphBuilder, x: Value) -> Value:
    return graph.add(Div(), x, graph.add(Relu((1e-12, 3.0)), length(graph, x)))


OTHERS = {
    "other vectors": other_vectors, "both axes": both_axes, "a high floor": a_high_floor,
    "an axis that goes": an_axis_that_goes, "a ceiling": a_ceiling,
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_other_quotients_stay(name: str) -> None:
    graph = built(OTHERS[name])
    assert recognize_functions.run(graph) is graph


def exported(axis: int) -> bytes:
    """A layer with ReLU and F.normalize behind it, as torch exports them."""
    weights = onnx.numpy_helper.from_array(draw(1, 6, 4, 1), "w")
    floor = onnx.numpy_helper.from_array(np.array(1e-12, np.float32), "floor")
    axes = onnx.numpy_helper.from_array(np.array([axis]), "axes")
    shape = onnx.numpy_helper.from_array(np.array([1, 6, 8]), "shape")
    nodes = [
        onnx.helper.make_node(kind, inputs, [result], **attributes)
        for kind, inputs, result, attributes in (
            ("Conv", ["x", "w"], "c", {}), ("Relu", ["c"], "r", {}),
            ("ReduceL2", ["r", "axes"], "l", {"keepdims": 1}), ("Clip", ["l", "floor"], "f", {}),
            ("Expand", ["f", "shape"], "e", {}), ("Div", ["r", "e"], "y", {}),
        )
    ]  # fmt: skip
    graph = onnx.helper.make_graph(
        nodes, "g", [onnx.helper.make_tensor_value_info("x", 1, (1, 4, 8))],
        [onnx.helper.make_tensor_value_info("y", 1, (1, 6, 8))], [weights, floor, axes, shape],
    )  # fmt: skip
    opset = onnx.helper.make_opsetid("", 18)
    return onnx.helper.make_model(graph, opset_imports=[opset], ir_version=9).SerializeToString()


@pytest.mark.parametrize("axis", [1, 2])
def test_normalized_features_are_integers_and_zeros_stay(axis: int, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(exported(axis))
    samples = draw(2, 60, 1, 4, 8)
    bundle = glowmcu.compile(
        tmp_path / "m.onnx",
        output=tmp_path / "net",
        samples=samples,
        require_sqnr=30.0,
        io="float",
    )
    assert "stays float" not in (tmp_path / "net" / "manifest.json").read_text()
    (found,) = bundle.session().run([np.zeros((1, 4, 8), np.float32)])
    assert not found.any()


def test_a_softsign_in_steps_is_one_function() -> None:
    def chain(graph: GraphBuilder, x: Value) -> Value:
        return graph.add(Div(), x, graph.add(Add(), graph.add(Abs(), x), number(graph, 1.0)))

    (node,) = (node for node in recognize_functions.run(built(chain)).nodes if node.inputs)
    assert isinstance(node.op, Softsign)


@pytest.mark.parametrize("added", [1.5, 0.0])
def test_what_only_looks_like_a_softsign_stays(added: float) -> None:
    def chain(graph: GraphBuilder, x: Value) -> Value:
        return graph.add(Div(), x, graph.add(Add(), graph.add(Abs(), x), number(graph, added)))

    graph = built(chain)
    assert recognize_functions.run(graph) is graph
