"""Col2Im: columns of patches put back into an image, as PyTorch's `Fold` does."""

from __future__ import annotations

import math

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.onnx.spatial import (
    Spatial,
    explicit_pads,
    extents,
    reshaped,
    spatial_attribute,
)
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import Shape
from glowmcu.ops.scatter import Combine, ScatterNd
from glowmcu.ops.slicing import Slice
from glowmcu.ops.transpose import Transpose


@importer("Col2Im")
def import_col2im(state: Import, op: NodeRecord) -> None:
    """Patches of (N, C x patch, patches) into an image (N, C, ...); where they overlap, sums."""
    x = state.value(op, 0)
    image = _sizes(state, op, 1, "the image's sizes")
    patch = _sizes(state, op, 2, "the patch's sizes")
    axes = len(image)
    if len(patch) != axes:
        raise Unsupported("GM106", f"Col2Im: patches of {patch} in an image of {image}")
    strides = spatial_attribute(op, "strides", axes)
    dilations = spatial_attribute(op, "dilations", axes)
    before, after = explicit_pads(op, image, patch, strides, dilations)
    spans = zip(image, before, after, extents(patch, dilations), strides, strict=True)
    counts = tuple(max(0, (n + a + b - span) // step + 1) for n, a, b, span, step in spans)
    area = math.prod(patch)
    fits = x.type.rank == 3 and not x.type.shape[1] % area
    if not fits or not x.type.element_count or x.type.shape[2] != math.prod(counts):
        expected = f"(N, C x {area}, {math.prod(counts)}), none of them 0"
        raise Unsupported("GM106", f"Col2Im: expected {expected}, got {x.type}")
    whole = all(n == p * count for n, p, count in zip(image, patch, counts, strict=True))
    if whole and strides == patch and not any((*before, *after)):
        state.bind(op, [_side_by_side(state, op, x, patch, counts)])
        return
    positions = [
        np.arange(size)[:, np.newaxis] * dilation + np.arange(count) * stride - start
        for size, count, dilation, stride, start in zip(
            patch, counts, dilations, strides, before, strict=True
        )
    ]
    state.bind(op, [_summed(state, op, x, image, _flat(positions, image))])


def _sizes(state: Import, op: NodeRecord, position: int, what: str) -> Spatial:
    values = tuple(int(size) for size in state.constant(op, position, what).reshape(-1))
    if not values or not all(1 <= size < 2**31 for size in values):
        raise Unsupported("GM106", f"Col2Im: {what} are {str(values)[:120]}")
    state.builder.afford(values, 4, what)
    return values


def _flat(positions: list[Array], image: Spatial) -> Array:
    """Of positions (size of the patch, patches) along each axis, those in the flat image, patch by
    patch: (patch, patches). Outside it stands the first number behind its last.
    """
    axes = len(image)
    places, inside = np.zeros((), np.int64), np.ones((), bool)
    for axis, (along, size) in enumerate(zip(positions, image, strict=True)):
        shape = [1] * (2 * axes)
        shape[axis], shape[axes + axis] = along.shape
        place = along.reshape(shape)
        places = places * size + place
        inside = inside & (place >= 0) & (place < size)
    return np.where(inside, places, math.prod(image)).astype(np.int32)


def _summed(state: Import, op: NodeRecord, x: Value, image: Spatial, places: Array) -> Value:
    """Every element added at its place."""
    batch, channels = x.type.shape[0], x.type.shape[1] * x.type.shape[2] // places.size
    parts = reshaped(state, op, x, (batch, channels, places.size))
    updates = state.add(op, Transpose((2, 0, 1)), [parts])
    pixels = math.prod(image)
    shape: Shape = (pixels + int(places.max() == pixels), batch, channels)
    state.builder.afford(shape, x.type.element.size_bytes, "an image")
    zeros = state.add_constant(np.zeros(shape, x.type.element.numpy), "zeros")
    indices = state.add_constant(places.reshape(-1, 1), "places")
    found = state.add(op, ScatterNd(Combine.ADD), [zeros, indices, updates], x.type.element)
    if shape[0] > pixels:
        taken = Slice((0, 0, 0), (pixels, batch, channels), (1, 1, 1))
        found = state.add(op, taken, [found])
    found = state.add(op, Transpose((1, 2, 0)), [found])
    return reshaped(state, op, found, (batch, channels, *image))


def _side_by_side(
    state: Import, op: NodeRecord, x: Value, patch: Spatial, counts: Spatial
) -> Value:
    """Patches that touch and do not overlap: nothing is summed."""
    axes, batch = len(patch), x.type.shape[0]
    parts = reshaped(state, op, x, (batch, x.type.shape[1] // math.prod(patch), *patch, *counts))
    order = [place for axis in range(axes) for place in (2 + axes + axis, 2 + axis)]
    moved = state.add(op, Transpose((0, 1, *order)), [parts])
    image = tuple(n * size for n, size in zip(counts, patch, strict=True))
    return reshaped(state, op, moved, (*moved.type.shape[:2], *image))
