"""Large dense layers computed in parts of their outputs, whose weights are decoded one after the
other: scratch for a part of them is enough.

A part is a layer with fewer outputs; a concatenation puts them together, for which memory planning
needs no copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import ElementType, Quantization
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import FullyConnected

#: Outputs of a part: kernels compute some at a time, and results lie at multiples of that.
_OUTPUTS = 8


def in_dense_parts(graph: Graph, part_bytes: int) -> Graph:
    """The graph with int8 dense layers of one row in parts of at most `part_bytes` of weights, or
    of 8 outputs if these have more; the same graph if no layer is divided.
    """
    if graph.rates:
        return graph  # a stage knows its nodes
    return rewrite(graph, partial(_divided, part_bytes))


def _divided(part_bytes: int, context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, FullyConnected):
        return None
    weights, bias = (context.constant(value) for value in node.inputs[1:])
    result = node.output.type
    is_row = result.element_count == result.shape[-1]
    if weights is None or bias is None or weights.dtype != np.int8 or not is_row:
        return None
    if result.element is not ElementType.I8 or result.element_count <= _OUTPUTS:
        return None
    count, length = weights.shape
    outputs = max(part_bytes // length // _OUTPUTS, 1) * _OUTPUTS
    if weights.nbytes <= part_bytes or outputs >= count:
        return None
    parts = [
        _part(context, node, slice(first, min(first + outputs, count)))
        for first in range(0, count, outputs)
    ]
    return context.add(Concatenation(result.rank - 1), parts, [result], f"{node.name}/parts")


def _part(context: Context, node: Node, outputs: slice) -> Value:
    """Some outputs of a dense layer."""
    x, *constants = node.inputs
    sliced = [_sliced(context, value, outputs) for value in constants]
    result = node.output.type
    shape = (*result.shape[:-1], outputs.stop - outputs.start)
    name = f"{node.name}/outputs{outputs.start}"
    (part,) = context.add(node.op, [x, *sliced], [result.with_shape(shape)], name)
    return part


def _sliced(context: Context, value: Value, outputs: slice) -> Value:
    """The constant's elements of some outputs, with what they are quantized by."""
    data: Array | None = context.constant(value)
    assert data is not None
    found = value.type.quantization
    if found is not None and found.per_channel:
        found = Quantization(found.scales[outputs], found.zero_points[outputs], found.axis)
    return context.add_constant(np.ascontiguousarray(data[outputs]), found, value.name)
