"""Outputs that have no memory of their own get some: constants, inputs, a value given twice.

The application reads outputs in the arena and may write inputs there again, so an output cannot lie
in flash, nor be what the application wrote, nor be another output, nor what a state was: that is
overwritten. Runs last: other passes would see through the copies.
"""

from __future__ import annotations

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ops.copy import Copy


def run(graph: Graph) -> Graph:
    """Copies of the outputs that need one."""
    copies: list[Node] = []
    outputs: list[Value] = []
    states = {state.value for state in graph.states}
    for value in graph.results:
        result = value
        origin = source(graph, value)
        is_shown = value in graph.inputs or origin in states
        if value in outputs or is_shown or graph.constant_data(origin) is not None:
            result = Value(value.type, value.name)
            copies.append(Node(Copy(), (value,), (result,), value.name, "output"))
        outputs.append(result)
    if not copies:
        return graph
    return graph.replace((*graph.nodes, *copies), (*outputs, *graph.assigned))


def source(graph: Graph, value: Value) -> Value:
    """Whose bytes the value's are, seen through reshapes and the like."""
    while graph.constant_data(value) is None:
        node = graph.producers.get(value)
        aliases = node.op.aliases(node.signature) if node is not None else {}
        if node is None or not aliases:
            break
        value = node.inputs[aliases[node.outputs.index(value)]]
    return value
