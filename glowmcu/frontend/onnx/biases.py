"""A row of constants that is added to a product is its bias.

Exporters write layers of perceptrons, and those on sequences, as MatMul and Add; onnxruntime makes
Gemm of them, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import ElementType
from glowmcu.ops.elementwise import Add
from glowmcu.ops.matmul import FullyConnected


def fold_biases(graph: Graph) -> Graph:
    """The graph with such rows inside of its fully connected layers of real numbers."""
    if not any(isinstance(node.op, FullyConnected) for node in graph.nodes):
        return graph
    return rewrite(graph, _fold)


def _fold(context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, Add) or node.output.type.element is not ElementType.F32:
        return None
    for product, row in (node.inputs, node.inputs[::-1]):
        layer, data = context.producer(product), context.constant(row)
        if layer is None or data is None or not context.only_use(product):
            continue
        if not isinstance(layer.op, FullyConnected) or layer.op.clamp is not None:
            continue
        bias, width = context.constant(layer.inputs[2]), product.type.shape[-1]
        is_row = data.shape[-1:] == (width,) and data.size == width
        is_row &= product.type == node.output.type
        if bias is None or bias.any() or not is_row:
            continue
        is_bias = row.type.shape == (width,)
        flat = row if is_bias else context.add_constant(data.reshape(-1), name=row.name)
        operands = [*layer.inputs[:2], flat]
        op = replace(layer.op, clamp=node.op.clamp)
        return context.add(op, operands, [node.output.type], layer.name)
    return None
