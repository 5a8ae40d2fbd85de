"""Gain and bias of a normalization go into the weights and bias of the dense layers that read it.

W (g x + h) + b = (W g) x + (W h + b), exactly, in real numbers. What is rounded to 8 bits then has
variance 1 in every row, whatever the gains are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import ElementType
from glowmcu.ops.elementwise import Add, Mul
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.moments import MeanVarianceNormalization


def run(graph: Graph) -> Graph:
    """The graph without gains that only dense layers see."""
    return rewrite(graph, _fold)


def _fold(context: Context, node: Node) -> Sequence[Value] | None:
    """A dense layer that reads a scaled or shifted normalization; so do all other readers."""
    if not isinstance(node.op, FullyConnected) or len(node.inputs) != 3:
        return None
    operand, weights, bias = (context.constant(value) for value in node.inputs)
    found = _per_channel(context, node.inputs[0])
    if found is None or weights is None or bias is None or operand is not None:
        return None
    if any(value.type.element is not ElementType.F32 for value in (*node.inputs, node.output)):
        return None
    x, kind, channels = found
    wide, shifted = weights.astype(np.float64), node.inputs[2]
    if kind is Mul:
        wide = wide * channels
    else:
        total = np.asarray(bias + wide @ channels, np.float32)
        shifted = context.add_constant(total, name=shifted.name)
    made = context.add_constant(wide.astype(np.float32), name=node.inputs[1].name)
    return context.replace_op(node.op, [x, made, shifted])


def _per_channel(context: Context, value: Value) -> tuple[Value, type[Mul | Add], Array] | None:
    """The operand, the operator and the constants in float64, one an element of the last axis."""
    node = context.producer(value)
    if node is None or not _is_for_dense_layers(context, value):
        return None
    op = node.op
    if not isinstance(op, Mul | Add) or op.clamp is not None:
        return None
    for x, other in (node.inputs, node.inputs[::-1]):
        data = context.constant(other)
        if data is None or x.type != value.type or not _is_normalized(context, x):
            continue
        depth = x.type.shape[-1]
        if data.size in (1, depth) and data.shape[-1:] in ((), (1,), (depth,)):
            channels = np.broadcast_to(data.reshape(-1), (depth,)).astype(np.float64)
            return x, type(op), channels
    return None


def _is_normalized(context: Context, value: Value) -> bool:
    """Whether `value` is a normalization, perhaps with a gain."""
    node = context.producer(value)
    if node is not None and isinstance(node.op, Mul):
        node = next(filter(None, map(context.producer, node.inputs)), None)
    return node is not None and isinstance(node.op, MeanVarianceNormalization)


def _is_for_dense_layers(context: Context, value: Value) -> bool:
    readers = context.users(value)
    dense = (isinstance(r.op, FullyConnected) and r.inputs[0] is value for r in readers)
    constant = (context.constant(weights) is not None for r in readers for weights in r.inputs[1:])
    return not context.is_output(value) and all(dense) and all(constant)
