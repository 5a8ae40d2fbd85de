"""A flattened transpose in front of a fully connected layer goes into the layer's weights.

fully_connected(reshape(transpose(x)), w) becomes fully_connected(reshape(x), w'), the columns of w'
in the order of x: what an exporter with channels first leaves between its last convolution and its
first dense layer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose


def run(graph: Graph) -> Graph:
    """The graph without transposes that only order a layer's inputs."""
    return rewrite(graph, _fold)


def _fold(context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, FullyConnected):
        return None
    flat, weights = node.inputs[0], node.inputs[1]
    data = context.constant(weights)
    turned = _reshaped_transpose(context, flat)
    if data is None or turned is None:
        return None
    transpose, image = turned
    shape = image.type.shape
    permutation = transpose.permutation
    if permutation[0] != 0 or shape[0] * data.shape[1] != image.type.element_count:
        return None
    if weights.type.quantization is not None and weights.type.quantization.axis == 1:
        return None
    order = np.argsort(permutation).tolist()
    columns = data.reshape(data.shape[0], *(shape[axis] for axis in permutation[1:]))
    moved = np.ascontiguousarray(columns.transpose(order)).reshape(data.shape)
    new_weights = context.add_constant(moved, weights.type.quantization, weights.name)
    (new_flat,) = context.add(Reshape(flat.type.shape), [image], [flat.type], flat.name)
    return context.replace_op(node.op, [new_flat, new_weights, *node.inputs[2:]])


def _reshaped_transpose(context: Context, flat: Value) -> tuple[Transpose, Value] | None:
    """The transpose behind the reshape that makes `flat`, and the transpose's operand."""
    reshape = context.producer(flat)
    if reshape is None or not isinstance(reshape.op, Reshape):
        return None
    transpose = context.producer(reshape.inputs[0])
    if transpose is None or not isinstance(transpose.op, Transpose):
        return None
    return transpose.op, transpose.inputs[0]
