"""Layers that are matrix products, seen as such: out = rows @ weights.T + bias, in groups.

Rounding, bias correction and equalization need the product's operands, not the operator: `rows` is
`(groups, n, k)` (what one result is made of), weights are `(groups, outputs, k)`.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.graph import Node
from glowmcu.ir.operation import Array
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D, window_extent
from glowmcu.ops.matmul import FullyConnected

LINEAR = (Conv2D, DepthwiseConv2D, FullyConnected)


def is_linear(node: Node) -> bool:
    """Whether the functions of this module take the node."""
    return isinstance(node.op, LINEAR)


def group_count(node: Node) -> int:
    """Parts of the input channels that do not mix."""
    x, weights = (value.type.shape for value in node.inputs[:2])
    if isinstance(node.op, DepthwiseConv2D):
        return x[3]
    return x[3] // weights[3] if isinstance(node.op, Conv2D) else 1


def rows_of(node: Node, x: Array, most: int) -> Array:
    """`(groups, n, k)` of the operand `x`; at most about `most` of the n, evenly picked."""
    if isinstance(node.op, FullyConnected):
        return _thinned(x.reshape(-1, x.shape[-1]), most)[np.newaxis]
    windows = _windows(node, x)
    n = int(np.prod(windows.shape[:3]))
    groups, depth = group_count(node), windows.shape[5]
    flat = _thinned(windows.reshape(n, -1, depth), most)
    split = flat.reshape(len(flat), -1, groups, depth // groups)
    rows: Array = split.transpose(2, 0, 1, 3).reshape(groups, len(flat), -1)
    return rows


def _thinned(rows: Array, most: int) -> Array:
    # An even step would meet the same columns of every image row.
    return rows[:: len(rows) // most | 1]


def _windows(node: Node, x: Array) -> Array:
    """`(n, out_h, out_w, kernel_h, kernel_w, channels)` view of a convolution's input."""
    op = node.op
    assert isinstance(op, Conv2D | DepthwiseConv2D)
    kernel = node.inputs[1].type.shape[1:3]
    top, left, bottom, right = op.padding
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    extents = tuple(map(window_extent, kernel, op.dilations))
    windows = np.lib.stride_tricks.sliding_window_view(padded, extents, axis=(1, 2))
    (sy, sx), (dy, dx) = op.strides, op.dilations
    view: Array = windows[:, ::sy, ::sx, :, ::dy, ::dx].transpose(0, 1, 2, 4, 5, 3)
    return view


def weights_matrix(node: Node, weights: Array) -> Array:
    """`(groups, outputs, k)` of weights in the operator's own shape."""
    groups = group_count(node)
    if isinstance(node.op, DepthwiseConv2D):
        taps = weights.reshape(-1, groups, weights.shape[3] // groups)
        return np.ascontiguousarray(taps.transpose(1, 2, 0))
    return weights.reshape(groups, weights.shape[0] // groups, -1)


def weights_of_matrix(node: Node, matrix: Array) -> Array:
    """The inverse of `weights_matrix`."""
    shape = node.inputs[1].type.shape
    if isinstance(node.op, DepthwiseConv2D):
        return np.ascontiguousarray(matrix.transpose(2, 0, 1)).reshape(shape)
    return matrix.reshape(shape)
