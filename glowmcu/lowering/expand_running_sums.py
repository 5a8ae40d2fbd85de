"""Exact running sums of int8 and int16 become those of int32, between two changes of scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ops.quantization import Requantize
from glowmcu.ops.scan import CumSum, has_plain_sums


def run(graph: Graph) -> Graph:
    """The graph with sums that have a kernel."""
    return rewrite(graph, _expand)


def _expand(context: Context, node: Node) -> Sequence[Value] | None:
    op = node.op
    if not isinstance(op, CumSum) or not op.exact or has_plain_sums(node.inputs[0].type):
        return None
    (x,), total = node.inputs, op.total_type(node.inputs[0].type)
    (wide,) = context.add(Requantize(), [x], [total])
    (sums,) = context.add(replace(op, exact=False), [wide], [total])
    return context.add(Requantize(), [sums], [node.output.type])
