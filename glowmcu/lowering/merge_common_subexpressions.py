"""Nodes that compute the same from the same operands become one; equal constants, too, but for a
bias of zeros and none. The constant that stands for equal ones says so, since they learn apart.

Operators are equal when all attributes are, to the bit; types must be equal as well, since scales
are part of a node's meaning.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from glowmcu.ir.equality import operation_key
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Constant
from glowmcu.ir.shared_constants import EQUAL, NO_BIAS


def run(graph: Graph) -> Graph:
    """The graph with the first of each kind. Outputs keep nodes of their own: they have names."""
    outputs = set(graph.outputs)
    merged: dict[Value, Value] = {}
    first: dict[Hashable, Node] = {}
    nodes, equal = list[Node](), set[Node]()
    for old in graph.nodes:
        node = _renamed(old, merged)
        key = _key(node)
        if key in first and outputs.isdisjoint(node.outputs):
            merged.update(zip(node.outputs, first[key].outputs, strict=True))
            if isinstance(node.op, Constant) and node.source != NO_BIAS:
                equal.add(first[key])
            continue
        first.setdefault(key, node)
        nodes.append(node)
    nodes = [replace(node, source=EQUAL) if node in equal else node for node in nodes]
    return graph.replace(nodes) if merged else graph


def _renamed(node: Node, merged: dict[Value, Value]) -> Node:
    if not any(value in merged for value in node.inputs):
        return node
    return replace(node, inputs=tuple(merged.get(value, value) for value in node.inputs))


def _key(node: Node) -> Hashable:
    types = tuple(value.type for value in node.outputs)
    return (operation_key(node.op), node.inputs, types, node.source == NO_BIAS)
