"""Products with matrices that only folding shows to be constant are dense layers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Operation
from glowmcu.lowering.float_passes import prepare_for_quantization
from glowmcu.lowering.passes import lower
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import draw, real

SHAPE, COLUMNS = (3, 5, 8), 6


def product(matrix: Callable[[GraphBuilder], Value], op: BatchMatMul, *shape: int) -> Graph:
    graph = GraphBuilder()
    x = graph.input(real(*shape))
    return graph.finish(graph.add(op, x, matrix(graph)))


def transposed(graph: GraphBuilder) -> Value:
    return graph.add(Transpose((1, 0)), graph.constant(draw(1, COLUMNS, SHAPE[2])))


def turned(graph: GraphBuilder) -> Value:
    return graph.constant(draw(1, COLUMNS, SHAPE[2]))


def with_an_axis_in_front(graph: GraphBuilder) -> Value:
    return graph.add(Reshape((1, SHAPE[2], COLUMNS)), graph.constant(draw(2, SHAPE[2] * COLUMNS)))


def one_a_row_of_the_batch(graph: GraphBuilder) -> Value:
    return graph.add(Transpose((0, 2, 1)), graph.constant(draw(3, SHAPE[0], COLUMNS, SHAPE[2])))


def operators(graph: Graph) -> set[type[Operation]]:
    return {type(node.op) for node in graph.nodes}


@pytest.mark.parametrize("passes", [prepare_for_quantization, lower])
@pytest.mark.parametrize("matrix", [transposed, with_an_axis_in_front])
def test_a_product_with_what_folds_to_a_matrix_is_a_dense_layer(
    matrix: Callable[[GraphBuilder], Value], passes: Callable[[Graph], Graph]
) -> None:
    graph = product(matrix, BatchMatMul(), *SHAPE)
    found = passes(graph)
    assert FullyConnected in operators(found)
    assert BatchMatMul not in operators(found)
    x = [draw(4, *SHAPE)]
    np.testing.assert_allclose(run_graph(found, x)[0], run_graph(graph, x)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("matrix", "op"),
    [
        pytest.param(turned, BatchMatMul(adj_y=True), id="turned"),
        pytest.param(with_an_axis_in_front, BatchMatMul(), id="an axis more"),
    ],
)
def test_a_matrix_stored_in_another_way_is_that_of_the_layer(
    matrix: Callable[[GraphBuilder], Value], op: BatchMatMul
) -> None:
    graph = product(matrix, op, 5, 8)
    found, x = prepare_for_quantization(graph), [draw(4, 5, 8)]
    assert FullyConnected in operators(found)
    np.testing.assert_allclose(run_graph(found, x)[0], run_graph(graph, x)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("matrix", "op", "shape"),
    [
        pytest.param(one_a_row_of_the_batch, BatchMatMul(), SHAPE, id="several matrices"),
        pytest.param(transposed, BatchMatMul(adj_x=True), (3, 8, 5), id="the other operand turned"),
    ],
)
def test_other_products_stay(
    matrix: Callable[[GraphBuilder], Value], op: BatchMatMul, shape: tuple[int, ...]
) -> None:
    assert BatchMatMul in operators(prepare_for_quantization(product(matrix, op, *shape)))
