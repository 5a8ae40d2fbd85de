"""Gradients of matrix products: products with the other operand, transposed."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import gradient
from glowmcu.ir.graph import Node, Value
from glowmcu.ops.matmul import BatchMatMul, FullyConnected


def outer_product(build: Builder, a: Value, b: Value) -> Value:
    """Sum over rows of a (R, M) times b (R, N): (M, N). Of one row it is element-wise, so that it
    is computed where it is used and takes no memory.
    """
    (rows, left), right = a.type.shape, b.type.shape[1]
    if rows == 1:
        return build.times(build.reshape(a, (left, 1)), build.reshape(b, (1, right)))
    return build.add(BatchMatMul(adj_x=True), a, b)


@gradient(FullyConnected)
def fully_connected_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """x (…, I), w (O, I): g w, g^T x, and the sum of g."""
    assert isinstance(node.op, FullyConnected)
    x, weights, _ = node.inputs
    outputs, inputs = weights.type.shape
    rows = x.type.element_count // inputs
    given = build.through_clamp(node.output, node.op.clamp, upstream)
    given = build.reshape(given, (rows, outputs))
    of_x = build.reshape(build.add(BatchMatMul(), given, weights), x.type.shape)
    of_weights = outer_product(build, given, build.reshape(x, (rows, inputs)))
    return of_x, of_weights, build.sum(given, (0,))


@gradient(BatchMatMul)
def batch_matmul_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """x y: g y^T and x^T g; of an operand that is stored transposed, transposed."""
    assert isinstance(node.op, BatchMatMul)
    (x, y), op = node.inputs, node.op
    if op.adj_x:
        of_x = build.add(BatchMatMul(op.adj_y, True), y, upstream)
    else:
        of_x = build.add(BatchMatMul(False, not op.adj_y), upstream, y)
    if op.adj_y:
        of_y = build.add(BatchMatMul(True, op.adj_x), upstream, x)
    else:
        of_y = build.add(BatchMatMul(not op.adj_x, False), x, upstream)
    return build.reduced_to(of_x, x.type.shape), build.reduced_to(of_y, y.type.shape)
