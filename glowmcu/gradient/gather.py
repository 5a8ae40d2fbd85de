"""Gradients of what is taken by computed positions: each goes where its element was taken from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import gradient
from glowmcu.ir.graph import Node, Value
from glowmcu.ops.gather import Gather, GatherElements, GatherNd
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.scatter import Combine, ScatterElements, ScatterNd
from glowmcu.ops.transpose import Transpose


@gradient(Gather)
def gather_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value | None]:
    """Slices are added where they came from, of which several may have come from one place."""
    op, (x, indices) = node.op, node.inputs
    assert isinstance(op, Gather)
    axis, shape, batch = op.axis, x.type.shape, op.batch_dims
    # Places are (batch, …) and what they are of, the axes between lie behind these.
    places = range(axis, axis + indices.type.rank - batch)
    order = [*range(batch), *places, *range(batch, axis), *range(places.stop, upstream.type.rank)]
    moved = _transposed(build, upstream, order)
    outermost = (*shape[:batch], shape[axis], *shape[batch:axis], *shape[axis + 1 :])
    found = _added(build, outermost, _coordinates(build, indices, batch), moved)
    back = [*range(batch), *range(batch + 1, axis + 1), batch, *range(axis + 1, len(shape))]
    return _transposed(build, found, back), None


@gradient(GatherNd)
def gather_nd_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value | None]:
    """The same by coordinates."""
    x, indices = node.inputs
    return _added(build, x.type.shape, indices, upstream), None


@gradient(GatherElements)
def gather_elements_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value | None]:
    """The same for single elements."""
    op, (x, indices) = node.op, node.inputs
    assert isinstance(op, GatherElements)
    zeros = build.constant(np.zeros(x.type.shape, np.float32))
    return build.add(ScatterElements(Combine.ADD, op.axis), zeros, indices, upstream), None


def _coordinates(build: Builder, indices: Value, batch: int) -> Value:
    """Of each index its place in the batch, and itself."""
    shape = (*indices.type.shape, 1)
    own = build.typed_reshape(indices, shape)
    if not batch:
        return own
    around = np.indices(shape, own.type.element.numpy)[:batch]
    numbers = [build.constant(np.ascontiguousarray(each)) for each in around]
    return build.add(Concatenation(len(shape) - 1), *numbers, own, element=own.type.element)


def _transposed(build: Builder, x: Value, order: Sequence[int]) -> Value:
    is_same = list(order) == list(range(x.type.rank))
    return x if is_same else build.add(Transpose(tuple(order)), x)


def _added(build: Builder, shape: tuple[int, ...], indices: Value, updates: Value) -> Value:
    zeros = build.constant(np.zeros(shape, np.float32))
    return build.add(ScatterNd(Combine.ADD), zeros, indices, updates)
