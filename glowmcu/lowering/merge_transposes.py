"""transpose(transpose(x)) becomes one transpose, or nothing if the two cancel.

Only if nobody else reads what is in between, or where the two cancel: else both would be
computed from x.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.lowering import remove_identities
from glowmcu.ops.transpose import Transpose


def run(graph: Graph) -> Graph:
    """The graph with one transpose for each chain of them."""
    return rewrite(graph, *RULES)


def _merge(context: Context, node: Node) -> Sequence[Value] | None:
    before = context.producer(node.inputs[0]) if isinstance(node.op, Transpose) else None
    if before is None or not isinstance(before.op, Transpose):
        return None
    assert isinstance(node.op, Transpose)
    permutation = tuple(before.op.permutation[axis] for axis in node.op.permutation)
    cancel = permutation == tuple(range(len(permutation)))
    if not (cancel or context.only_use(node.inputs[0])):
        return None
    return context.replace_op(Transpose(permutation), before.inputs)


RULES = (_merge, *remove_identities.RULES)
