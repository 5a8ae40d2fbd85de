"""A node whose results never change, whatever the inputs are, becomes a constant.

Interval analysis knows: every channel of every result holds one value. Where all readers are
element-wise one value a channel is stored, else the whole tensor, if that takes no more bytes than
the node's own constants did.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Constant, OperationError, constant
from glowmcu.ir.rewriting import remove_dead_nodes
from glowmcu.ir.types import Shape
from glowmcu.ir.value_range import ValueRange
from glowmcu.ir.value_ranges import ValueRanges, value_ranges
from glowmcu.ops.stack import Stack

#: Results to the constants in their place, which may be of one pixel.
Renamed = dict[Value, Value]
#: A constant may take this many bytes, whatever it replaces.
_SMALL_BYTES = 256


def run(graph: Graph) -> Graph:
    """Constants in place of nodes that compute the same every time."""
    ranges = value_ranges(graph)
    renamed: Renamed = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs = tuple(renamed.get(value, value) for value in node.inputs)
        made = [_constant(graph, node, value, ranges, renamed) for value in node.outputs]
        constants = [item for item in made if item is not None]
        if len(constants) == len(made):
            nodes += constants
            renamed.update(zip(node.outputs, (item.output for item in constants), strict=True))
        elif inputs != node.inputs:
            nodes.append(replace(node, inputs=inputs))
        else:
            nodes.append(node)
    if not renamed:
        return graph
    outputs = [renamed.get(value, value) for value in graph.outputs]
    return remove_dead_nodes(graph.replace(nodes, outputs))


def _constant(
    graph: Graph, node: Node, value: Value, ranges: ValueRanges, renamed: Renamed
) -> Node | None:
    """The constant in place of one result; None if it changes, or would take too much."""
    range_ = ranges[value]
    if isinstance(node.op, Constant) or range_ is None or not value.type.element_count:
        return None
    if not range_.is_constant.all():
        return None
    shape = _stored_shape(graph, value, renamed)
    size_bytes = math.prod(shape) * value.type.element.size_bytes
    if size_bytes > max(_SMALL_BYTES, _own_bytes(graph, node)):
        return None
    data = _filled(range_, shape).astype(value.type.element.numpy)
    result = value if shape == value.type.shape else Value(value.type.with_shape(shape), value.name)
    return Node(constant(data), (), (result,), node.name, node.source)


def _filled(range_: ValueRange, shape: Shape) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    channels = range_.low if shape else range_.low.reshape(())
    return np.broadcast_to(channels, shape)


def _stored_shape(graph: Graph, value: Value, renamed: Renamed) -> Shape:
    """One pixel where every reader broadcasts it to what it was, else the whole tensor."""
    shape = value.type.shape
    pixel = (*(1 for _ in shape[:-1]), *shape[-1:])
    readers = graph.users.get(value, [])
    if value in graph.outputs:
        return shape
    return pixel if all(_broadcasts(user, value, pixel, renamed) for user in readers) else shape


def _broadcasts(user: Node, value: Value, shape: Shape, renamed: Renamed) -> bool:
    """Whether the reader computes the same with `value` in another shape."""
    if not user.op.elementwise or isinstance(user.op, Stack):
        return False
    types = [
        v.type.with_shape(shape) if v is value else renamed.get(v, v).type for v in user.inputs
    ]
    try:
        return user.op.infer(types) == tuple(out.type.shape for out in user.outputs)
    except OperationError:
        return False


def _own_bytes(graph: Graph, node: Node) -> int:
    """Bytes of the constants that only this node reads."""
    own = [v for v in dict.fromkeys(node.inputs) if graph.users[v] == [node]]
    data = (graph.constant_data(value) for value in own)
    return sum(array.nbytes for array in data if array is not None)
