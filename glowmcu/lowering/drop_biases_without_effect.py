"""Biases that would take a sum beyond int32 become 0 where no sum of int32 changes the result.

A channel whose weights are next to nothing has the scale of next to nothing, and its bias, in steps
of that, all of int32: TensorFlow's converter writes 2^31 - 1. Interpreters wrap such a sum, and
make 0 of it, wrapped or not: |sum| * input * weights / output < 1/4 for every |sum| <= 2^31.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, constant
from glowmcu.ir.rewriting import remove_dead_nodes
from glowmcu.ir.types import ElementType
from glowmcu.ops.weighted import WeightedOperation

_INT32_END = 2**31
_LARGEST_PRODUCT = 255 * 255
#: Below one half, so that rounding twice makes 0, too.
_SMALLEST_RESULT = 0.25


def run(graph: Graph) -> Graph:
    """The graph with these biases 0."""
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += _without_biases(graph, node) or [node]
    return graph if len(nodes) == len(graph.nodes) else remove_dead_nodes(graph.replace(nodes))


def _without_biases(graph: Graph, node: Node) -> list[Node] | None:
    """A new bias and the node that reads it; None if nothing changes."""
    if not isinstance(node.op, WeightedOperation) or len(node.inputs) != 3:
        return None
    if node.signature.output.element is not ElementType.I8:
        return None
    _, weights, bias = (graph.constant_data(value) for value in node.inputs)
    if weights is None or bias is None:
        return None
    dropped = _may_wrap(weights, bias) & ~_is_felt(node)
    if not dropped.any():
        return None
    old = node.inputs[2]
    new = Value(old.type, old.name)
    data = constant(np.where(dropped, 0, bias).astype(bias.dtype))
    return [
        Node(data, (), (new,), old.name, node.source),
        replace(node, inputs=(*node.inputs[:2], new)),
    ]


def _may_wrap(weights: Array, bias: Array) -> npt.NDArray[np.bool_]:
    """Whether a sum could leave int32, by the number of weights alone."""
    most = weights.size // max(bias.size, 1) * _LARGEST_PRODUCT
    return np.asarray(np.abs(bias.astype(np.int64)) + most >= _INT32_END)


def _is_felt(node: Node) -> npt.NDArray[np.bool_]:
    """Whether some sum of int32 is rounded to another result than 0, by channel."""
    x, weights, _ = node.signature.inputs
    assert weights.quantization is not None
    scales = np.array(weights.quantization.scales, np.float64)
    real = x.scale * scales / node.signature.output.scale
    felt = real * _INT32_END >= _SMALLEST_RESULT
    return np.broadcast_to(felt, (node.signature.output.shape[-1],))
