"""Layers with weights or windows, in TOSA: convolutions, products, poolings."""

from __future__ import annotations

import math

import numpy as np

from glowmcu.frontend.tosa.exporter import Export, exporter
from glowmcu.frontend.tosa.records import Ref
from glowmcu.frontend.tosa.rescaling import factors_of
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Node
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.broadcasting import largest_offset
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D, Padding, Pair, window_extent
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D

_I8, _I32 = ElementType.I8, ElementType.I32
#: Elements of a window below which AVG_POOL2D's reciprocal gives the nearest integer.
_AVERAGED_END = 1 << 22


def expect_bytes(*types: TensorType) -> None:
    """Unsupported unless all are int8: 16-bit activations have 48-bit sums in TOSA."""
    for type_ in types:
        if type_.element is not _I8:
            raise Unsupported("GM155", f"expected int8, got {type_}")


@exporter(Conv2D, DepthwiseConv2D)
def export_convolution(state: Export, node: Node) -> None:
    """CONV2D or DEPTHWISE_CONV2D into int32, RESCALE, CLAMP. Weights of DEPTHWISE_CONV2D have the
    multiplier as an axis of its own, in the same order.
    """
    op = node.op
    assert isinstance(op, Conv2D | DepthwiseConv2D)
    x, weights, bias = node.inputs
    expect_bytes(x.type, weights.type, node.output.type)
    data = state.data(weights)
    kernel: Pair = weights.type.shape[1], weights.type.shape[2]
    if isinstance(op, Conv2D):
        if weights.type.shape[3] != x.type.shape[3]:
            raise Unsupported("GM155", "TOSA's CONV2D has no groups")
        rows, stored = data.reshape(len(data), -1), state.ref(weights)
    else:
        channels = x.type.shape[3]
        rows = data.reshape(-1, data.shape[3]).T
        stored = state.reshaped(weights, (*kernel, channels, data.shape[3] // channels))
    image, pad = _exact_windows(state, state.ref(x), op.padding, kernel, op.strides, op.dilations)
    points = [state.zero_point(x.type.zero_point, _I8), state.zero_point(0, _I8)]
    sums = state.emit(
        "conv2d" if isinstance(op, Conv2D) else "depthwise_conv2d",
        [image, stored, state.ref(bias), *points],
        node.output.type.shape, _I32,
        pad=pad, stride=op.strides, dilation=op.dilations, acc_type="i32",
    )  # fmt: skip
    _finish_layer(state, node, sums, rows)


@exporter(FullyConnected)
def export_fully_connected(state: Export, node: Node) -> None:
    """CONV2D on images of one pixel, which is what TOSA 1.0 has in place of FULLY_CONNECTED."""
    op = node.op
    assert isinstance(op, FullyConnected)
    x, weights, bias = node.inputs
    expect_bytes(x.type, weights.type, node.output.type)
    quantization = weights.type.quantization
    assert quantization is not None
    data = state.data(weights)
    point = 0 if quantization.per_channel else quantization.zero_points[0]
    depth_out, depth = data.shape
    count = math.prod(x.type.shape[:-1])
    pixels = state.reshape(state.ref(x), (count, 1, 1, depth))
    sums = state.emit(
        "conv2d",
        [
            pixels, state.reshaped(weights, (depth_out, 1, 1, depth)),
            state.ref(bias), state.zero_point(x.type.zero_point, _I8),
            state.zero_point(point, _I8),
        ],
        (count, 1, 1, depth_out), _I32,
        pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), acc_type="i32",
    )  # fmt: skip
    _finish_layer(state, node, sums, data.astype(np.int64) - point)


@exporter(BatchMatMul)
def export_batch_matmul(state: Export, node: Node) -> None:
    """MATMUL, which has one axis of matrices and both operands stored row by row."""
    op, out = node.op, node.output.type
    assert isinstance(op, BatchMatMul)
    x, y = node.inputs
    expect_bytes(x.type, y.type, out)
    if x.type.shape[:-2] != y.type.shape[:-2]:
        raise Unsupported(
            "GM155",
            f"stacks of {x.type.shape[:-2]} and {y.type.shape[:-2]} matrices; TOSA's MATMUL has as "
            "many of both",
            "repeat the matrices of the smaller stack in the model, by tile or expand",
        )
    count, (rows, columns) = math.prod(out.shape[:-2]), out.shape[-2:]
    sides = [
        _matrices(state, state.ref(value), is_swapped)
        for value, is_swapped in ((x, op.adj_x), (y, op.adj_y))
    ]
    points = [state.zero_point(value.type.zero_point, _I8) for value in (x, y)]
    sums = state.emit("matmul", [*sides, *points], (count, rows, columns), _I32)
    largest = op.depth(node.signature) * largest_offset(x.type) * largest_offset(y.type)
    _expect_int32(largest)
    scale = op.requantization(node.signature)
    factors = factors_of(scale.multipliers, scale.shifts, state.rounding(node), largest)
    result = state.rescale(sums, factors, (0, out.zero_point), _I8)
    state.bind(node.output, state.reshape(result, out.shape))


def _matrices(state: Export, x: Ref, is_swapped: bool) -> Ref:
    shape = x.type.shape
    flat = state.reshape(x, (math.prod(shape[:-2]), *shape[-2:]))
    if not is_swapped:
        return flat
    count, rows, columns = flat.type.shape
    return state.emit("transpose", [flat], (count, columns, rows), _I8, perms=(0, 2, 1))


def _largest_sums(rows: Array, x: TensorType, bias: Array) -> Array:
    """A bound of |sum| for every output channel, whatever the order of the terms."""
    sizes = np.abs(rows.astype(np.int64)).sum(axis=1) * largest_offset(x)
    largest: Array = sizes + np.abs(bias.astype(np.int64))
    return largest


def _finish_layer(state: Export, node: Node, sums: Ref, rows: Array) -> None:
    """RESCALE and CLAMP of a layer's sums, in the shape of its result. `rows` are the weights of
    each output channel, without zero point.
    """
    op, out, (x, _, bias) = node.op, node.output.type, node.inputs
    assert isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected)
    largest = _largest_sums(rows, x.type, state.data(bias))
    scale = op.requantization(node.signature)
    low, high = op.clamp_range(node.signature)
    most = largest.max(initial=0)
    _expect_int32(int(most))
    largest = most if scale.multipliers.size == 1 else largest
    factors = factors_of(scale.multipliers, scale.shifts, state.rounding(node), largest)
    result = state.clamp(state.rescale(sums, factors, (0, out.zero_point), _I8), (low, high))
    state.bind(node.output, state.reshape(result, out.shape))


def _expect_int32(largest: int) -> None:
    if largest >= 2**31:
        raise Unsupported("GM155", f"a sum may reach {largest}, beyond int32")


@exporter(AveragePool2D)
def export_average_pool(state: Export, node: Node) -> None:
    """AVG_POOL2D of stored values, as zero points of 0 make it.

    For n elements with 2^(k-1) < n <= 2^k it multiplies their sum v by
    floor((2^30 + 1) 2^k / n), adds a half and shifts by 30 + k. That factor exceeds 2^(30+k) / n,
    so that a half goes away from zero on both sides of it; and it does so by so little that the sum
    of fewer than 2^22 bytes reaches no other half. This is what TFLite's kernel computes.
    """
    op, out = node.op, node.output.type
    assert isinstance(op, AveragePool2D)
    expect_bytes(node.inputs[0].type, out)
    if math.prod(op.kernel) >= _AVERAGED_END:
        raise Unsupported("GM155", f"a window of {op.kernel} elements is too large to be exact")
    zero = state.zero_point(0, _I8)
    image, window = _pool_window(state, node)
    result = state.emit(
        "avg_pool2d", [image, zero, zero], out.shape, _I8,
        kernel=op.kernel, stride=op.strides, pad=window, acc_type="i32",
    )  # fmt: skip
    state.bind(node.output, state.clamp(result, op.clamp_range(node.signature)))


@exporter(MaxPool2D)
def export_max_pool(state: Export, node: Node) -> None:
    """MAX_POOL2D of stored values."""
    op, out = node.op, node.output.type
    assert isinstance(op, MaxPool2D)
    expect_bytes(node.inputs[0].type, out)
    image, window = _pool_window(state, node)
    result = state.emit(
        "max_pool2d", [image], out.shape, _I8, kernel=op.kernel, stride=op.strides, pad=window,
        nan_mode="PROPAGATE",
    )  # fmt: skip
    state.bind(node.output, state.clamp(result, op.clamp_range(node.signature)))


def _pool_window(state: Export, node: Node) -> tuple[Ref, Padding]:
    op = node.op
    assert isinstance(op, AveragePool2D | MaxPool2D)
    if op.dilations != (1, 1):
        raise Unsupported("GM155", "TOSA's poolings have no dilation")
    x = state.ref(node.inputs[0])
    image, pad = _exact_windows(state, x, op.padding, op.kernel, op.strides, (1, 1))
    if max(pad[:2]) >= op.kernel[0] or max(pad[2:]) >= op.kernel[1]:
        raise Unsupported("GM155", f"padding {pad} reaches a window of {op.kernel}")
    return image, pad


def _exact_windows(
    state: Export, x: Ref, padding: Padding, kernel: Pair, strides: Pair, dilations: Pair
) -> tuple[Ref, Padding]:
    """The image and TOSA's padding (top, bottom, left, right).

    TOSA wants windows to end where the padded image does: what no window looks at is taken from the
    padding behind the image, then from the image.
    """
    sizes, pads = list(x.type.shape), []
    for axis in (0, 1):
        before, after = padding[axis], padding[axis + 2]
        extent = window_extent(kernel[axis], dilations[axis])
        unseen = (sizes[1 + axis] + before + after - extent) % strides[axis]
        sizes[1 + axis] -= max(unseen - after, 0)
        pads += [before, max(after - unseen, 0)]
    shape = tuple(sizes)
    if shape != x.type.shape:
        operands = [x, state.shape((0, 0, 0, 0)), state.shape(shape)]
        x = state.emit("slice", operands, shape, x.type.element)
    top, bottom, left, right = pads
    return x, (top, bottom, left, right)
