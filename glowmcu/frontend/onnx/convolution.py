"""Conv: one and two spatial axes, grouped and dilated; NCHW in the file, NHWC in the graph."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import Shape
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D, window_extent
from glowmcu.ops.shape import Reshape

Spatial = tuple[int, ...]


def spatial_attribute(op: NodeRecord, name: str, axes: int) -> Spatial:
    """`strides` or `dilations`: one entry a spatial axis, 1 by default."""
    values = op.integers(name) or (1,) * axes
    if len(values) != axes or not all(1 <= value < 2**15 for value in values):
        raise Unsupported("GM105", f"{op.kind}: {name} {values} do not fit {axes} spatial axes")
    return values


def explicit_pads(
    op: NodeRecord, sizes: Spatial, kernel: Spatial, strides: Spatial, dilations: Spatial
) -> tuple[Spatial, Spatial]:
    """Padding before and after each spatial axis, `auto_pad` resolved."""
    axes = len(sizes)
    mode = op.text("auto_pad", "NOTSET")
    if mode == "VALID":
        return (0,) * axes, (0,) * axes
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        totals = [
            max((-(-size // stride) - 1) * stride + window_extent(k, dilation) - size, 0)
            for size, k, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True)
        ]
        small = tuple(total // 2 for total in totals)
        large = tuple(total - total // 2 for total in totals)
        return (small, large) if mode == "SAME_UPPER" else (large, small)
    if mode != "NOTSET":
        raise Unsupported("GM105", f"{op.kind}: auto_pad {mode} is unknown")
    pads = op.integers("pads") or (0,) * (2 * axes)
    if len(pads) != 2 * axes or not all(0 <= pad < 2**15 for pad in pads):
        raise Unsupported("GM105", f"{op.kind}: pads {pads} do not fit {axes} spatial axes")
    return pads[:axes], pads[axes:]


def as_image(state: Import, op: NodeRecord, x: Value) -> Value:
    """NCHW or NCL as NHWC; a single spatial axis becomes a height of 1."""
    if x.type.rank == 3:
        n, channels, length = x.type.shape
        x = state.add(op, Reshape((n, channels, 1, length)), [x])
    if x.type.rank != 4:
        raise Unsupported("GM105", f"{op.kind} on {x.type}: one or two spatial axes are supported")
    return state.to_nhwc(op, x)


def bind_image(state: Import, op: NodeRecord, value: Value, rank: int) -> None:
    """Bind the operator's result: NHWC `value` as NCHW, or NCL where the operand had rank 3."""
    if rank == 4:
        state.from_nhwc(op, value)
        return
    n, _, length, channels = value.type.shape
    flat = state.add(op, Reshape((n, length, channels)), [value])
    state.from_nhwc(op, flat)


def image_padding(before: Spatial, after: Spatial) -> tuple[int, int, int, int]:
    """Top, left, bottom, right."""
    top, left = (0, *before)[-2:]
    bottom, right = (0, *after)[-2:]
    return top, left, bottom, right


def pair(values: Spatial) -> tuple[int, int]:
    """Height and width; a single spatial axis is the width."""
    height, width = (1, *values)[-2:]
    return height, width


@importer("Conv")
def import_conv(state: Import, op: NodeRecord) -> None:
    """Weights OIHW (or OIL) known at compile time; groups of one channel become depthwise."""
    x = state.value(op, 0)
    weights = state.constant(op, 1, "weights")
    axes = x.type.rank - 2
    if weights.ndim != x.type.rank or axes not in (1, 2):
        raise Unsupported("GM105", f"Conv on {x.type} with weights {weights.shape}")
    kernel: Shape = weights.shape[2:]
    strides, dilations = (spatial_attribute(op, n, axes) for n in ("strides", "dilations"))
    before, after = explicit_pads(op, x.type.shape[2:], kernel, strides, dilations)
    depth_out, group = weights.shape[0], op.integer("group", 1)
    bias = state.constant(op, 2, "bias") if state.has(op, 2) else np.zeros(depth_out, np.float32)
    taps = weights.reshape(*weights.shape[:2], *pair(kernel)).transpose(0, 2, 3, 1)
    arguments = (pair(strides), pair(dilations), image_padding(before, after))
    image = as_image(state, op, x)
    depthwise = group == image.type.shape[3] and weights.shape[1] == 1 and group > 1
    if depthwise:
        taps = taps.transpose(3, 1, 2, 0)
    if group < 1 or weights.shape[1] * group != image.type.shape[3]:
        raise Unsupported("GM106", f"Conv: {group} groups of {weights.shape[1]} on {x.type}")
    operation = DepthwiseConv2D(*arguments) if depthwise else Conv2D(*arguments)
    operands = [image, state.add_constant(taps, op.inputs[1]), state.add_constant(bias, "bias")]
    bind_image(state, op, state.add(op, operation, operands), x.type.rank)
