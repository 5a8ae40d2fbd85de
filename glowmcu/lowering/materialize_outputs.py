"""Outputs that have no memory of their own get some: constants, inputs, a value given twice.

The application reads outputs in the arena and may write inputs there again, so an output cannot lie
in flash, nor be what the application wrote, nor be another output. Runs last: other passes would
see through the copies.
"""

from __future__ import annotations

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ops.copy import Copy


def run(graph: Graph) -> Graph:
    """Copies of the outputs that need one."""
    copies: list[Node] = []
    outputs: list[Value] = []
    for value in graph.results:
        result = value
        if value in outputs or value in graph.inputs or _is_constant(graph, value):
            result = Value(value.type, value.name)
            copies.append(Node(Copy(), (value,), (result,), value.name, "output"))
        outputs.append(result)
    if not copies:
        return graph
    return graph.replace((*graph.nodes, *copies), (*outputs, *graph.assigned))


def _is_constant(graph: Graph, value: Value) -> bool:
    """Whether the value's bytes are a constant's, seen through reshapes and the like."""
    while graph.constant_data(value) is None:
        node = graph.producers.get(value)
        aliases = node.op.aliases(node.signature) if node is not None else {}
        if node is None or not aliases:
            return False
        value = node.inputs[aliases[node.outputs.index(value)]]
    return True
