"""Gradients of convolutions, a tap at a time: products of matrices of pixels by channels."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.matmul import outer_product
from glowmcu.gradient.rules import gradient
from glowmcu.gradient.windows import Pair, Windows
from glowmcu.ir.graph import Node, Value
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import BatchMatMul
from glowmcu.ops.slicing import Slice
from glowmcu.ops.transpose_conv import TransposeConv2D


def _group(build: Builder, x: Value, number: int, groups: int) -> Value:
    """The channels of one group, on the last axis."""
    if groups == 1:
        return x
    *outer, channels = x.type.shape
    size = (*outer, channels // groups)
    begin = (*(0 for _ in outer), number * size[-1])
    return build.add(Slice(begin, size, (1,) * len(size)), x)


def _together(build: Builder, parts: Sequence[Value], axis: int) -> Value:
    return parts[0] if len(parts) == 1 else build.add(Concatenation(axis), *parts)


def _windows(node: Node) -> Windows:
    assert isinstance(node.op, Conv2D | DepthwiseConv2D)
    op, kernel, out = node.op, node.inputs[1].type.shape[1:3], node.output.type.shape[1:3]
    return Windows(
        node.inputs[0].type.shape, (out[0], out[1]), (kernel[0], kernel[1]),
        op.strides, op.dilations, op.padding,
    )  # fmt: skip


def _weights_of(build: Builder, weights: Value, tap: Pair) -> Value:
    """(O, 1, 1, I) of OHWI, or all of it where there is one tap."""
    first, kernel_h, kernel_w, last = weights.type.shape
    if (kernel_h, kernel_w) == (1, 1):
        return weights
    return build.add(Slice((0, *tap, 0), (first, 1, 1, last), (1, 1, 1, 1)), weights)


def _joined(build: Builder, parts: Sequence[Value], kernel: Pair) -> Value:
    """Parts (O, 1, 1, I) by tap as OHWI."""
    width = kernel[1]
    rows = [parts[at : at + width] for at in range(0, len(parts), width)]
    return _together(build, [_together(build, row, 2) for row in rows], 1)


@gradient(Conv2D)
def conv_2d_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """For each tap and group: g w for what it sees, g^T x for its weights."""
    assert isinstance(node.op, Conv2D)
    x, weights, _ = node.inputs
    outputs, inputs = weights.type.shape[0], weights.type.shape[3]
    groups = x.type.shape[3] // inputs
    windows = _windows(node)
    given = build.through_clamp(node.output, node.op.clamp, upstream)
    pixels, image = given.type.element_count // outputs, given.type.shape[:3]
    flat = build.reshape(given, (pixels, outputs))
    apart = [_group(build, flat, number, groups) for number in range(groups)]
    padded = windows.padded(build, x)
    of_weights = []
    for tap in windows.taps:
        seen = build.reshape(windows.seen(build, padded, tap), (pixels, x.type.shape[3]))
        of_tap = [
            outer_product(build, part, _group(build, seen, number, groups))
            for number, part in enumerate(apart)
        ]
        of_weights.append(build.reshape(_together(build, of_tap, 0), (outputs, 1, 1, inputs)))

    def of_tap_inputs(tap: Pair) -> Value:
        own = build.reshape(_weights_of(build, weights, tap), (groups, outputs // groups, inputs))
        parts = []
        for number, part in enumerate(apart):
            begin, size = (number, 0, 0), (1, *own.type.shape[1:])
            rows = own if groups == 1 else build.add(Slice(begin, size, (1, 1, 1)), own)
            parts.append(build.add(BatchMatMul(), part, build.reshape(rows, size[1:])))
        return build.reshape(_together(build, parts, 1), (*image, x.type.shape[3]))

    joined, of_bias = _joined(build, of_weights, windows.kernel), build.sum(flat, (0,))
    return windows.gathered(build, of_tap_inputs), joined, of_bias


@gradient(TransposeConv2D)
def transpose_conv_2d_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """For each tap and group: g w of the pixels it adds to, and their g^T x for its weights."""
    op, (x, weights, _) = node.op, node.inputs
    assert isinstance(op, TransposeConv2D)
    (outputs, rows, columns, inputs), (n, height, width, channels) = (
        weights.type.shape, x.type.shape,
    )  # fmt: skip
    groups, pixels = channels // inputs, n * height * width
    windows = Windows(
        node.output.type.shape, (height, width), (rows, columns),
        op.strides, op.dilations, (*op.padding, 0, 0),
    )  # fmt: skip
    given = build.through_clamp(node.output, op.clamp, upstream)
    padded, flat = windows.padded(build, given), build.reshape(x, (pixels, channels))
    apart = [_group(build, flat, number, groups) for number in range(groups)]
    of_weights, of_input = [], None
    for tap in windows.taps:
        seen = build.reshape(windows.seen(build, padded, tap), (pixels, outputs))
        shares = [_group(build, seen, number, groups) for number in range(groups)]
        own = build.reshape(_weights_of(build, weights, tap), (groups, outputs // groups, inputs))
        parts = [
            build.add(BatchMatMul(), share, _matrix(build, own, number))
            for number, share in enumerate(shares)
        ]
        part = _together(build, parts, 1)
        of_input = part if of_input is None else build.plus(of_input, part)
        of_tap = [outer_product(build, *pair) for pair in zip(shares, apart, strict=True)]
        of_weights.append(build.reshape(_together(build, of_tap, 0), (outputs, 1, 1, inputs)))
    joined, of_bias = _joined(build, of_weights, windows.kernel), build.sum(given, (0, 1, 2))
    assert of_input is not None
    return build.reshape(of_input, x.type.shape), joined, of_bias


def _matrix(build: Builder, matrices: Value, number: int) -> Value:
    """One of the matrices (G, M, N) of groups."""
    groups, *shape = matrices.type.shape
    if groups > 1:
        matrices = build.add(Slice((number, 0, 0), (1, *shape), (1, 1, 1)), matrices)
    return build.reshape(matrices, (shape[0], shape[1]))


@gradient(DepthwiseConv2D)
def depthwise_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The same channel by channel: element-wise products and their sums."""
    assert isinstance(node.op, DepthwiseConv2D)
    x, weights, _ = node.inputs
    channels, depth = x.type.shape[3], weights.type.shape[3]
    windows = _windows(node)
    given = build.through_clamp(node.output, node.op.clamp, upstream)
    image, split = given.type.shape[:3], (channels, depth // channels)
    apart = build.reshape(given, (*image, *split))
    padded = windows.padded(build, x)
    of_weights = []
    for tap in windows.taps:
        seen = build.reshape(windows.seen(build, padded, tap), (*image, channels, 1))
        sums = build.sum(build.times(apart, seen), (0, 1, 2))
        of_weights.append(build.reshape(sums, (1, 1, 1, depth)))

    def of_tap_inputs(tap: Pair) -> Value:
        own = build.reshape(_weights_of(build, weights, tap), split)
        part = build.sum(build.times(apart, own), (4,))
        return build.reshape(part, (*image, channels))

    joined, of_bias = _joined(build, of_weights, windows.kernel), build.sum(given, (0, 1, 2))
    return windows.gathered(build, of_tap_inputs), joined, of_bias
