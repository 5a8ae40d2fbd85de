"""Transposes move below element-wise operators and concatenations, towards one another.

f(transpose(x), transpose(y)) becomes transpose(f(x, y)): one transpose less, and one that may meet
its inverse below. Constants are transposed now. A transpose that others read stays where it is, and
none moves to where elements are larger.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Operation
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import Shape
from glowmcu.lowering import merge_transposes
from glowmcu.ops.broadcasting import ElementwiseOperation
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.transpose import Transpose

Permutation = tuple[int, ...]


def run(graph: Graph) -> Graph:
    """The graph with its transposes as far down as they gain by it."""
    return rewrite(graph, _sink, *merge_transposes.RULES)


def _sink(context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, ElementwiseOperation | Concatenation):
        return None
    permutation = _common_permutation(context, node)
    if permutation is None or node.output.type.rank != len(permutation):
        return None
    if any(not _can_follow(context, value, permutation) for value in node.inputs):
        return None
    if node.output.type.element.size_bytes > node.inputs[0].type.element.size_bytes:
        return None
    inputs = [_untransposed(context, value, permutation) for value in node.inputs]
    shape = _inverse_shape(node.output.type.shape, permutation)
    type_ = node.output.type.with_shape(shape)
    (inner,) = context.add(_moved(node.op, permutation), inputs, [type_], f"{node.name}/inner")
    return context.replace_op(Transpose(permutation), [inner])


def _common_permutation(context: Context, node: Node) -> Permutation | None:
    """The permutation of every operand that is a transpose; None where they differ."""
    found = {
        producer.op.permutation
        for value in node.inputs
        if (producer := context.producer(value)) is not None and isinstance(producer.op, Transpose)
    }
    return found.pop() if len(found) == 1 else None


def _can_follow(context: Context, value: Value, permutation: Permutation) -> bool:
    """Whether `value` is a transpose that only the node at hand reads, or a constant."""
    quantization = value.type.quantization
    if quantization is not None and quantization.per_channel:
        return False
    if context.constant(value) is not None:
        return value.type.rank <= len(permutation)
    producer = context.producer(value)
    sole = producer is not None and isinstance(producer.op, Transpose) and context.only_use(value)
    return sole and value.type.rank == len(permutation)


def _untransposed(context: Context, value: Value, permutation: Permutation) -> Value:
    data = context.constant(value)
    if data is None:
        producer = context.producer(value)
        assert producer is not None
        return producer.inputs[0]
    if data.size == 1:
        return value
    moved = _inverse_transposed(data, permutation)
    return context.add_constant(moved, value.type.quantization, value.name)


def _inverse_transposed(data: Array, permutation: Permutation) -> Array:
    """A constant that broadcasts against the untransposed operands as `data` did before."""
    full = data.reshape((1,) * (len(permutation) - data.ndim) + data.shape)
    return np.ascontiguousarray(full.transpose(np.argsort(permutation)))


def _inverse_shape(shape: Shape, permutation: Permutation) -> Shape:
    return tuple(shape[int(place)] for place in np.argsort(permutation))


def _moved(op: Operation, permutation: Permutation) -> Operation:
    if isinstance(op, Concatenation):
        return Concatenation(permutation[op.axis])
    return op
