"""pad moves below transposes and reshapes, to the layer that reads it and may count it as its own.

PyTorch pads (batch, channels, time), and layers read images with channels last: what is between
them then moves fewer bytes, and `fold_padding` finds the padding in front of the layer.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import Shape
from glowmcu.ops.padding import Pad, Paddings
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose


def run(graph: Graph) -> Graph:
    """The graph with padding as far down as what only moves axes lets it."""
    return rewrite(graph, _sink)


def _sink(context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, Reshape | Transpose):
        return None
    pad = context.producer(node.inputs[0])
    if pad is None or not isinstance(pad.op, Pad) or not context.only_use(node.inputs[0]):
        return None
    paddings = _moved(node, pad.op.paddings)
    if paddings is None:
        return None
    padded = node.output.type.shape
    shape = tuple(size - sum(pair) for size, pair in zip(padded, paddings, strict=True))
    (x,) = pad.inputs
    op: Operation = Reshape(shape) if isinstance(node.op, Reshape) else node.op
    inner = context.add(op, [x], [x.type.with_shape(shape)])
    return context.replace_op(Pad(paddings, pad.op.value), inner)


def _moved(node: Node, paddings: Paddings) -> Paddings | None:
    """The paddings of the axes of the result; None if these are not the operand's."""
    if isinstance(node.op, Transpose):
        return tuple(paddings[axis] for axis in node.op.permutation)
    before, after = node.inputs[0].type.shape, node.output.type.shape
    places, sizes = _long_axes(before)
    new_places, new_sizes = _long_axes(after)
    if sizes != new_sizes or any(
        any(pair) for axis, pair in enumerate(paddings) if axis not in places
    ):
        return None
    at = dict(zip(new_places, places, strict=True))
    return tuple(paddings[at[axis]] if axis in at else (0, 0) for axis in range(len(after)))


def _long_axes(shape: Shape) -> tuple[list[int], list[int]]:
    """Axes of more than one element, and how many."""
    axes = [axis for axis, size in enumerate(shape) if size != 1]
    return axes, [shape[axis] for axis in axes]
