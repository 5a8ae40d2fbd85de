"""Gradients of resized images: each pixel gets back what it gave, one axis after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import gradient
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Array
from glowmcu.ops.matmul import BatchMatMul
from glowmcu.ops.resize import RealAxis, ResizeBilinear, ResizeNearestNeighbor


@gradient(ResizeNearestNeighbor)
def resize_nearest_neighbor_gradient(
    build: Builder, node: Node, upstream: Value
) -> Sequence[Value]:
    """The sum of a pixel's copies."""
    op, x = node.op, node.inputs[0].type
    assert isinstance(op, ResizeNearestNeighbor)
    given = upstream
    for axis, sources in enumerate(op.sources(x), 1):
        size, count = x.shape[axis], len(sources)
        if np.array_equal(sources, np.arange(count) * size // count) and count % size == 0:
            before, behind = given.type.shape[:axis], given.type.shape[axis + 1 :]
            apart = build.reshape(given, (*before, size, count // size, *behind))
            given = build.sum(apart, (axis + 1,))
        else:
            given = _along(build, given, axis, np.eye(size, dtype=np.float32)[sources])
    return (given,)


@gradient(ResizeBilinear)
def resize_bilinear_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """By the weights of the means."""
    op, x = node.op, node.inputs[0].type
    assert isinstance(op, ResizeBilinear)
    given = upstream
    for axis, places in enumerate(op.real_axes(x), 1):
        given = _along(build, given, axis, _weights(places, x.shape[axis]))
    return (given,)


def _weights(places: RealAxis, size: int) -> Array:
    """Results by pixels: what each gives to each."""
    pixels, fraction = np.eye(size, dtype=np.float32), places.fraction[:, np.newaxis]
    found: Array = pixels[places.lower] * (1 - fraction) + pixels[places.upper] * fraction
    return found.astype(np.float32)


def _along(build: Builder, given: Value, axis: int, weights: Array) -> Value:
    """What comes back along height or width, `weights` results by pixels."""
    n, height, width, channels = given.type.shape
    count, size = weights.shape
    flat = (n, height, width * channels) if axis == 1 else (n * height, width, channels)
    rows = build.reshape(given, flat)
    matrix = build.constant(np.ascontiguousarray(weights.T)[np.newaxis])
    product = build.add(BatchMatMul(), matrix, rows)
    assert rows.type.shape[1] == count
    shape = (n, size, width, channels) if axis == 1 else (n, height, size, channels)
    return build.reshape(product, shape)
