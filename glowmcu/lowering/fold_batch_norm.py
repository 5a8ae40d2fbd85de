"""Scaling and shifting of channels go into the weights and bias of the layer in front.

(w x + b) * g + h = (w * g) x + (b * g + h), exactly, in real numbers. Batch normalization at
inference is such a multiplication and addition; so is any other by constants of one value a channel
(the last axis), or of one value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.shape import Reshape

_LAYERS = (Conv2D, DepthwiseConv2D, FullyConnected)


def run(graph: Graph) -> Graph:
    """The graph with as many scalings and shifts inside of layers as can be."""
    return rewrite(graph, _fold, _scale_before_reshaping)


def _scale_before_reshaping(context: Context, node: Node) -> Sequence[Value] | None:
    """A reshape that keeps the channels does not mind: the layer is in front of it."""
    found = _scale_and_shift(context, node)
    if found is None:
        return None
    x = found[0]
    reshape = context.producer(x)
    if reshape is None or not isinstance(reshape.op, Reshape) or not context.only_use(x):
        return None
    inner = reshape.inputs[0]
    if inner.type.shape[-1:] != x.type.shape[-1:]:
        return None
    position = node.inputs.index(x)
    data = context.constant(node.inputs[1 - position])
    assert data is not None
    channels = context.add_constant(data.reshape(-1), name=node.inputs[1 - position].name)
    operands = (inner, channels) if position == 0 else (channels, inner)
    return context.add(reshape.op, context.add(node.op, operands, [inner.type]), [node.output.type])


def _fold(context: Context, node: Node) -> Sequence[Value] | None:
    found = _scale_and_shift(context, node)
    if found is None:
        return None
    x, scale, shift = found
    layer = context.producer(x)
    if layer is None or not isinstance(layer.op, _LAYERS) or not context.only_use(x):
        return None
    if layer.op.clamp is not None:
        return None
    weights, bias = (context.constant(value) for value in layer.inputs[1:3])
    if weights is None or bias is None:
        return None
    folded = weights * _along_channels(layer, scale, weights.ndim)
    shifted, named = (bias * scale + shift).astype(np.float32), layer.inputs[2]
    is_same = np.array_equal(shifted, bias)
    constants = [
        context.add_constant(folded.astype(np.float32), name=layer.inputs[1].name),
        named if is_same else context.add_constant(shifted, name=named.name),
    ]
    # What follows now decides about the activation.
    op = _with_clamp_of(node, layer)
    return context.add(op, [layer.inputs[0], *constants], [node.output.type], layer.name)


def _with_clamp_of(node: Node, layer: Node) -> Conv2D | DepthwiseConv2D | FullyConnected:
    """The layer's operator with the fused activation of the node that goes into it."""
    assert isinstance(layer.op, Conv2D | DepthwiseConv2D | FullyConnected)
    assert isinstance(node.op, Add | Mul | Sub)
    return replace(layer.op, clamp=node.op.clamp)


def _along_channels(layer: Node, scale: Array, rank: int) -> Array:
    """`scale` shaped to broadcast against the layer's weights along their output channels."""
    axis = rank - 1 if isinstance(layer.op, DepthwiseConv2D) else 0
    shape = [1] * rank
    shape[axis] = -1
    return scale.reshape(shape)


def _scale_and_shift(context: Context, node: Node) -> tuple[Value, Array, Array] | None:
    """`(x, g, h)` of a node that is x * g + h with float64 constants of a value a channel."""
    op = node.op
    if not isinstance(op, Add | Mul | Sub) or node.output.type.element is not ElementType.F32:
        return None
    pairs = (node.inputs, node.inputs[::-1])
    for swapped, (x, other) in enumerate(pairs):
        constant = _per_channel(context.constant(other), node.output.type)
        if constant is None or x.type != node.output.type:
            continue
        one, zero = np.ones_like(constant), np.zeros_like(constant)
        if isinstance(op, Mul):
            return x, constant, zero
        if isinstance(op, Add):
            return x, one, constant
        return (x, -one, constant) if swapped else (x, one, -constant)
    return None


def _per_channel(data: Array | None, result: TensorType) -> Array | None:
    """A constant that varies along the last axis at most, as `(channels,)`."""
    if data is None or not result.rank or not data.size:
        return None
    channels = result.shape[-1]
    if data.ndim > result.rank or data.size not in (1, channels):
        return None
    if data.size > 1 and data.shape[-1] != channels:
        return None
    flat: Array = np.broadcast_to(data.reshape(-1), (channels,)).astype(np.float64)
    return flat
