"""A float activation that only clamps becomes the clamp of the operator in front of it.

clip(clip(x, a, b), c, d) = clip(x, clip(a, c, d), clip(b, c, d)), exactly, in real numbers. In int8
graphs activations are tables: `fold_clamp_into_producer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Operation
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import ElementType
from glowmcu.ops.activation import Relu
from glowmcu.ops.elementwise import Maximum, Minimum
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose

Range = tuple[float, float]


def run(graph: Graph) -> Graph:
    """Clamping activations folded away."""
    return rewrite(graph, _fold, _clamp_before_moving)


def _fold(context: Context, node: Node) -> Sequence[Value] | None:
    found = _clamping(context, node)
    if found is None:
        return None
    x, limits = found
    producer = context.producer(x)
    if producer is None or not context.only_use(x) or not _has_clamp(producer):
        return None
    clamped: Any = producer.op
    op: Operation = replace(clamped, clamp=_combined(clamped.clamp, limits))
    return context.add(op, producer.inputs, [node.output.type], producer.name)


def _clamp_before_moving(context: Context, node: Node) -> Sequence[Value] | None:
    """Elements may be clamped before they are moved: that brings the clamp to its layer."""
    found = _clamping(context, node)
    if found is None:
        return None
    x, limits = found
    move = context.producer(x)
    if move is None or not isinstance(move.op, Reshape | Transpose) or not context.only_use(x):
        return None
    clamped = context.add(Relu(limits), move.inputs, [move.inputs[0].type], f"{node.name}/clamp")
    return context.add(move.op, clamped, [node.output.type])


def _clamping(context: Context, node: Node) -> tuple[Value, Range] | None:
    """The operand and limits of a node that only clamps real numbers, or None."""
    op: Any = node.op
    if any(value.type.element is not ElementType.F32 for value in (*node.inputs, *node.outputs)):
        return None
    if isinstance(op, Relu):
        low, high = op.clamp
        return node.inputs[0], (float(low), float(high))
    if not isinstance(op, Maximum | Minimum):
        return None
    for x, bound in (node.inputs, node.inputs[::-1]):
        limit = _single(context.constant(bound))
        if limit is not None and x.type == node.output.type:
            return x, ((limit, FLOAT_MAX) if isinstance(op, Maximum) else (-FLOAT_MAX, limit))
    return None


def _single(data: Array | None) -> float | None:
    """The value of a constant of equal elements."""
    if data is None or data.size == 0 or (data != data.flat[0]).any() or np.isnan(data.flat[0]):
        return None
    return float(data.flat[0])


def _has_clamp(node: Node) -> bool:
    """Whether the operator clamps its single float result last."""
    names = {field.name for field in fields(node.op)}
    is_real = all(value.type.element is ElementType.F32 for value in node.outputs)
    return "clamp" in names and len(node.outputs) == 1 and is_real


def _combined(inner: Range | None, outer: Range) -> Range:
    low, high = outer
    if inner is None:
        return outer
    return min(max(inner[0], low), high), min(max(inner[1], low), high)
