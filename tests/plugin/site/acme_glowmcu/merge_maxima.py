"""maximum(maximum(a, b), c) of one shape becomes `acme.maximum_3(a, b, c)`."""

from __future__ import annotations

from collections.abc import Sequence

from acme_glowmcu.operators import Maximum3
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import OperationError
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ops.elementwise import Maximum


def run(graph: Graph) -> Graph:
    """The graph with three-way maxima. Without an attribute `after` it runs before all others."""
    return rewrite(graph, _merge)


def _merge(context: Context, node: Node) -> Sequence[Value] | None:
    inner = context.producer(node.inputs[0]) if isinstance(node.op, Maximum) else None
    if inner is None or not isinstance(inner.op, Maximum) or not context.only_use(node.inputs[0]):
        return None
    operands = (*inner.inputs, node.inputs[1])
    try:
        Maximum3().infer([value.type for value in operands])
    except OperationError:
        return None
    return context.replace_op(Maximum3(), operands)
