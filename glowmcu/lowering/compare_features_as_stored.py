"""Trees read features as they are stored: DEQUANTIZE and CAST in front of them go.

Both are monotone, so that each threshold is one of the stored type; the operator means the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import OperationError
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ops.cast import Cast
from glowmcu.ops.quantization import Dequantize
from glowmcu.ops.trees import TreeEnsemble


def run(graph: Graph) -> Graph:
    """No conversion in front of trees."""
    return rewrite(graph, _read_stored)


def _read_stored(context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, TreeEnsemble):
        return None
    before = context.producer(node.inputs[0])
    if before is None or not isinstance(before.op, Cast | Dequantize):
        return None
    (x,) = before.inputs
    if isinstance(before.op, Cast) and (x.type.element.is_float or x.type.quantization is not None):
        return None
    try:
        node.op.verify(type(node.signature)((x.type,), node.signature.outputs))
    except OperationError:
        return None
    return context.replace_op(node.op, [x])
