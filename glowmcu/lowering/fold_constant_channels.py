"""What never changes goes into biases: weights that only see one value, channels that give one.

    sum(w * x) + bias = sum of the others + (bias + sum(w * (c - zero_point)))  where x is always c
    a channel that always gives the same needs no weights: bias + any sum that it reaches

Shapes stay; the weights become 0, so that `remove_unread_channels` finds what nobody reads. Where a
window may reach outside the image, a constant counts 0 there: only the zero point is folded.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, constant
from glowmcu.ir.rewriting import remove_dead_nodes
from glowmcu.ir.value_range import ValueRange
from glowmcu.ir.value_ranges import ValueRanges, value_ranges
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.transpose_conv import TransposeConv2D


def run(graph: Graph) -> Graph:
    """The graph with as many weights 0 as can be."""
    ranges = value_ranges(graph)
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += _folded(graph, node, ranges) or [node]
    return graph if len(nodes) == len(graph.nodes) else remove_dead_nodes(graph.replace(nodes))


def _folded(graph: Graph, node: Node, ranges: ValueRanges) -> list[Node] | None:
    """New constants and the node that reads them; None if nothing changes."""
    if not isinstance(node.op, Conv2D | DepthwiseConv2D | FullyConnected | TransposeConv2D):
        return None
    x = ranges[node.inputs[0]]
    constants = [graph.constant_data(value) for value in node.inputs]
    _, weights, bias = constants
    # By the rule of the operator alone: what it says holds for all sums in range.
    rounding = node.op.rounding_in(graph.rounding)
    (out,) = node.op.output_ranges((x, None, None), constants, node.signature, rounding)
    if x is None or out is None or weights is None or bias is None:
        return None
    # Weights that several layers share would need a copy for each.
    if len(graph.users[node.inputs[1]]) > 1:
        return None
    if not (out.is_constant.any() or x.is_constant.any()):
        return None  # weights of megabytes need not be widened to see that nothing changes
    layer = _Layer(node, node.op, weights, bias)
    layer.drop_weights_of_constant_results(x, out)
    layer.fold_constant_operands(x)
    return layer.nodes() if layer.changed else None


class _Layer:
    """Weights as (outputs, taps, depth), zero point subtracted, and biases, while they change."""

    def __init__(
        self,
        node: Node,
        op: Conv2D | DepthwiseConv2D | FullyConnected | TransposeConv2D,
        weights: Array,
        bias: Array,
    ) -> None:
        self.node, self.op = node, op
        self._stored, self._bias = weights, bias.astype(np.int64)
        quantization = node.inputs[1].type.quantization
        assert quantization is not None
        self._points = np.array(quantization.zero_points, np.int64)
        self._is_depthwise = isinstance(op, DepthwiseConv2D)
        rows = np.moveaxis(weights, -1, 0) if self._is_depthwise else weights
        depth = 1 if self._is_depthwise else weights.shape[-1]
        wide = rows.astype(np.int64).reshape(len(bias), -1, depth)
        self._weights = wide - self._points.reshape(-1, 1, 1)
        self.changed = False

    def drop_weights_of_constant_results(self, x: ValueRange, out: ValueRange) -> None:
        """Channels that give one value for every sum they reach may start from any of these."""
        low, _ = self.op.accumulator_range(self._stored, x, self.node.signature)
        self._replace(low, np.broadcast_to(out.is_constant[:, np.newaxis], self._rows_shape))

    def fold_constant_operands(self, x: ValueRange) -> None:
        """Weights of operand channels that hold one value, wherever a window looks."""
        offsets = x.low - self.node.inputs[0].type.zero_point
        if len(offsets) != self._weights.shape[2]:
            return  # groups; and one constant makes a depthwise channel constant as a whole
        foldable = x.is_constant & ((offsets == 0) | (not self._may_see_padding()))
        sums = (self._weights * np.where(foldable, offsets, 0)).sum(axis=(1, 2))
        self._replace(sums, np.broadcast_to(foldable, self._rows_shape))

    @property
    def _rows_shape(self) -> tuple[int, int]:
        outputs, _, depth = self._weights.shape
        return outputs, depth

    def _may_see_padding(self) -> bool:
        if isinstance(self.op, FullyConnected):
            return False
        return isinstance(self.op, TransposeConv2D) or self.op.is_padded(self.node.signature)

    def _replace(self, sums: Array, gone: Array) -> None:
        """`sums` in the biases for the weights that are `gone`, where the biases have room."""
        lowest, highest = self.node.inputs[2].type.element.limits
        bias = self._bias + sums
        fits = (bias >= lowest) & (bias <= highest) & (np.abs(self._bias) < 2**62)
        gone = gone[:, np.newaxis, :] & (self._weights != 0) & fits[:, np.newaxis, np.newaxis]
        touched = gone.any(axis=(1, 2))
        if touched.any():
            self._bias = np.where(touched, bias, self._bias)
            self._weights = np.where(gone, 0, self._weights)
            self.changed = True

    def nodes(self) -> list[Node]:
        """The changed constants and the layer."""
        stored = (self._weights + self._points.reshape(-1, 1, 1)).astype(self._stored.dtype)
        if self._is_depthwise:
            shape = self._stored.shape
            weights = np.moveaxis(stored.reshape(shape[-1], *shape[:-1]), 0, -1)
        else:
            weights = stored.reshape(self._stored.shape)
        x, old_weights, old_bias = self.node.inputs
        bias = self._bias.astype(old_bias.type.element.numpy)
        made = [
            Node(constant(data), (), (Value(old.type, old.name),), old.name, self.node.source)
            for data, old in ((weights, old_weights), (bias, old_bias))
        ]
        inputs = (x, *(node.output for node in made))
        node = self.node
        return [*made, replace(node, inputs=inputs)]
