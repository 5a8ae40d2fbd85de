"""Which results have the same bits wherever they are computed.

Integer meanings are exact. Real numbers are not: C may add in another order and has its own exp, so
that last bits differ between processors and from Python. A value is inexact when it is computed in
float, or from something that is. Into float (DEQUANTIZE) and out of it (QUANTIZE, comparisons) is a
single rounding of an exact value: the border of an int8 model stays exact.
"""

from __future__ import annotations

from glowmcu.ir.graph import Graph, Node, Value


def exact_outputs(graph: Graph) -> tuple[bool, ...]:
    """For each output of `graph` whether every byte of it is defined."""
    inexact: set[Value] = set()
    for node in graph.nodes:
        if computes_in_float(node) or not inexact.isdisjoint(node.inputs):
            inexact.update(node.outputs)
    return tuple(value not in inexact for value in graph.outputs)


def computes_in_float(node: Node) -> bool:
    """Whether the node makes real numbers from real numbers."""
    return any(value.type.element.is_float for value in node.inputs) and any(
        value.type.element.is_float for value in node.outputs
    )
