"""Slice, Split and Compress."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.graph_builder import expect_few
from glowmcu.frontend.onnx.axes import integers, positive_axis, required_integers
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.types import Shape
from glowmcu.ops.gather import Gather
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split


@importer("Slice")
def import_slice(state: Import, op: NodeRecord) -> None:
    """Bounds as Python has them: negative ones count from the end, those outside are clipped."""
    x = state.value(op, 0)
    starts = required_integers(state, op, 1, "starts", "where it starts")
    ends = required_integers(state, op, 2, "ends", "where it ends")
    axes = integers(state, op, 3, "axes", "its axes") or tuple(range(len(starts)))
    steps = integers(state, op, 4, "steps", "its steps") or (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise Unsupported("GM106", f"Slice: {starts} to {ends} along {axes} in steps of {steps}")
    parts = [(0, size, 1) for size in x.type.shape]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        place = positive_axis(op, axis, x.type.rank)
        positions = range(*slice(start, end, step).indices(x.type.shape[place]))
        parts[place] = (positions.start, len(positions), step)
    begin, size, step_ = (tuple(part[i] for part in parts) for i in range(3))
    state.emit(op, Slice(begin, size, step_), [x])


@importer("Split")
def import_split(state: Import, op: NodeRecord) -> None:
    """Parts of given sizes, else as equal as possible with the last one smaller."""
    x = state.value(op, 0)
    axis = positive_axis(op, op.integer("axis", 0), x.type.rank)
    sizes = integers(state, op, 1, "split", "the sizes of its parts")
    count = op.integer("num_outputs", len(op.outputs))
    expect_few(count, "parts")
    state.emit(op, Split(axis, sizes or equal_parts(x.type.shape[axis], count)), [x])


def equal_parts(length: int, count: int) -> Shape:
    """`count` parts of `length`, rounded up; what is left for the last ones may be less."""
    size = -(-length // max(count, 1))
    return tuple(max(min(size, length - i * size), 0) for i in range(count))


@importer("Compress")
def import_compress(state: Import, op: NodeRecord) -> None:
    """The positions where a condition, known at compile time, holds; flattened without an axis."""
    x = state.value(op, 0)
    condition = state.constant(op, 1, "its condition").reshape(-1)
    if not op.has("axis"):
        x = state.add(op, Reshape((x.type.element_count,)), [x])
    axis = positive_axis(op, op.integer("axis", 0), x.type.rank)
    chosen = np.flatnonzero(condition[: x.type.shape[axis]]).astype(np.int32)
    if chosen.size == x.type.shape[axis]:
        state.bind(op, [x])
        return
    state.emit(op, Gather(axis), [x, state.add_constant(chosen, "chosen")])
