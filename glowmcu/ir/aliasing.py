"""Where a value lies that is bytes of another one (`Operation.aliases`)."""

from __future__ import annotations

from glowmcu.ir.graph import Graph, Node, Value

#: No kernel asks for more.
_MOST_ALIGN = 16


def byte_offset(graph: Graph, value: Value) -> int:
    """Bytes from the beginning of what the value is a part of; 0 for all others."""
    node = graph.producers.get(value)
    aliases = node.op.aliases(node.signature) if node is not None else {}
    if node is None or not aliases:
        return 0
    result = node.outputs.index(value)
    inner = byte_offset(graph, node.inputs[aliases[result]])
    return inner + node.op.alias_offset(node.signature, result)


def operands_align(graph: Graph, node: Node) -> int:
    """A power of two: every operand can lie at a multiple of so many bytes, 16 at most."""
    together = _MOST_ALIGN
    for value in node.inputs:
        together |= byte_offset(graph, value)
    return together & -together
