"""A float product with a constant matrix becomes a dense layer, whose weights have a scale a row.

Importers see whether a matrix is constant; what is constant after folding only (a slice of packed
projections, transposed, as PyTorch's attention has them) is seen here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import ElementType
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.shape import Reshape


def run(graph: Graph) -> Graph:
    """The graph without float products that dense layers compute."""
    return rewrite(graph, _dense)


def _dense(context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, BatchMatMul) or node.op.adj_x:
        return None
    x, y = node.inputs
    matrix, out = context.constant(y), node.output.type
    if matrix is None or matrix.size != np.prod(matrix.shape[-2:]):
        return None
    if out.element is not ElementType.F32:
        return None
    weights = matrix.reshape(matrix.shape[-2:])
    weights = weights if node.op.adj_y else np.ascontiguousarray(weights.T)
    made = (context.add_constant(weights, name=y.name), context.add_no_bias(len(weights)))
    product = (*x.type.shape[:-1], len(weights))
    dense = context.add(FullyConnected(), [x, *made], [out.with_shape(product)])
    return dense if product == out.shape else context.add(Reshape(out.shape), dense, [out])
