"""Time runs along the rows of images one column wide, however the model had it.

Keras and ONNX write one-dimensional layers on images of a single row, `(1, 1, time, channels)`, and
what is between them on `(1, time, channels)`. Rows are what streams (see memplan): as
`(1, time, 1, channels)`, the same bytes, such a network hands on time steps. Layers are transposed
wherever they read a single row, other operators where a neighbour has been; the reshapes at the
borders are free, and what computes a whole image of one column computes it as a row again (see
`kernels/selection/select.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Operation, OperationError
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.transposed_images import is_row, transposed_shape
from glowmcu.ir.types import Shape, TensorType
from glowmcu.lowering import merge_common_subexpressions, remove_identities
from glowmcu.lowering.column_operators import (
    can_be_column,
    column_shape,
    is_time_series,
    on_columns,
)
from glowmcu.ops.broadcasting import ElementwiseOperation
from glowmcu.ops.reduction import Reduction
from glowmcu.ops.shape import Reshape


def run(graph: Graph) -> Graph:
    """The graph with time steps as rows."""
    transposed = rewrite(graph, _transpose_layer, _map_operator, *remove_identities.RULES)
    return transposed if transposed is graph else merge_common_subexpressions.run(transposed)


def _transpose_layer(context: Context, node: Node) -> Sequence[Value] | None:
    """A layer on an image of one row, which it leaves one."""
    op = node.op.hw_transposed()
    if op is None or not is_time_series(node.inputs[0].type.shape):
        return None
    images = [value for value in node.inputs if context.constant(value) is None]
    if not all(is_row(value.type.shape) for value in (*images, *node.outputs)):
        return None
    inputs = [_transposed(context, value) for value in node.inputs]
    return _replaced(context, node, op, inputs)


def _map_operator(context: Context, node: Node) -> Sequence[Value] | None:
    """An operator that reads time steps along the height, or makes them for such a reader."""
    is_column = any(_source(context, value) is not None for value in node.inputs)
    if not is_column and not any(_is_mapped(context, value) for value in node.outputs):
        return None
    by_element = isinstance(node.op, ElementwiseOperation)
    rank = (node.outputs if by_element else node.inputs)[0].type.rank
    results = () if isinstance(node.op, Reduction) else node.outputs
    if not all(_can_be_column(value, rank) for value in (*node.inputs, *results)):
        return None
    op = on_columns(node.op, rank)
    if op is None:
        return None
    inputs = [_as_column(context, value, rank) for value in node.inputs]
    return _replaced(context, node, op, inputs)


def _replaced(
    context: Context, node: Node, op: Operation, inputs: Sequence[Value]
) -> Sequence[Value] | None:
    """`op` in the node's place, its results as they were; None if it does not fit."""
    try:
        shapes = op.infer([value.type for value in inputs])
    except OperationError:
        return None
    types = [
        value.type.with_shape(shape) for value, shape in zip(node.outputs, shapes, strict=True)
    ]
    results = context.add(op, inputs, types)
    return [
        _reshaped(context, value, out.type.shape, out.name)
        for value, out in zip(results, node.outputs, strict=True)
    ]


def _transposed(context: Context, value: Value) -> Value:
    """A layer's operand on exchanged axes; weights of one row or column keep their bytes."""
    data = context.constant(value)
    if data is None:
        return _reshaped(context, value, transposed_shape(value.type.shape))
    if data.ndim < 4:
        return value
    return _constant(context, value, np.ascontiguousarray(data.swapaxes(1, 2)))


def _as_column(context: Context, value: Value, rank: int) -> Value:
    """An operand as an image of one column; one number stays what it is."""
    data = context.constant(value)
    if data is None:
        return _source(context, value) or _reshaped(
            context, value, column_shape(value.type.shape, rank)
        )
    if data.size == 1 and isinstance(context.node.op, ElementwiseOperation):
        return value
    return _constant(context, value, data.reshape(column_shape(data.shape, rank)))


def _source(context: Context, value: Value) -> Value | None:
    """The image of one column that `value` is reshaped from."""
    producer = context.producer(value)
    if (
        producer is None
        or not isinstance(producer.op, Reshape)
        or not is_time_series(value.type.shape)
    ):
        return None
    (source,) = producer.inputs
    return source if source.type == _column_type(value) else None


def _is_mapped(context: Context, value: Value) -> bool:
    """Whether somebody wants a node's result as an image of one column."""
    if not is_time_series(value.type.shape):
        return False
    wanted = _column_type(value)
    return any(
        isinstance(user.op, Reshape) and user.output.type == wanted for user in context.users(value)
    )


def _column_type(value: Value) -> TensorType:
    return value.type.with_shape(column_shape(value.type.shape, value.type.rank))


def _can_be_column(value: Value, rank: int) -> bool:
    quantization = value.type.quantization
    per_channel = quantization is not None and quantization.per_channel
    return not per_channel and can_be_column(value.type.shape, rank)


def _constant(context: Context, value: Value, data: Array) -> Value:
    return context.add_constant(data, value.type.quantization, value.name)


def _reshaped(context: Context, value: Value, shape: Shape, name: str = "") -> Value:
    """`value` in another shape, called `name`; itself if it has that shape."""
    if value.type.shape == shape:
        return value
    result = Value(value.type.with_shape(shape), name or value.name)
    node = context.node
    op = Reshape(shape)
    context.added.append(Node(op, (value,), (result,), result.name, node.source, node.stage))
    return result
