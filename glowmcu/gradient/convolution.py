"""Gradients of convolutions, a tap at a time: products of matrices of pixels by channels."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.matmul import outer_product
from glowmcu.gradient.rules import NoGradient, gradient
from glowmcu.gradient.windows import Pair, Windows
from glowmcu.ir.graph import Node, Value
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import BatchMatMul
from glowmcu.ops.slicing import Slice


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
    lines = [row[0] if width == 1 else build.add(Concatenation(2), *row) for row in rows]
    return lines[0] if len(lines) == 1 else build.add(Concatenation(1), *lines)


@gradient(Conv2D)
def conv_2d_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """For each tap: g w for what it sees, g^T x for its weights."""
    assert isinstance(node.op, Conv2D)
    x, weights, _ = node.inputs
    channels, (outputs, _, _, inputs) = x.type.shape[3], weights.type.shape
    if inputs != channels:
        raise NoGradient(f"a convolution of {channels // inputs} groups")
    windows = _windows(node)
    given = build.through_clamp(node.output, node.op.clamp, upstream)
    pixels, image = given.type.element_count // outputs, given.type.shape[:3]
    flat = build.reshape(given, (pixels, outputs))
    padded = windows.padded(build, x)
    of_weights = []
    for tap in windows.taps:
        seen = build.reshape(windows.seen(build, padded, tap), (pixels, inputs))
        of_tap = outer_product(build, flat, seen)
        of_weights.append(build.reshape(of_tap, (outputs, 1, 1, inputs)))

    def of_tap_inputs(tap: Pair) -> Value:
        own = build.reshape(_weights_of(build, weights, tap), (outputs, inputs))
        return build.reshape(build.add(BatchMatMul(), flat, own), (*image, inputs))

    joined, of_bias = _joined(build, of_weights, windows.kernel), build.sum(flat, (0,))
    return windows.gathered(build, of_tap_inputs), joined, of_bias


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
