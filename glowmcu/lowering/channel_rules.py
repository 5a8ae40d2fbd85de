"""How channels (the last axis) go through each operator: what `remove_unread_channels` stands on.

A mask says which channels of a value there are to be. Constants are no values here: whoever reads
one takes the slice that fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.cast import Cast
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.copy import Copy
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.padding import MirrorPad, Pad
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.reduction import Reduction
from glowmcu.ops.resize import ResizeBilinear, ResizeNearestNeighbor
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.space import BatchToSpace, SpaceToBatch
from glowmcu.ops.stack import Stack
from glowmcu.ops.tiling import Tile
from glowmcu.ops.transpose import Reverse, Transpose
from glowmcu.ops.transpose_conv import TransposeConv2D

Mask = npt.NDArray[np.bool_]
#: Masks of a node's operands, None for a constant; or of its results.
OperandMasks = Sequence[Mask | None]
Masks = Sequence[Mask]
#: Operand to axis to the mask of that axis.
Slices = Mapping[int, Mapping[int, Mask]]


def channel_count(type_: TensorType) -> int:
    """Length of the last axis; 1 for a scalar."""
    return type_.shape[-1] if type_.shape else 1


def everything(type_: TensorType) -> Mask:
    """All channels of a value."""
    return np.ones(channel_count(type_), np.bool_)


@dataclass(frozen=True, eq=False)
class ChannelRule:
    """The rule of operators that need all channels and make all: nothing can be taken out."""

    node: Node

    def reads(self, results: Masks) -> OperandMasks:
        """Channels of the operands that these channels of the results depend on."""
        return [everything(value.type) for value in self.node.inputs]

    def follows(self, operands: OperandMasks, results: Masks) -> Masks:
        """Channels that the results have as soon as the operands have these."""
        return [everything(value.type) for value in self.node.outputs]

    def operation(self, operands: OperandMasks, results: Masks) -> Operation:
        """The operator on what is left."""
        return self.node.op

    def slices(self, operands: OperandMasks, results: Masks) -> Slices:
        """What is left of the constants among the operands."""
        return {}


@dataclass(frozen=True, eq=False)
class _Layer(ChannelRule):
    """Weights (O, …, I), bias (O,). `weighted` (O, I / 8): which results read which operand
    channels, those with a weight other than 0; a bit each, as `np.packbits` orders them.
    """

    weighted: npt.NDArray[np.uint8]

    def reads(self, results: Masks) -> OperandMasks:
        read = np.bitwise_or.reduce(self.weighted[results[0]], axis=0)
        channels = channel_count(self.node.inputs[0].type)
        return [np.unpackbits(read, count=channels).astype(np.bool_)]

    def follows(self, operands: OperandMasks, results: Masks) -> Masks:
        return results

    def slices(self, operands: OperandMasks, results: Masks) -> Slices:
        assert operands[0] is not None
        depth = self.node.inputs[1].type.rank - 1
        return {1: {0: results[0], depth: operands[0]}, 2: {0: results[0]}}


class _Depthwise(ChannelRule):
    """Operand channel c goes with the results c * multiplier and so on, all or none of them."""

    def reads(self, results: Masks) -> OperandMasks:
        return [_any(results[0].reshape(channel_count(self.node.inputs[0].type), -1), axis=1)]

    def follows(self, operands: OperandMasks, results: Masks) -> Masks:
        assert operands[0] is not None
        return [np.repeat(operands[0], len(results[0]) // len(operands[0]))]

    def slices(self, operands: OperandMasks, results: Masks) -> Slices:
        return {1: {3: results[0]}, 2: {0: results[0]}}


class _Parallel(ChannelRule):
    """Channels keep apart; an operand of one channel may go with each of the results'."""

    def _goes_along(self, operand: int) -> bool:
        x, out = self.node.inputs[operand].type, self.node.output.type
        return channel_count(x) == channel_count(out)

    def reads(self, results: Masks) -> OperandMasks:
        wanted = _any(np.stack(results), axis=0)
        return [
            wanted if self._goes_along(operand) else everything(value.type)
            for operand, value in enumerate(self.node.inputs)
        ]

    def follows(self, operands: OperandMasks, results: Masks) -> Masks:
        kept = _any(np.stack(results), axis=0)
        for operand, mask in enumerate(operands):
            if mask is not None and self._goes_along(operand):
                kept = kept | mask
        return [kept] * len(results)

    def operation(self, operands: OperandMasks, results: Masks) -> Operation:
        op = self.node.op
        if isinstance(op, Slice):
            return replace(op, size=(*op.size[:-1], int(results[0].sum())))
        return op

    def slices(self, operands: OperandMasks, results: Masks) -> Slices:
        return {
            operand: {value.type.rank - 1: results[0]}
            for operand, value in enumerate(self.node.inputs)
            if value.type.rank and self._goes_along(operand)
        }


class _Joined(ChannelRule):
    """A concatenation of channels."""

    def _parts(self, mask: Mask) -> list[Mask]:
        sizes = [channel_count(value.type) for value in self.node.inputs]
        return np.split(mask, np.cumsum(sizes)[:-1])

    def reads(self, results: Masks) -> OperandMasks:
        return self._parts(results[0])

    def follows(self, operands: OperandMasks, results: Masks) -> Masks:
        parts = zip(operands, self._parts(results[0]), strict=True)
        kept = [_not_empty(part) if mask is None else mask for mask, part in parts]
        return [np.concatenate(kept)]

    def slices(self, operands: OperandMasks, results: Masks) -> Slices:
        axis = self.node.output.type.rank - 1
        return {i: {axis: part} for i, part in enumerate(self._parts(results[0]))}


def _not_empty(mask: Mask) -> Mask:
    """The mask, with its first channel if it has none."""
    return mask if mask.any() else np.arange(len(mask)) == 0


class _Parted(ChannelRule):
    """A split of channels."""

    def reads(self, results: Masks) -> OperandMasks:
        return [np.concatenate(results)]

    def follows(self, operands: OperandMasks, results: Masks) -> Masks:
        assert operands[0] is not None
        return np.split(operands[0], np.cumsum([len(mask) for mask in results])[:-1])

    def operation(self, operands: OperandMasks, results: Masks) -> Operation:
        assert isinstance(self.node.op, Split)
        return replace(self.node.op, sizes=tuple(int(mask.sum()) for mask in results))


class _Cut(ChannelRule):
    """A slice of channels that lie together."""

    def _range(self) -> slice:
        op = self.node.op
        assert isinstance(op, Slice)
        return slice(op.begin[-1], op.begin[-1] + op.size[-1])

    def reads(self, results: Masks) -> OperandMasks:
        mask = np.zeros(channel_count(self.node.inputs[0].type), np.bool_)
        mask[self._range()] = results[0]
        return [mask]

    def follows(self, operands: OperandMasks, results: Masks) -> Masks:
        assert operands[0] is not None
        return [operands[0][self._range()]]

    def operation(self, operands: OperandMasks, results: Masks) -> Operation:
        assert operands[0] is not None and isinstance(self.node.op, Slice)
        begin = int(operands[0][: self._range().start].sum())
        op, count = self.node.op, int(results[0].sum())
        return replace(op, begin=(*op.begin[:-1], begin), size=(*op.size[:-1], count))


class _Reshaped(ChannelRule):
    """One last axis is several of the other, one behind the other: pixels join, or part."""

    def reads(self, results: Masks) -> OperandMasks:
        count = channel_count(self.node.inputs[0].type)
        return [_refolded(results[0], count)]

    def follows(self, operands: OperandMasks, results: Masks) -> Masks:
        assert operands[0] is not None
        return [_refolded(operands[0], len(results[0]))]

    def operation(self, operands: OperandMasks, results: Masks) -> Operation:
        assert isinstance(self.node.op, Reshape)
        return Reshape((*self.node.op.shape[:-1], int(results[0].sum())))


def _refolded(mask: Mask, count: int) -> Mask:
    """The mask of `count` channels that are as many pixels of the mask's, or a part of one."""
    if count >= len(mask):
        return np.tile(mask, count // len(mask))
    return _any(mask.reshape(-1, count), axis=0)


def _any(masks: Mask, axis: int) -> Mask:
    found: Mask = np.logical_or.reduce(masks, axis=axis)
    return found


def rule_of(node: Node, graph: Graph) -> ChannelRule:
    """How channels go through a node of `graph`."""
    types = [value.type for value in (*node.inputs, *node.outputs)]
    if not all(type_.element_count for type_ in types) or node.op.inner_graphs():
        return ChannelRule(node)
    if isinstance(node.op, Conv2D | DepthwiseConv2D | FullyConnected | TransposeConv2D):
        return _layer_rule(node, graph) or ChannelRule(node)
    if all(graph.constant_data(value) is not None for value in node.inputs):
        return ChannelRule(node)
    if _keeps_channels_apart(node):
        return _Parallel(node)
    return _moving_rule(node, graph) or ChannelRule(node)


def _moving_rule(node: Node, graph: Graph) -> ChannelRule | None:
    """Of an operator that does not keep channels apart."""
    op = node.op
    if isinstance(op, Concatenation):
        return _Joined(node)
    if isinstance(op, Split) and not op.drop_axis:
        return _Parted(node)
    if isinstance(op, Slice) and op.step and op.step[-1] == 1:
        return _Cut(node)
    if isinstance(op, Reshape) and node.output.type.shape and node.inputs[0].type.shape:
        counts = [channel_count(node.inputs[0].type), channel_count(node.output.type)]
        if max(counts) % min(counts) == 0:
            return _Reshaped(node)
    return None


#: Operators whose results' channels depend on the same channel of every operand.
_CHANNELWISE = (
    AveragePool2D, BatchToSpace, Cast, Copy, MaxPool2D, ResizeBilinear, ResizeNearestNeighbor,
    SpaceToBatch,
)  # fmt: skip


def _keeps_channels_apart(node: Node) -> bool:
    op, last = node.op, node.inputs[0].type.rank - 1
    if op.elementwise:
        return not isinstance(op, Stack)
    if isinstance(op, _CHANNELWISE) or last < 0:
        return True  # a scalar has one channel, which stays
    if isinstance(op, Concatenation | Split):
        return op.axis != last
    if isinstance(op, Pad | MirrorPad):
        return not any(op.paddings[-1])
    if isinstance(op, Transpose):
        return op.permutation[-1] == last
    if isinstance(op, Reverse | Reduction):
        return last not in op.axes
    if isinstance(op, Slice):
        return op.size[-1] == node.inputs[0].type.shape[-1] and op.step[-1] == 1
    if isinstance(op, Tile):
        return op.multiples[-1] == 1
    return False


def _layer_rule(node: Node, graph: Graph) -> ChannelRule | None:
    """None for a layer that must stay as it is: float, grouped, or weights that others share."""
    weights, bias = (graph.constant_data(value) for value in node.inputs[1:])
    if weights is None or bias is None or node.output.type.element.is_float:
        return None
    if len(graph.users[node.inputs[1]]) > 1 or graph.constant_data(node.inputs[0]) is not None:
        return None
    if isinstance(node.op, DepthwiseConv2D):
        return _Depthwise(node)
    if weights.shape[-1] != channel_count(node.inputs[0].type):
        return None
    quantization = node.inputs[1].type.quantization
    assert quantization is not None
    points = np.array(quantization.zero_points).reshape(-1, *[1] * (weights.ndim - 1))
    taps = (weights != points).reshape(weights.shape[0], -1, weights.shape[-1])
    return _Layer(node, np.packbits(taps.any(axis=1), axis=1))
