"""The same layer on every row of a tensor, row by row, becomes that layer on the tensor.

Keras' TimeDistributed writes its layer out once a step, and joins the results. Each row's result
depends on that row alone, so that joining first and computing then is the same. The rows are slices
of a tensor that is there in any case: others, and what several layers in a row make between them,
would have to be kept for all rows at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.ir.equality import operation_key
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import TensorType
from glowmcu.ops.activation import UnaryFunction
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice

#: Operators that compute each element of the first axis from that element alone.
_BY_ROW = (
    AveragePool2D,
    Conv2D,
    DepthwiseConv2D,
    FullyConnected,
    MaxPool2D,
    Reshape,
    UnaryFunction,
)
#: Fewer are as good as they are.
_LEAST = 3


def run(graph: Graph) -> Graph:
    """The graph with one layer in the place of many."""
    return rewrite(graph, _merge, _join_slices)


def _merge(context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, Concatenation) or node.op.axis or len(node.inputs) < _LEAST:
        return None
    makers = [context.producer(value) for value in node.inputs]
    first = makers[0]
    if first is None or not isinstance(first.op, _BY_ROW):
        return None
    layers = [maker for maker in makers if maker is not None and _is_like(context, maker, first)]
    if len(layers) < len(node.inputs) or len(set(layers)) < len(layers):
        return None
    if not all(context.users(value) == (node,) and not context.is_output(value)
               for value in node.inputs):  # fmt: skip
        return None
    count = len(layers)
    rows = [layer.inputs[0] for layer in layers]
    sources = {_source(context, value) for value in node.inputs}
    if len(sources) != 1 or None in sources:
        return None
    (joined,) = context.add(node.op, rows, [_repeated(rows[0].type, count)], f"{node.name}/rows")
    op = first.op
    if isinstance(op, Reshape):
        op = Reshape(node.output.type.shape)
    return context.add(op, [joined, *first.inputs[1:]], [node.output.type])


def _source(context: Context, result: Value) -> Value | None:
    """The tensor of which a row's result is made by one layer, from a slice: before and behind it
    stand functions of elements at most.
    """
    maker, layers = context.producer(result), 0
    while maker is not None and isinstance(maker.op, _BY_ROW) and layers <= 1:
        layers += not isinstance(maker.op, Reshape | UnaryFunction)
        maker = context.producer(maker.inputs[0])
    is_row = maker is not None and isinstance(maker.op, Slice) and layers <= 1
    return maker.inputs[0] if maker is not None and is_row else None


def _join_slices(context: Context, node: Node) -> Sequence[Value] | None:
    """Neighbouring rows of one tensor, put together again, are a part of it."""
    if not isinstance(node.op, Concatenation):
        return None
    axis, slices = node.op.axis, [context.producer(value) for value in node.inputs]
    source, begin, end = None, 0, 0
    for maker in slices:
        if maker is None or not isinstance(maker.op, Slice):
            return None
        op = maker.op
        if source is None:
            source, begin, end = maker.inputs[0], op.begin[axis], op.begin[axis]
        if maker.inputs[0] is not source or op.begin[axis] != end or set(op.step) != {1}:
            return None
        whole = (*source.type.shape[:axis], op.size[axis], *source.type.shape[axis + 1 :])
        if op.size != whole:
            return None
        end += op.size[axis]
    if source is None:
        return None
    if source.type == node.output.type:
        return [source] if not context.is_output(node.output) else None
    first = tuple(begin if i == axis else 0 for i in range(source.type.rank))
    part = Slice(first, node.output.type.shape, (1,) * source.type.rank)
    return context.add(part, [source], [node.output.type])


def _is_like(context: Context, node: Node, first: Node) -> bool:
    """Whether one computes what the other does, of another row with the same scale."""
    if type(node.op) is not type(first.op):
        return False
    (x, *others), (y, *same) = node.inputs, first.inputs
    if x.type != y.type or node.output.type != first.output.type or others != same:
        return False
    if x.type.shape[:1] != (1,) or node.output.type.shape[:1] != (1,):
        return False
    if context.constant(x) is not None:
        return False
    if isinstance(node.op, Reshape):
        return True
    return operation_key(node.op) == operation_key(first.op)


def _repeated(type_: TensorType, count: int) -> TensorType:
    return type_.with_shape((count, *type_.shape[1:]))
