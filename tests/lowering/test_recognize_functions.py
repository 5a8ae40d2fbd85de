"""Chains of real numbers that exporters write become one operator, and look-alikes do not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Operation
from glowmcu.lowering import (
    fold_gain_into_readers,
    merge_common_subexpressions,
    recognize_functions,
)
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Add, Mul, SquaredDifference, Sub
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.moments import MeanVarianceNormalization
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.parametric_activation import Swish
from glowmcu.ops.real_functions import Erf, Power, Reciprocal, Sqrt, Square
from glowmcu.ops.reduction import Mean
from glowmcu.ops.transcendental import Gelu, Logistic, Rsqrt
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import draw, real

Chain = Callable[[GraphBuilder, Value], Value]
SHAPE = (2, 5, 8)


def number(graph: GraphBuilder, value: float) -> Value:
    return graph.constant(np.array(value, np.float32))


def offsets_of(graph: GraphBuilder, x: Value) -> Value:
    return graph.add(Sub(), x, graph.add(Mean((2,), True), x))


def root_of(graph: GraphBuilder, squares: Value, epsilon: float = 1e-3) -> Value:
    variance = graph.add(Mean((2,), True), squares)
    return graph.add(Sqrt(), graph.add(Add(), variance, number(graph, epsilon)))


def by_division(graph: GraphBuilder, x: Value) -> Value:
    offsets = offsets_of(graph, x)
    return graph.add(Div(), offsets, root_of(graph, graph.add(Square(), offsets)))


def by_power(graph: GraphBuilder, x: Value) -> Value:
    squares = graph.add(Power(2.0), offsets_of(graph, x))
    return graph.add(Div(), offsets_of(graph, x), root_of(graph, squares))


def by_product(graph: GraphBuilder, x: Value) -> Value:
    offsets = offsets_of(graph, x)
    root = root_of(graph, graph.add(Mul(), offsets, offsets))
    return graph.add(Mul(), graph.add(Reciprocal(), root), offsets)


def by_inverse_root(graph: GraphBuilder, x: Value) -> Value:
    squares = graph.add(SquaredDifference(), x, graph.add(Mean((2,), True), x))
    variance = graph.add(Mean((2,), True), squares)
    inverse = graph.add(Rsqrt(), graph.add(Add(), number(graph, 1e-3), variance))
    return graph.add(Mul(), offsets_of(graph, x), inverse)


def root_mean_square(graph: GraphBuilder, x: Value) -> Value:
    root = root_of(graph, graph.add(Square(), x))
    return graph.add(Mul(), x, graph.add(Div(), number(graph, 1.0), root))


def without_epsilon(graph: GraphBuilder, x: Value) -> Value:
    offsets = offsets_of(graph, x)
    variance = graph.add(Mean((2,), True), graph.add(Square(), offsets))
    return graph.add(Div(), offsets, graph.add(Sqrt(), variance))


def error_function(graph: GraphBuilder, x: Value) -> Value:
    error = graph.add(Erf(), graph.add(Div(), x, number(graph, 2**0.5)))
    return graph.add(Add(), error, number(graph, 1.0))


def gelu_of_halves_last(graph: GraphBuilder, x: Value) -> Value:
    return graph.add(Mul(), graph.add(Mul(), x, error_function(graph, x)), number(graph, 0.5))


def gelu_of_halves_first(graph: GraphBuilder, x: Value) -> Value:
    return graph.add(Mul(), graph.add(Mul(), number(graph, 0.5), x), error_function(graph, x))


def gelu_of_a_halved_sum(graph: GraphBuilder, x: Value) -> Value:
    half = graph.add(Div(), error_function(graph, x), number(graph, 2.0))
    return graph.add(Mul(), half, x)


def silu(graph: GraphBuilder, x: Value) -> Value:
    return graph.add(Mul(), x, graph.add(Logistic(), x))


def scaled_silu(graph: GraphBuilder, x: Value) -> Value:
    inner = graph.add(Mul(), x, number(graph, 1.702))
    return graph.add(Mul(), graph.add(Logistic(), inner), x)


def scores(graph: GraphBuilder, x: Value) -> Value:
    return graph.add(Softmax(), graph.add(Div(), x, number(graph, 4.0)))


KNOWN: dict[str, tuple[Chain, Operation]] = {
    "a quotient": (by_division, MeanVarianceNormalization(1e-3)),
    "a power, offsets computed twice": (by_power, MeanVarianceNormalization(1e-3)),
    "a product with a reciprocal": (by_product, MeanVarianceNormalization(1e-3)),
    "an inverse root of squared differences": (by_inverse_root, MeanVarianceNormalization(1e-3)),
    "a root mean square": (root_mean_square, MeanVarianceNormalization(1e-3, False)),
    "no epsilon": (without_epsilon, MeanVarianceNormalization(0.0)),
    "gelu, halved at the end": (gelu_of_halves_last, Gelu()),
    "gelu, halved at first": (gelu_of_halves_first, Gelu()),
    "gelu, halved in between": (gelu_of_a_halved_sum, Gelu()),
    "silu": (silu, Swish()),
    "silu with a factor": (scaled_silu, Swish(1.702)),
    "scaled scores": (scores, Softmax(0.25)),
}


def built(chain: Chain) -> Graph:
    graph = GraphBuilder()
    return graph.finish(chain(graph, graph.input(real(*SHAPE))))


def merged(graph: Graph) -> Graph:
    return recognize_functions.run(merge_common_subexpressions.run(graph))


@pytest.mark.parametrize(("chain", "op"), KNOWN.values(), ids=KNOWN)
def test_a_chain_is_recognized_and_gives_the_same_numbers(chain: Chain, op: Operation) -> None:
    graph = built(chain)
    found = merged(graph)
    (node,) = (node for node in found.nodes if node.inputs)
    assert type(node.op) is type(op)
    for name in ("epsilon", "center", "alpha", "beta", "approximate"):
        assert getattr(node.op, name, 0) == pytest.approx(getattr(op, name, 0), rel=1e-6)
    x = draw(3, *SHAPE, scale=2.0)
    (want,), (got,) = run_graph(graph, [x]), run_graph(found, [x])
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


def other_axis(graph: GraphBuilder, x: Value) -> Value:
    variance = graph.add(Mean((1,), True), graph.add(Square(), x))
    return graph.add(Div(), x, graph.add(Sqrt(), variance))


def other_tensor(graph: GraphBuilder, x: Value) -> Value:
    twice = graph.add(Add(), x, x)
    return graph.add(Div(), offsets_of(graph, twice), root_of(graph, graph.add(Square(), x)))


def other_factor(graph: GraphBuilder, x: Value) -> Value:
    product = graph.add(Mul(), x, error_function(graph, x))
    return graph.add(Mul(), product, number(graph, 0.4))


def other_sigmoid(graph: GraphBuilder, x: Value) -> Value:
    shifted = graph.add(Add(), x, number(graph, 3.0))
    return graph.add(Mul(), x, graph.add(Logistic(), shifted))


def negative_scores(graph: GraphBuilder, x: Value) -> Value:
    return graph.add(Softmax(), graph.add(Mul(), x, number(graph, -4.0)))


OTHERS: dict[str, Chain] = {
    "a mean along another axis": other_axis,
    "squares of another tensor": other_tensor,
    "a gelu with another factor": other_factor,
    "a sigmoid of a shifted operand": other_sigmoid,
    "a softmax of a negative factor": negative_scores,
}


@pytest.mark.parametrize("chain", OTHERS.values(), ids=OTHERS)
def test_what_only_looks_like_a_chain_stays(chain: Chain) -> None:
    found = merged(built(chain))
    single = MeanVarianceNormalization | Gelu | Swish
    assert not any(isinstance(node.op, single) for node in found.nodes)
    assert not any(getattr(node.op, "beta", 1.0) != 1.0 for node in found.nodes)


def gained(readers: int, is_read_by_a_sum: bool = False) -> Graph:
    """A layer normalization with gain and bias, read by dense layers and maybe a sum."""
    graph = GraphBuilder()
    x = graph.input(real(1, 5, 8))
    scaled = graph.add(Mul(), graph.add(MeanVarianceNormalization(), x), graph.constant(draw(1, 8)))
    shifted = graph.add(Add(), scaled, graph.constant(draw(2, 8)))
    results = [
        graph.add(
            FullyConnected(), shifted,
            graph.constant(draw(3 + i, 6, 8)), graph.constant(draw(9 + i, 6)),
        )
        for i in range(readers)
    ]  # fmt: skip
    if is_read_by_a_sum:
        results.append(graph.add(Add(), shifted, x))
    return graph.finish(*results)


@pytest.mark.parametrize("readers", [1, 3])
def test_gain_and_bias_go_into_all_dense_layers_that_read_them(readers: int) -> None:
    graph = gained(readers)
    found = fold_gain_into_readers.run(graph)
    kinds = [type(node.op) for node in found.nodes if node.inputs]
    assert kinds == [MeanVarianceNormalization, *[FullyConnected] * readers]
    x = draw(20, 1, 5, 8, scale=3.0)
    for got, want in zip(run_graph(found, [x]), run_graph(graph, [x]), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_gain_and_bias_stay_where_others_read_them_too() -> None:
    graph = gained(2, is_read_by_a_sum=True)
    assert fold_gain_into_readers.run(graph) is graph
