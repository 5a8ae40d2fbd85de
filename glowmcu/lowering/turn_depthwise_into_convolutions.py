"""A depthwise convolution of a single input channel becomes an ordinary one.

Output channel m of depth multiplier M reads input channel m // M: of one channel all read the same,
which is conv_2d with M filters. Weights (1, H, W, M) become (M, H, W, 1), with their scales; sums,
biases and requantization are those of before, so every result is, too. Kernels of conv_2d share the
window among filters, those of depthwise_conv_2d share nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.rewriting import Context, rewrite
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D


def run(graph: Graph) -> Graph:
    """The graph with multipliers of one channel as convolutions."""
    return rewrite(graph, _turn)


def _turn(context: Context, node: Node) -> Sequence[Value] | None:
    op = node.op
    if not isinstance(op, DepthwiseConv2D):
        return None
    x, weights, bias = node.inputs
    data = context.constant(weights)
    # One channel to one channel has nothing to share: such layers stay what they are called.
    if data is None or x.type.shape[3] != 1 or data.shape[3] == 1:
        return None
    quantization = weights.type.quantization
    if quantization is not None and quantization.axis is not None:
        quantization = replace(quantization, axis=Conv2D.channel_axis)
    filters = np.ascontiguousarray(data.transpose(3, 1, 2, 0))
    turned = context.add_constant(filters, quantization, weights.name)
    same = Conv2D(op.strides, op.dilations, op.padding, op.clamp)
    return context.replace_op(same, [x, turned, bias])
