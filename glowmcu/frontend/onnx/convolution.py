"""Conv and ConvTranspose on one to three spatial axes; NCHW in the file, NHWC here."""

from __future__ import annotations

import math
from functools import partial

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.onnx.spatial import (
    Spatial,
    as_image,
    auto_pad,
    bind_image,
    explicit_pads,
    extents,
    halves,
    image_padding,
    pair,
    reshaped,
    spatial_attribute,
)
from glowmcu.frontend.onnx.transposed_volumes import emit_transposed_volume
from glowmcu.frontend.stacked_planes import Planes, stack_planes
from glowmcu.frontend.unsupported import Unsupported, refused
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import OperationError
from glowmcu.ir.types import Shape
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.transpose import Transpose
from glowmcu.ops.transpose_conv import TransposeConv2D


def arranged(
    state: Import, op: NodeRecord, value: Value, shape: Shape, axes: Shape, result: Shape
) -> Value:
    """`value` reshaped to `shape`, transposed by `axes`, reshaped to `result`; at once if known."""
    data = state.builder.known.get(value)
    if data is not None:
        made = data.reshape(shape).transpose(axes).reshape(result)
        return state.made_of(value, made, value.name)
    moved = state.add(op, Transpose(axes), [reshaped(state, op, value, shape)])
    return reshaped(state, op, moved, result)


def bias_or_zeros(state: Import, op: NodeRecord, position: int, channels: int) -> Value:
    """The bias operand, or zeros if it is left out."""
    if state.has(op, position):
        return state.value(op, position)
    return state.builder.add_no_bias(channels)


@importer("Conv")
def import_conv(state: Import, op: NodeRecord) -> None:
    """Weights OIHW, computed or known; groups of one channel become depthwise."""
    x, weights = state.value(op, 0), state.value(op, 1)
    axes = x.type.rank - 2
    if weights.type.rank != x.type.rank or not 1 <= axes <= 3:
        raise Unsupported("GM105", f"Conv on {x.type} with weights {weights.type}")
    kernel = weights.type.shape[2:]
    strides, dilations = (spatial_attribute(op, n, axes) for n in ("strides", "dilations"))
    before, after = explicit_pads(op, x.type.shape[2:], kernel, strides, dilations)
    group, depth_in = op.integer("group", 1), weights.type.shape[1]
    if depth_in * group != x.type.shape[1]:
        raise Unsupported("GM106", f"Conv: {group} groups of {depth_in} on {x.type}")
    if axes == 3:
        padding = tuple(zip(before, after, strict=True))
        try:
            _import_conv_3d(state, op, weights, strides, dilations, padding)
        except OperationError as cause:
            raise refused("Conv", cause) from cause
        return
    arguments = (pair(strides), pair(dilations), image_padding(before, after))
    depth_out, shape = weights.type.shape[0], (*weights.type.shape[:2], *pair(kernel))
    if group > 1 and depth_in == 1:
        taps = arranged(state, op, weights, shape, (1, 2, 3, 0), (1, *pair(kernel), depth_out))
        operation: Conv2D | DepthwiseConv2D = DepthwiseConv2D(*arguments)
    else:
        taps = arranged(
            state, op, weights, shape, (0, 2, 3, 1), (depth_out, *pair(kernel), depth_in)
        )
        operation = Conv2D(*arguments)
    operands = [as_image(state, op, x), taps, bias_or_zeros(state, op, 2, depth_out)]
    bind_image(state, op, state.add(op, operation, operands), x.type.rank)


def _import_conv_3d(
    state: Import,
    op: NodeRecord,
    weights: Value,
    strides: Spatial,
    dilations: Spatial,
    padding: tuple[tuple[int, int], ...],
) -> None:
    """NCDHW, with planes stacked as channels."""
    groups = op.integer("group", 1)
    x = state.to_nhwc(op, state.value(op, 0))
    depth_out, depth_in, count, *kernel = weights.type.shape
    planes = Planes(count, strides[0], dilations[0], padding[0])
    images = stack_planes(partial(state.add, op), x, planes, groups)
    filters = arranged(
        state, op, weights, (depth_out, depth_in, count, *kernel), (0, 3, 4, 2, 1),
        (depth_out, *kernel, count * depth_in),
    )  # fmt: skip
    (top, bottom), (left, right) = padding[1:]
    conv = Conv2D(pair(strides[1:]), pair(dilations[1:]), (top, left, bottom, right))
    bias = bias_or_zeros(state, op, 2, depth_out)
    flat = state.add(op, conv, [images, filters, bias])
    batch = x.type.shape[0]
    shape = (batch, flat.type.shape[0] // batch, *flat.type.shape[1:])
    state.from_nhwc(op, reshaped(state, op, flat, shape))


@importer("ConvTranspose")
def import_conv_transpose(state: Import, op: NodeRecord) -> None:
    """Weights I(O / groups)HW, computed or known; of volumes they must be known."""
    x, weights = state.value(op, 0), state.value(op, 1)
    axes = x.type.rank - 2
    if weights.type.rank != x.type.rank or not 1 <= axes <= 3:
        raise Unsupported(
            "GM105", f"ConvTranspose on {x.type} with {weights.type}; expected 1 to 3 spatial axes"
        )
    channels, group_outputs, *kernel = weights.type.shape
    group = op.integer("group", 1)
    if group < 1 or channels % group or channels != x.type.shape[1] or min(kernel) < 1:
        raise Unsupported("GM106", f"ConvTranspose: {group} groups of {weights.type} on {x.type}")
    strides, dilations = (spatial_attribute(op, n, axes) for n in ("strides", "dilations"))
    size, before = _transposed_size(op, x.type.shape[2:], tuple(kernel), strides, dilations)
    depth_in, depth_out = channels // group, group * group_outputs
    if axes == 3:
        bias = bias_or_zeros(state, op, 2, depth_out)
        emit_transposed_volume(state, op, bias, size, before, strides, dilations)
        return
    height, width = pair(tuple(kernel))
    taps = arranged(
        state, op, weights, (group, depth_in, group_outputs, height, width), (0, 2, 3, 4, 1),
        (depth_out, height, width, depth_in),
    )  # fmt: skip
    padding = pair(before, 0)
    operation = TransposeConv2D(pair(size), pair(strides), padding, dilations=pair(dilations))
    operands = [as_image(state, op, x), taps, bias_or_zeros(state, op, 2, depth_out)]
    bind_image(state, op, state.add(op, operation, operands), x.type.rank)


def _transposed_size(
    op: NodeRecord, sizes: Spatial, kernel: Spatial, strides: Spatial, dilations: Spatial
) -> tuple[Spatial, Spatial]:
    """The result's size along each spatial axis, and what is cut off in front of it."""
    axes = len(sizes)
    extra = op.integers("output_padding") or (0,) * axes
    wanted = op.integers("output_shape")
    if len(extra) != axes or min(extra) < 0 or (wanted is not None and len(wanted) < axes):
        raise Unsupported(
            "GM105", f"ConvTranspose: output_padding {extra}, output_shape {wanted} on {axes} axes"
        )
    spans = extents(kernel, dilations)
    full = tuple(
        (size - 1) * stride + span + more
        for size, stride, span, more in zip(sizes, strides, spans, extra, strict=True)
    )
    mode = auto_pad(op)
    if wanted is None and mode.startswith("SAME"):
        wanted = tuple(size * stride for size, stride in zip(sizes, strides, strict=True))
    if wanted is None:
        before, after = explicit_pads(op, sizes, kernel, strides, dilations)
        out = tuple(
            size - first - last for size, first, last in zip(full, before, after, strict=True)
        )
    else:
        out = wanted[-axes:]
        totals = tuple(max(size - end, 0) for size, end in zip(full, out, strict=True))
        before, _ = halves(totals, larger_after=mode == "SAME_UPPER")
    if min(out) < 1 or math.prod(out) >= 2**31:
        raise Unsupported("GM106", f"ConvTranspose: a result of {out}")
    return out, before
