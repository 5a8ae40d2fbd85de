"""Which results have the same bits wherever they are computed.

Integer meanings are exact. Real numbers are not: C may add in another order and has its own exp, so
that last bits differ between processors and from Python. A value is inexact when it is computed in
float, or from something that is. Into float (DEQUANTIZE) and out of it (QUANTIZE, comparisons) is a
single rounding of an exact value: the border of an int8 model stays exact. So does what is moved.
"""

from __future__ import annotations

from glowmcu.ir.graph import Graph, Node, Value


def exact_outputs(graph: Graph) -> tuple[bool, ...]:
    """For each result of `graph` whether every byte of it is defined, in every run."""
    states, before = set[Value](), -1
    while len(states) != before:
        before = len(states)
        inexact = set(states)
        for node in graph.nodes:
            if computes_in_float(node) or not inexact.isdisjoint(node.inputs):
                inexact.update(node.outputs)
        pairs = zip(graph.states, graph.assigned, strict=True)
        states.update(state.value for state, value in pairs if value in inexact)
    return tuple(value not in inexact for value in graph.results)


def computes_in_float(node: Node) -> bool:
    """Whether the node makes real numbers from real numbers, itself or in a body of its own."""
    if any(computes_in_float(inner) for graph in node.op.inner_graphs() for inner in graph.nodes):
        return True
    if node.op.keeps_bits:
        return False
    return any(value.type.element.is_float for value in node.inputs) and any(
        value.type.element.is_float for value in node.outputs
    )
