"""PAD into the convolution or pooling that reads it, if that is exact.

A convolution counts what lies outside as 0, which is its input's zero point: padding with just that
value is the same. A maximum ignores what lies outside, as it ignores the type's least value.
Average pooling divides by the taps inside the image: its padding is not a PAD.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Operation, OperationError
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import TensorType
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D, Padding
from glowmcu.ops.padding import Pad
from glowmcu.ops.pooling import MaxPool2D
from glowmcu.ops.real import FLOAT_MAX


def run(graph: Graph) -> Graph:
    """The graph with as much padding inside of convolutions and pools as can be."""
    return rewrite(graph, _fold)


def _fold(context: Context, node: Node) -> Sequence[Value] | None:
    pad = context.producer(node.inputs[0]) if node.inputs else None
    if pad is None or not isinstance(pad.op, Pad) or context.is_output(pad.output):
        return None
    # While anybody else needs the padded tensor, nothing is gained.
    if any(_padded(user, pad) is None for user in context.users(pad.output)):
        return None
    folded = _padded(node, pad)
    assert folded is not None
    return context.replace_op(folded, [pad.inputs[0], *node.inputs[1:]])


def _padded(node: Node, pad: Node) -> Operation | None:
    """The operator of `node` with the padding of `pad` in addition; None if it differs."""
    op = node.op
    assert isinstance(pad.op, Pad)
    if not isinstance(op, Conv2D | DepthwiseConv2D | MaxPool2D) or pad.output in node.inputs[1:]:
        return None
    x, padded = pad.inputs[0].type, pad.output.type
    if x.quantization != padded.quantization or not _is_neutral(pad.op.value, op, padded):
        return None
    (batch, height, width, depth) = pad.op.paddings
    if any(batch) or any(depth):
        return None
    top, left, bottom, right = op.padding
    sides: Padding = (top + height[0], left + width[0], bottom + height[1], right + width[1])
    return _accepted(replace(op, padding=sides), node, x)


def _is_neutral(value: float, op: Operation, type_: TensorType) -> bool:
    """Whether the stored `value` counts as much as what lies outside."""
    if isinstance(op, MaxPool2D):
        return value <= (-FLOAT_MAX if type_.element.is_float else type_.element.limits[0])
    return value == (0.0 if type_.element.is_float else type_.zero_point)


def _accepted(op: Operation, node: Node, x: TensorType) -> Operation | None:
    types = [x, *(value.type for value in node.inputs[1:])]
    try:
        return op if op.infer(types) == (node.output.type.shape,) else None
    except OperationError:
        return None
