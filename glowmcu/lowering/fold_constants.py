"""Nodes whose operands are all known are evaluated now, by their own meaning.

A result that is much larger than what it is made of (a broadcast, a tile) stays a node: flash is
dearer than the few cycles.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.ir.graph import Graph, Node, Value, evaluate_node
from glowmcu.ir.operation import constant
from glowmcu.ir.rewriting import Context, rewrite

#: A folded result may take this many bytes, or this many times its operands' bytes.
_SMALL_BYTES = 256
_GROWTH = 4


def run(graph: Graph) -> Graph:
    """Constants in place of nodes that only read constants."""
    return rewrite(graph, _fold)


def _fold(context: Context, node: Node) -> Sequence[Value] | None:
    data = [context.constant(value) for value in node.inputs]
    operands = [array for array in data if array is not None]
    # An output is written at run time in any case.
    if len(operands) != len(data) or any(map(context.is_output, node.outputs)):
        return None
    size_bytes = sum(value.type.size_bytes for value in node.outputs)
    if size_bytes > max(_SMALL_BYTES, _GROWTH * sum(array.nbytes for array in operands)):
        return None
    results = evaluate_node(node, operands, context.rounding)
    return [
        value
        for result, old in zip(results, node.outputs, strict=True)
        for value in context.add(constant(result), (), [old.type], old.name)
    ]
