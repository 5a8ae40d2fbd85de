"""Constants of which a smaller size has a corner: a causal mask, positions along the last axis.

The bytes of a smaller one are then not the first of the largest one's, and a layer that reads it
takes them from a slice: `constant [T, T] -> slice [t, t] -> add`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from glowmcu.emit_c.sized_codes import begins_with
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Constant, constant
from glowmcu.ops.broadcasting import ElementwiseOperation
from glowmcu.ops.matmul import BatchMatMul
from glowmcu.ops.movement import Movement
from glowmcu.ops.slicing import Slice
from glowmcu.ops.stack import Stack


def with_slices(by_size: Mapping[int, Graph]) -> dict[int, Graph]:
    """The graphs with slices of the largest constant where layers read them from memory."""
    largest = by_size[max(by_size)]
    corners = set[int]()
    for index, node in enumerate(largest.nodes):
        users = largest.users.get(node.output, ())
        if not isinstance(node.op, Constant) or not all(map(_reads_memory, users)):
            continue
        parts = [_data(graph.nodes[index]) for graph in by_size.values()]
        is_one = all(begins_with(node.op.data, part) for part in parts)
        if not is_one and all(_is_corner(node.op.data, part) for part in parts):
            corners.add(index)
    return {at: _with_slices(graph, largest, corners) for at, graph in by_size.items()}


def _reads_memory(node: Node) -> bool:
    return isinstance(node.op, BatchMatMul | ElementwiseOperation | Movement | Stack)


def _is_corner(largest: Array, data: Array) -> bool:
    return np.array_equal(largest[tuple(map(slice, data.shape))], data)


def _data(node: Node) -> Array:
    assert isinstance(node.op, Constant)
    return node.op.data


def _with_slices(graph: Graph, largest: Graph, corners: set[int]) -> Graph:
    nodes: list[Node] = []
    for index, node in enumerate(graph.nodes):
        if index not in corners:
            nodes.append(node)
            continue
        data, shape = _data(largest.nodes[index]), node.output.type.shape
        # A column more than the largest size has: its slice is a copy, too, as all others are.
        wide = np.pad(data, [*[(0, 0)] * (data.ndim - 1), (0, 1)])
        stored = Value(node.output.type.with_shape(wide.shape), f"{node.output.name}/largest")
        nodes.append(replace(node, op=constant(wide), outputs=(stored,), name=stored.name))
        part = Slice((0,) * len(shape), shape, (1,) * len(shape))
        nodes.append(Node(part, (stored,), node.outputs, node.output.name, node.source))
    return graph.replace(nodes)
