"""ConvTranspose on three spatial axes, as transposed convolutions of images.

Every result plane reads as many planes as its place within a stride has taps of the kernel: places
are computed one after the other, each as one operator on planes laid side by side as channels.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import
from glowmcu.frontend.onnx.spatial import Spatial, pair, reshaped
from glowmcu.frontend.stacked_planes import Planes, stack_planes
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.slicing import Slice
from glowmcu.ops.transpose_conv import TransposeConv2D

#: Of a stride: each is an operator.
_MOST_PLACES = 16


def emit_transposed_volume(
    state: Import, op: NodeRecord, bias: Value, size: Spatial, before: Spatial, strides: Spatial,
    dilations: Spatial,
) -> None:  # fmt: skip
    """The operator, whose result has `size` and lacks `before` in front. Raises GM105, GM112."""
    if dilations[0] != 1:
        raise Unsupported("GM105", f"{op.kind}: planes of volumes have no dilation of their own")
    if strides[0] > _MOST_PLACES:
        raise Unsupported("GM105", f"{op.kind}: a stride of {strides[0]} planes is not supported")
    weights, groups = state.constant(op, 1, "its weights"), op.integer("group", 1)
    x = state.to_nhwc(op, state.value(op, 0))
    batch, depth, stride = x.type.shape[0], x.type.shape[1], strides[0]
    count = max(depth, -(-(before[0] + size[0]) // stride))
    operation = TransposeConv2D(
        pair(size[1:]), pair(strides[1:]), pair(before[1:]), dilations=pair(dilations[1:])
    )
    places = []
    for place in range(stride):
        taps = weights[:, :, place::stride][:, :, ::-1]
        taps = taps if taps.shape[2] else np.zeros_like(weights[:, :, :1])
        planes = Planes(taps.shape[2], 1, 1, (taps.shape[2] - 1, count - depth))
        images = stack_planes(partial(state.add, op), x, planes, groups)
        filters = state.add_constant(_filters(taps, groups), "weights")
        flat = state.add(op, operation, [images, filters, bias])
        places.append(reshaped(state, op, flat, (batch, count, 1, *flat.type.shape[1:])))
    joined = places[0] if stride == 1 else state.add(op, Concatenation(2), places)
    height, width, channels = joined.type.shape[3:]
    volume = reshaped(state, op, joined, (batch, count * stride, height, width, channels))
    begin, kept = (0, before[0], 0, 0, 0), (batch, size[0], height, width, channels)
    state.from_nhwc(op, state.add(op, Slice(begin, kept, (1,) * 5), [volume]))


def _filters(taps: Array, groups: int) -> Array:
    """I(O / groups)DHW as OHW(D * I / groups)."""
    channels, outputs, planes, height, width = taps.shape
    inner = channels // groups
    grouped = taps.reshape(groups, inner, outputs, planes, height, width)
    moved = grouped.transpose(0, 2, 4, 5, 3, 1)
    return np.ascontiguousarray(
        moved.reshape(groups * outputs, height, width, planes * inner), np.float32
    )
