"""An activation that only clamps becomes the clamp of the operator in front of it.

An activation of 8 bits is a table by now. It is a clamp if, on every value that the producer's own
clamp lets through, it equals clip(value, lowest, highest); then one clamp to [lowest, highest] does
both. One of 16 bits is a relu between equal scales, or a clip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Operation
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ops.activation import Clip, Relu
from glowmcu.ops.lookup import Lookup


def run(graph: Graph) -> Graph:
    """Clamping tables folded away."""
    return rewrite(graph, _fold)


def _fold(context: Context, node: Node) -> Sequence[Value] | None:
    is_stored = not node.output.type.element.is_float
    is_activation = isinstance(node.op, Lookup | Clip | Relu) and is_stored
    producer = context.producer(node.inputs[0]) if is_activation else None
    if producer is None or not context.only_use(node.inputs[0]) or len(producer.outputs) != 1:
        return None
    limits = _clamp_range(producer)
    if limits is None or producer.output.type != node.output.type:
        return None
    clamp = _clamp_behind(node, *limits)
    if clamp is None:
        return None
    clamped: Any = producer.op
    op: Operation = replace(clamped, clamp=clamp)
    return context.add(op, producer.inputs, [node.output.type], producer.name)


def _clamp_range(node: Node) -> tuple[int, int] | None:
    """What the operator's results are clamped to last, or None when it has no such attribute."""
    op: Any = node.op
    if not hasattr(op, "clamp_range") or "clamp" not in {field.name for field in fields(op)}:
        return None
    lowest, highest = op.clamp_range(node.signature)
    return lowest, highest


def _clamp_behind(node: Node, lowest: int, highest: int) -> tuple[int, int] | None:
    """Where stored values from `lowest` to `highest` end behind `node`; None if it is no clamp."""
    if isinstance(node.op, Lookup):
        return clamp_of_table(node.op.table, lowest, highest)
    if isinstance(node.op, Clip):
        low, high = node.op.clamp
    else:
        assert isinstance(node.op, Relu)
        low, high = node.op.clamp_range(node.signature)
    return min(max(lowest, low), high), min(max(highest, low), high)


def clamp_of_table(table: Array, lowest: int, highest: int) -> tuple[int, int] | None:
    """`(low, high)` if the table is clip(value, low, high) on all of `[lowest, highest]`.

    `table` is indexed by the operand's byte and has the operand's dtype.
    """
    reachable = np.arange(lowest, highest + 1)
    results = table[reachable & 0xFF].astype(np.int64)
    low, high = int(results[0]), int(results[-1])
    if low > high or (results != np.clip(reachable, low, high)).any():
        return None
    return low, high
