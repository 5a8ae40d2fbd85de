"""Gradients of what is taken by computed positions: each goes where its element was taken from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import NoGradient, gradient
from glowmcu.ir.graph import Node, Value
from glowmcu.ops.gather import Gather, GatherElements, GatherNd
from glowmcu.ops.scatter import Combine, ScatterElements, ScatterNd
from glowmcu.ops.transpose import Transpose


@gradient(Gather)
def gather_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value | None]:
    """Slices are added where they came from, of which several may have come from one place."""
    op, (x, indices) = node.op, node.inputs
    assert isinstance(op, Gather)
    if op.batch_dims:
        raise NoGradient("a gather along a batch")
    count = indices.type.rank
    moved, order = upstream, [*range(op.axis, op.axis + count), *range(op.axis)]
    order += range(op.axis + count, upstream.type.rank)
    if op.axis:
        moved = build.add(Transpose(tuple(order)), upstream)
    axis, shape = op.axis, x.type.shape
    outermost = (shape[axis], *shape[:axis], *shape[axis + 1 :])
    found = _added(build, outermost, _coordinates(build, indices), moved)
    if axis:
        back = (*range(1, axis + 1), 0, *range(axis + 1, len(shape)))
        found = build.add(Transpose(back), found)
    return found, None


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


def _coordinates(build: Builder, indices: Value) -> Value:
    return build.typed_reshape(indices, (*indices.type.shape, 1))


def _added(build: Builder, shape: tuple[int, ...], indices: Value, updates: Value) -> Value:
    zeros = build.constant(np.zeros(shape, np.float32))
    return build.add(ScatterNd(Combine.ADD), zeros, indices, updates)
