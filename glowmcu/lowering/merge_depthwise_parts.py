"""Depthwise convolutions of parts of the channels, joined again, become one of all channels.

Networks mix windows of several lengths (MixConv, Tan and Le, arXiv 1907.09595): channels are split,
each part is read through a window of its own, and the results are joined. One convolution with the
longest window computes the same sums: taps that a part does not have are 0. No channel is copied
then, and a layer is one call instead of several.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import Quantization
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import DepthwiseConv2D
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.slicing import Slice, Split

_CHANNELS = 3
#: Multiply-accumulates may grow by this factor: calls and copies of small layers cost more.
_MOST_MACS = 1.5


def run(graph: Graph) -> Graph:
    """The graph with such parts merged."""
    return rewrite(graph, _merge)


@dataclass(frozen=True)
class _Part:
    """A convolution and what it reads of `source`: channels from `channel`, rows from `row` on."""

    node: Node
    source: Value
    channel: int
    row: int
    taps: Array
    bias: Array

    @property
    def op(self) -> DepthwiseConv2D:
        assert isinstance(self.node.op, DepthwiseConv2D)
        return self.node.op

    @property
    def channels(self) -> int:
        return int(self.taps.shape[_CHANNELS])


def _merge(context: Context, node: Node) -> Sequence[Value] | None:
    if not isinstance(node.op, Concatenation) or node.op.axis != _CHANNELS:
        return None
    parts = []
    for value in node.inputs:
        part = _part(context, node, value)
        if part is None:
            return None
        parts.append(part)
    if len(parts) < 2 or not _fit(parts):
        return None
    first = min(part.row for part in parts)
    height = max(part.row + part.taps.shape[1] for part in parts) - first
    macs = sum(part.node.macs for part in parts)
    if _merged_macs(parts, height) > _MOST_MACS * macs:
        return None
    taps = [_placed(part, part.row - first, height) for part in parts]
    bias = np.concatenate([part.bias for part in parts])
    weights = context.add_constant(
        np.concatenate(taps, _CHANNELS), _joined(parts, 1, _CHANNELS), node.inputs[0].name
    )
    biases = context.add_constant(bias, _joined(parts, 2, 0), f"{node.inputs[0].name}/bias")
    x = _rows(context, parts, first, height)
    return context.add(parts[0].op, [x, weights, biases], [node.output.type])


def _part(context: Context, node: Node, value: Value) -> _Part | None:
    maker = context.producer(value)
    if maker is None or not isinstance(maker.op, DepthwiseConv2D):
        return None
    if context.users(value) != (node,) or context.is_output(value) or node.inputs.count(value) > 1:
        return None
    taps, bias = (context.constant(operand) for operand in maker.inputs[1:])
    seen = _source(context, maker.inputs[0])
    if taps is None or bias is None or seen is None:
        return None
    return _Part(maker, *seen, taps, bias)


def _source(context: Context, value: Value) -> tuple[Value, int, int] | None:
    """What `value` is the channels of, and some of the rows: from which channel and row on."""
    row, channel = 0, 0
    maker = context.producer(value)
    while maker is not None and isinstance(maker.op, Slice) and _is_rows(maker):
        row += maker.op.begin[1]
        value = maker.inputs[0]
        maker = context.producer(value)
    if maker is None or not isinstance(maker.op, Split):
        return None
    if maker.op.axis != _CHANNELS or maker.op.drop_axis or value.type.rank != 4:
        return None
    channel = sum(maker.op.sizes[: maker.outputs.index(value)])
    return maker.inputs[0], channel, row


def _is_rows(node: Node) -> bool:
    """Whether a slice takes rows as they are, and all of each."""
    op, shape = node.op, node.inputs[0].type.shape
    assert isinstance(op, Slice)
    others = [axis for axis in range(len(shape)) if axis != 1]
    whole = all(op.begin[axis] == 0 and op.size[axis] == shape[axis] for axis in others)
    return len(shape) == 4 and whole and set(op.step) == {1}


def _fit(parts: Sequence[_Part]) -> bool:
    """Whether the parts are all channels of one tensor in order, read and rounded in one way."""
    one, at = parts[0], 0
    for part in parts:
        types = zip(part.node.signature.inputs, one.node.signature.inputs, strict=True)
        alike = (
            part.source is one.source
            and part.channel == at
            and part.op == one.op
            and part.taps.shape[2] == one.taps.shape[2]
            and part.channels == part.node.inputs[0].type.shape[_CHANNELS]
            and part.node.output.type.shape[:3] == one.node.output.type.shape[:3]
            and part.node.output.type.quantization == one.node.output.type.quantization
            and all(a.element is b.element for a, b in types)
        )
        if not alike:
            return False
        at += part.channels
    padded = any(one.op.padding) or one.op.dilations[0] != 1
    return not padded and at == one.source.type.shape[_CHANNELS] and _has_scales(parts)


def _has_scales(parts: Sequence[_Part]) -> bool:
    """All weights and biases are quantized, or none is."""
    types = [part.node.signature.inputs[operand] for part in parts for operand in (1, 2)]
    return len({type_.quantization is None for type_ in types}) == 1


def _merged_macs(parts: Sequence[_Part], height: int) -> float:
    return float(sum(part.node.macs * height / part.taps.shape[1] for part in parts))


def _placed(part: _Part, before: int, height: int) -> Array:
    """The taps of a part among those of all; others are the zero point, which counts for 0."""
    quantization = part.node.signature.inputs[1].quantization
    points = np.array(0 if quantization is None else quantization.zero_points)
    _, own, width, channels = part.taps.shape
    taps = np.empty((1, height, width, channels), part.taps.dtype)
    taps[:] = points.astype(part.taps.dtype)
    taps[:, before : before + own] = part.taps
    return taps


def _joined(parts: Sequence[_Part], operand: int, axis: int) -> Quantization | None:
    """The scales of all channels."""
    found = [(part, part.node.signature.inputs[operand].quantization) for part in parts]
    scales, points = list[float](), list[int]()
    for part, quantization in found:
        if quantization is None:
            return None
        count = part.channels if quantization.axis is None else 1
        scales += [*quantization.scales] * count
        points += [*quantization.zero_points] * count
    return Quantization(tuple(scales), tuple(points), axis)


def _rows(context: Context, parts: Sequence[_Part], first: int, height: int) -> Value:
    """The rows of the source that the merged window reads."""
    one = parts[0]
    shape = one.source.type.shape
    rows = (one.node.output.type.shape[1] - 1) * one.op.strides[0] + height
    if (first, rows) == (0, shape[1]):
        return one.source
    size = (shape[0], rows, *shape[2:])
    taken = Slice((0, first, 0, 0), size, (1,) * 4)
    (value,) = context.add(taken, [one.source], [one.source.type.with_shape(size)])
    return value
