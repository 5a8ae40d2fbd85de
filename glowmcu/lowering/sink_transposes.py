"""Transposes move below the operators that read them, towards one another.

f(transpose(x), transpose(y)) becomes transpose(f'(x, y)), where f' has other axes
(`transposed_operators.py`): one transpose less, and one that may meet its inverse below. Constants
are transposed now, and so are values whose transpose is free. A transpose stays where somebody else
reads it who could not follow, where its readers would need several in its place, and none moves to
where there is more to transpose.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, OperationError
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import Shape, TensorType
from glowmcu.lowering import merge_transposes
from glowmcu.lowering.transposed_operators import Moved, Permutation, moved
from glowmcu.ops.broadcasting import ElementwiseOperation
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.padding import MirrorPad, Pad
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose

#: How many operators may lie between a transpose and a reader that can follow only after them.
_LONGEST_CHAIN = 8


def run(graph: Graph) -> Graph:
    """The graph with its transposes as far down as they gain by it."""
    return rewrite(graph, sink, *merge_transposes.RULES)


def sink(context: Context, node: Node) -> Sequence[Value] | None:
    permutation = _common_permutation(context, node)
    if permutation is None:
        return None
    new = moved(node.op, permutation, node.signature)
    if new is None or not _gains(context, node):
        return None
    operands = _moving_operands(node)
    if any(not _can_follow(context, node, value, permutation) for value in operands):
        return None
    inputs = [
        _untransposed(context, value, permutation) if value in operands else value
        for value in node.inputs
    ]
    return _transposed_results(context, node, new, inputs)


def _transposed_results(
    context: Context, node: Node, new: Moved, inputs: Sequence[Value]
) -> Sequence[Value] | None:
    types = [
        value.type.with_shape(_inverse_shape(value.type.shape, new.permutation))
        for value in node.outputs
    ]
    try:
        shapes = new.op.infer([value.type for value in inputs])
    except OperationError:
        return None
    assert shapes == tuple(type_.shape for type_ in types), f"{node.op.name}: axes moved wrongly"
    if _is_identity(new.permutation):
        return context.replace_op(new.op, inputs)
    inner = context.add(new.op, inputs, types, f"{node.name}/inner")
    return [
        _transpose(context, value, new.permutation, out.type)
        for value, out in zip(inner, node.outputs, strict=True)
    ]


def _transpose(
    context: Context, value: Value, permutation: Permutation, type_: TensorType
) -> Value:
    return context.add(Transpose(permutation), [value], [type_])[0]


def _moving_operands(node: Node) -> tuple[Value, ...]:
    """Operands with the axes of the result; indices of a gather have their own."""
    return node.inputs[:1] if isinstance(node.op, Gather) else node.inputs


def _common_permutation(context: Context, node: Node) -> Permutation | None:
    """The permutation of every operand that is a transpose; None if they differ."""
    found = {
        producer.op.permutation
        for value in _moving_operands(node)
        if (producer := context.producer(value)) is not None and isinstance(producer.op, Transpose)
    }
    return found.pop() if len(found) == 1 else None


def _gains(context: Context, node: Node) -> bool:
    """Whether no more bytes are transposed behind the node than in front of it.

    Padding is let through: it adds little, and convolutions read it.
    """
    if isinstance(node.op, Pad | MirrorPad):
        return True
    transposed = sum(
        value.type.size_bytes
        for value in dict.fromkeys(_moving_operands(node))
        if context.constant(value) is None
    )
    return sum(value.type.size_bytes for value in node.outputs) <= transposed


def _can_follow(context: Context, node: Node, value: Value, permutation: Permutation) -> bool:
    """Whether `value` can be had untransposed without computing more for others."""
    quantization = value.type.quantization
    if quantization is not None and quantization.per_channel:
        return False
    broadcasts = isinstance(node.op, ElementwiseOperation)
    if context.constant(value) is not None:
        rank = value.type.rank
        return rank <= len(permutation) if broadcasts else rank == len(permutation)
    if value.type.rank != len(permutation):
        return False
    producer = context.producer(value)
    if producer is None or not isinstance(producer.op, Transpose):
        return _is_free(value.type.shape, permutation)
    return _leaves_no_more(context, value, permutation)


def _leaves_no_more(context: Context, value: Value, permutation: Permutation) -> bool:
    """Whether the readers of a transpose, without it, need no more of them than go: itself, and
    its inverses below them.
    """
    gone, turned, reached = 1, {value: permutation}, [(value, 0)]
    for each, depth in reached:
        is_needed = context.is_output(each) or depth == _LONGEST_CHAIN
        for user in context.users(each) if depth < _LONGEST_CHAIN else ():
            if isinstance(user.op, Transpose):
                gone += depth > 0 and _cancels(user.op, turned[each])
            elif (
                (new := _moves(context, user, turned[each], _LONGEST_CHAIN)) is None
                or any(result.type.rank != len(new.permutation) for result in user.outputs)
            ):  # fmt: skip
                is_needed = True  # as what has more axes by a constant of these
            elif not _is_identity(new.permutation):
                found = [result for result in user.outputs if result not in turned]
                turned |= dict.fromkeys(found, new.permutation)
                reached += [(result, depth + 1) for result in found]
        gone -= is_needed
    return gone >= 0


def _cancels(op: Transpose, permutation: Permutation) -> bool:
    """Whether it undoes the permutation."""
    return _is_identity(tuple(permutation[axis] for axis in op.permutation))


def _is_identity(permutation: Permutation) -> bool:
    return permutation == tuple(range(len(permutation)))


def _moves(context: Context, node: Node, permutation: Permutation, chain: int) -> Moved | None:
    """The node on untransposed operands, if it can have all of them."""
    operands = _moving_operands(node)
    computed = [value for value in operands if context.constant(value) is None]
    if any(value.type.rank != len(permutation) for value in computed):
        return None
    new = moved(node.op, permutation, node.signature)
    if new is None or not _gains(context, node):
        return None
    available = all(_is_available(context, value, permutation, chain) for value in operands)
    return new if available else None


def _is_available(context: Context, value: Value, permutation: Permutation, chain: int) -> bool:
    if (
        context.constant(value) is not None
        or _is_transposed(context, value, permutation)
        or _is_free(value.type.shape, permutation)
    ):
        return True
    producer = context.producer(value)
    if producer is None or chain == 0:
        return False
    new = _moves(context, producer, permutation, chain - 1)
    return new is not None and new.permutation == permutation


def _is_transposed(context: Context, value: Value, permutation: Permutation) -> bool:
    producer = context.producer(value)
    return (
        producer is not None
        and isinstance(producer.op, Transpose)
        and producer.op.permutation == permutation
    )


def _is_free(shape: Shape, permutation: Permutation) -> bool:
    """Whether undoing the permutation leaves all elements of `shape` where they are."""
    if len(shape) != len(permutation):
        return False
    places = [int(place) for place in np.argsort(permutation) if shape[int(place)] != 1]
    return places == sorted(places)


def _untransposed(context: Context, value: Value, permutation: Permutation) -> Value:
    data = context.constant(value)
    if data is not None:
        return _constant(context, value, data, permutation)
    if _is_transposed(context, value, permutation):
        producer = context.producer(value)
        assert producer is not None
        return producer.inputs[0]
    shape = _inverse_shape(value.type.shape, permutation)
    return context.add(Reshape(shape), [value], [value.type.with_shape(shape)], "untransposed")[0]


def _constant(context: Context, value: Value, data: Array, permutation: Permutation) -> Value:
    if data.size == 1 and not isinstance(context.node.op, Concatenation):
        return value
    full = data.reshape((1,) * (len(permutation) - data.ndim) + data.shape)
    turned = np.ascontiguousarray(full.transpose(np.argsort(permutation)))
    return context.add_constant(turned, value.type.quantization, value.name)


def _inverse_shape(shape: Shape, permutation: Permutation) -> Shape:
    return tuple(shape[int(place)] for place in np.argsort(permutation))
