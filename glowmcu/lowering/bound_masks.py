"""Minus infinity in the mask of a softmax becomes `LOWEST`: no scale of integers has infinity.

A softmax gives the same zeros. Only where a row forbids everything, so that its results are no
numbers, are they alike now.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, constant
from glowmcu.ir.rewriting import remove_dead_nodes
from glowmcu.ops.comparison import Select
from glowmcu.ops.elementwise import Add, Maximum, Minimum
from glowmcu.ops.movement import Movement
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.shape import Reshape

#: Below every score; the sum of two is a float32.
LOWEST = np.float32(-1e30)


def run(graph: Graph) -> Graph:
    """The graph with numbers for -inf if nobody but a softmax sees them."""
    masking = _masking(graph)
    bounded: dict[Value, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        for value in node.inputs if node in masking else ():
            data = graph.constant_data(value)
            if value not in bounded and data is not None and np.isneginf(data).any():
                bounded[value] = _bounded(graph, value, data)
                nodes.append(bounded[value])
        inputs = tuple(
            bounded[value].output if node in masking and value in bounded else value
            for value in node.inputs
        )
        nodes.append(node if inputs == node.inputs else replace(node, inputs=inputs))
    return remove_dead_nodes(graph.replace(nodes)) if bounded else graph


def _bounded(graph: Graph, value: Value, data: Array) -> Node:
    lowest = np.where(np.isneginf(data), LOWEST, data)
    return replace(
        graph.producers[value], op=constant(lowest), outputs=(Value(value.type, value.name),)
    )


def _masking(graph: Graph) -> set[Node]:
    """Nodes that choose, add and move for a softmax and nobody else."""
    masking: set[Node] = set()
    for node in reversed(graph.nodes):
        if not isinstance(node.op, Add | Select | Maximum | Minimum | Movement | Reshape):
            continue
        readers = [reader for value in node.outputs for reader in graph.users.get(value, ())]
        is_seen = any(value in graph.outputs for value in node.outputs)
        if not is_seen and all(r in masking or isinstance(r.op, Softmax) for r in readers):
            masking.add(node)
    return masking
