"""A concatenation of concatenations along the same axis becomes one; parts without elements go."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ops.joining import Concatenation


def run(graph: Graph) -> Graph:
    """The graph with flat concatenations."""
    return rewrite(graph, _merge, _drop_empty)


def _merge(context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, Concatenation):
        return None
    inputs: list[Value] = []
    for value in node.inputs:
        inner = context.producer(value)
        same = inner is not None and inner.op == node.op and context.only_use(value)
        inputs += inner.inputs if inner is not None and same else [value]
    if len(inputs) == len(node.inputs):
        return None
    return context.replace_op(node.op, inputs)


def _drop_empty(context: Context, node: Node) -> Sequence[Value] | None:
    """A loop that is written out puts its first and last rows beside none."""
    if not isinstance(node.op, Concatenation) or not node.output.type.element_count:
        return None
    inputs = [value for value in node.inputs if value.type.element_count]
    return None if len(inputs) == len(node.inputs) else context.replace_op(node.op, inputs)
