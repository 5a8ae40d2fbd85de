"""Gradients in fixed point of what mixes or repeats the elements of an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.gradient.fixed.builder import FixedBuilder, FixedGradient, ratio
from glowmcu.gradient.fixed.elementwise import open_bounds
from glowmcu.gradient.fixed.rules import fixed_gradient
from glowmcu.gradient.rules import NoGradient
from glowmcu.ir.graph import Node
from glowmcu.ir.operation import Array
from glowmcu.ir.types import Shape
from glowmcu.ops.axis_gradient import AxisGradient, band
from glowmcu.ops.block_gradient import BITS
from glowmcu.ops.pooling import AveragePool2D
from glowmcu.ops.reduction import Mean
from glowmcu.ops.resize import BilinearAxis, ResizeBilinear, ResizeNearestNeighbor
from glowmcu.ops.tiling import BroadcastTo, Tile

#: Places along an axis are int16.
_LONGEST = 2**15 - 1


def _along(build: FixedBuilder, given: FixedGradient, axis: int, matrix: Array) -> FixedGradient:
    """Back along an axis by a matrix: the elements that are mixed, by what they are mixed to."""
    if matrix.shape[1] > _LONGEST:
        raise NoGradient(f"an axis of {matrix.shape[1]}")
    if np.array_equal(matrix, np.eye(len(matrix))):
        return given
    starts, weights, unit = band(matrix)
    inputs = (given.numbers, given.common, build.constant(starts), build.constant(weights))
    return build.gradient(AxisGradient(axis), inputs, given.scale * unit, BITS)


@fixed_gradient(ResizeNearestNeighbor, ResizeBilinear)
def resize_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """To each pixel what it gave, one axis after the other."""
    op, x = node.op, node.inputs[0].type
    found = build.whole(given, node.output)
    for axis in (1, 2):
        pixels = np.eye(x.shape[axis])
        if isinstance(op, ResizeNearestNeighbor):
            matrix = pixels[:, op.sources(x)[axis - 1]]
        else:
            assert isinstance(op, ResizeBilinear)
            matrix = _bilinear(op.axes(x)[axis - 1], pixels)
        found = _along(build, found, axis, matrix)
    return (replace(found, scale=found.scale * ratio(node)),)


def _bilinear(places: BilinearAxis, pixels: Array) -> Array:
    fraction = places.fraction / 1024
    found: Array = pixels[:, places.lower] * (1 - fraction) + pixels[:, places.upper] * fraction
    return found


@fixed_gradient(AveragePool2D)
def average_pool_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """A share for each element of a window."""
    op, x, out = node.op, node.inputs[0].type, node.output
    assert isinstance(op, AveragePool2D)
    bounds = open_bounds(op.clamp_range(node.signature), out.type)
    counts = op.window_counts(x)[0, :, :, 0]
    if out.type.shape[:3] == (1, 1, 1) and counts.max() == x.shape[1] * x.shape[2]:
        return (_share_of_image(build, node, given, bounds),)
    found = build.requantized(given, out, (1.0,), bounds, given.bits)
    for axis in (1, 2):
        found = _along(build, found, axis, _means(op, axis - 1, x.shape[axis]))
    return (replace(found, scale=found.scale * ratio(node)),)


def _means(op: AveragePool2D, axis: int, size: int) -> Array:
    """Elements of an axis by windows: what an element is of the mean."""
    kernel, stride, dilation = op.kernel[axis], op.strides[axis], op.dilations[axis]
    before, after = op.padding[axis], op.padding[axis + 2]
    count = (before + size + after - (kernel - 1) * dilation - 1) // stride + 1
    places = np.add.outer(np.arange(count) * stride - before, np.arange(kernel) * dilation)
    seen = np.sum(places[..., np.newaxis] == np.arange(size), axis=1, dtype=np.float64).T
    found: Array = seen / seen.sum(axis=0)
    return found


@fixed_gradient(Mean)
def mean_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """A share for each element that the mean is of."""
    op, x = node.op, node.inputs[0].type
    assert isinstance(op, Mean)
    if x.rank == 4 and x.shape[0] == 1 and tuple(sorted(op.axes)) == (1, 2):
        return (_share_of_image(build, node, given, (None, None)),)
    found = build.whole(given, node.output)
    kept = tuple(1 if axis in op.axes else size for axis, size in enumerate(x.shape))
    found = build.reshaped(found, kept)
    for axis in op.axes:
        size = x.shape[axis]
        found = _along(build, found, axis, np.full((size, 1), 1 / size))
    return (replace(found, scale=found.scale * ratio(node)),)


def summed_to(build: FixedBuilder, given: FixedGradient, shape: Shape) -> FixedGradient:
    """To each element of `shape` what it was repeated to, one axis after the other."""
    left = list(given.shape)
    for axis, size in enumerate((1,) * (len(left) - len(shape)) + shape):
        count = left[axis] // size
        if count > 1:
            left[axis] = size
            apart = (math.prod(left[:axis]), count, math.prod(left[axis:]))
            given = _along(build, build.reshaped(given, apart), 1, np.ones((1, count)))
    return build.reshaped(given, shape)


@fixed_gradient(BroadcastTo, Tile)
def repetition_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """To each element what its repetitions gave."""
    whole = build.whole(given, node.output)
    found = summed_to(build, whole, node.inputs[0].type.shape)
    return (replace(found, scale=found.scale * ratio(node)),)


def _share_of_image(
    build: FixedBuilder, node: Node, given: FixedGradient, bounds: tuple[int | None, int | None]
) -> FixedGradient:
    """Of the mean of a whole image: one for all its pixels."""
    x = node.inputs[0].type.shape
    scales = (ratio(node) / (x[1] * x[2]),)
    found = build.requantized(given, node.output, scales, bounds, given.bits)
    return build.reshaped(found, (1, 1, 1, x[3]))
