"""What is done with positions that `arg_max`, `arg_min` and `top_k` found, and changes none, goes.

Such positions are from 0 on and below the length of an axis. Counting negative ones from the end
leaves them, looking them up in 0, 1, 2, … is themselves, and so is a cast to real numbers and back:
all of that stands between a classifier's scores and its class in files of skl2onnx.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import ElementType
from glowmcu.ops.cast import Cast
from glowmcu.ops.comparison import Less, Select
from glowmcu.ops.gather import Gather
from glowmcu.ops.scan import ArgMax, ArgMin, TopK
from glowmcu.ops.shape import Reshape

_FINDERS = (ArgMax, ArgMin, TopK)
#: Up to as many positions an element of this type holds each of.
_EXACT = {ElementType.F32: 2**24, ElementType.I32: 2**31, ElementType.I64: 2**62}
#: Casts and reshapes that are followed.
_FAR = 16


def run(graph: Graph) -> Graph:
    """The graph with positions as they were found."""
    if not any(isinstance(node.op, _FINDERS) for node in graph.nodes):
        return graph
    return rewrite(graph, _counted_from_the_end, _looked_up, _cast_again)


def _count(context: Context, value: Value) -> int | None:
    """How many positions `value` may hold, from 0 on; None if it is anything else."""
    for _ in range(_FAR):
        node = context.producer(value)
        if node is None or value.type.element not in _EXACT:
            return None
        if isinstance(node.op, _FINDERS):
            is_position = value is node.outputs[-1]
            count = node.inputs[0].type.shape[node.op.axis]
            return count if is_position and count <= _EXACT[ElementType.F32] else None
        if not isinstance(node.op, Cast | Reshape):
            return None
        (value,) = node.inputs
    return None


def _counted_from_the_end(context: Context, node: Node) -> Sequence[Value] | None:
    """i < 0 ? i + length : i."""
    if not isinstance(node.op, Select):
        return None
    condition, _, position = node.inputs
    test = context.producer(condition)
    if test is None or not isinstance(test.op, Less) or test.inputs[0] is not position:
        return None
    zero = context.constant(test.inputs[1])
    is_zero = zero is not None and not zero.any()
    if not is_zero or position.type != node.output.type or _count(context, position) is None:
        return None
    return [position] if not context.is_output(node.output) else None


def _looked_up(context: Context, node: Node) -> Sequence[Value] | None:
    """A table of 0, 1, 2, … along the axis, and of nothing else."""
    if not isinstance(node.op, Gather) or node.op.batch_dims:
        return None
    table, position = node.inputs
    data, count = context.constant(table), _count(context, position)
    if data is None or count is None or table.type.element not in _EXACT:
        return None
    length = data.shape[node.op.axis]
    is_itself = data.size == length and bool((data.reshape(-1) == np.arange(length)).all())
    if not is_itself or count > length or table.type.quantization is not None:
        return None
    if position.type.element is not table.type.element:
        type_ = replace(position.type, element=table.type.element)
        (position,) = context.add(Cast(), [position], [type_])
    return context.add(Reshape(node.output.type.shape), [position], [node.output.type])


def _cast_again(context: Context, node: Node) -> Sequence[Value] | None:
    """A cast of what a cast made of positions takes them as they were before."""
    if not isinstance(node.op, Cast) or node.output.type.element not in _EXACT:
        return None
    (value,) = node.inputs
    if _count(context, value) is None:
        return None
    source, is_cast = value, False
    for _ in range(_FAR):
        maker = context.producer(source)
        if maker is None or not isinstance(maker.op, Cast | Reshape):
            break
        is_cast |= isinstance(maker.op, Cast)
        (source,) = maker.inputs
        if source.type.element is node.output.type.element:
            return context.add(Reshape(node.output.type.shape), [source], [node.output.type])
    if not is_cast:
        return None
    (found,) = context.add(Reshape(value.type.shape), [source],
                           [replace(source.type, shape=value.type.shape)])  # fmt: skip
    return context.add(Cast(), [found], [node.output.type])
