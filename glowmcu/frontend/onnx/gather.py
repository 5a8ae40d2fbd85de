"""Gather, GatherElements, GatherND and ReverseSequence."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.axes import positive_axis
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType, Shape
from glowmcu.ops.cast import Cast
from glowmcu.ops.comparison import Less, Select
from glowmcu.ops.elementwise import Add
from glowmcu.ops.gather import Gather, GatherElements, GatherNd
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice
from glowmcu.ops.transpose import Transpose


def positions(state: Import, op: NodeRecord, position: int, sizes: Shape) -> Value:
    """The operand as int32 positions on axes of `sizes`, negative ones counted from the end.

    One size for all, or one for each entry of the operand's last axis.
    """
    if not state.known(op, position):
        return counted_from_the_end(state, op, state.value(op, position), sizes)
    data = state.constant(op, position, "its indices").astype(np.int64)
    lengths = np.array(sizes, np.int64)
    outside = (data < -lengths) | (data >= lengths)
    if outside.any():
        wrong = int(data[outside][0])
        raise Unsupported("GM106", f"{op.kind}: index {wrong} is outside {list(sizes)}")
    inside = np.where(data < 0, data + lengths, data).reshape(data.shape)
    return state.add_constant(inside.astype(np.int32), op.inputs[position])


def counted_from_the_end(state: Import, op: NodeRecord, x: Value, sizes: Shape) -> Value:
    """Computed indices as int32, those below zero plus the size."""
    if x.type.element is not ElementType.I32:
        x = state.add(op, Cast(), [x], ElementType.I32)
    zero = state.add_constant(np.zeros((), np.int32), "zero")
    lengths = np.array(sizes, np.int32)
    size = state.add_constant(lengths.reshape(() if lengths.size == 1 else lengths.shape), "sizes")
    negative = state.add(op, Less(), [x, zero], ElementType.BOOL)
    return state.add(op, Select(), [negative, state.add(op, Add(), [x, size]), x], ElementType.I32)


@importer("Gather")
def import_gather(state: Import, op: NodeRecord) -> None:
    """Slices along an axis. One known position is a slice, which often costs nothing."""
    x = state.value(op, 0)
    axis = positive_axis(op, op.integer("axis", 0), x.type.rank)
    indices = positions(state, op, 1, (x.type.shape[axis],))
    known = state.builder.known.get(indices)
    if known is None or known.size != 1 or x in state.builder.known:
        state.emit(op, Gather(axis), [x, indices])
        return
    begin, size = [0] * x.type.rank, list(x.type.shape)
    begin[axis], size[axis] = int(known.reshape(-1)[0]), 1
    part = state.add(op, Slice(tuple(begin), tuple(size), (1,) * x.type.rank), [x])
    shape = (*x.type.shape[:axis], *known.shape, *x.type.shape[axis + 1 :])
    state.emit(op, Reshape(shape), [part])


@importer("GatherElements")
def import_gather_elements(state: Import, op: NodeRecord) -> None:
    """Elements along an axis."""
    x = state.value(op, 0)
    axis = positive_axis(op, op.integer("axis", 0), x.type.rank)
    state.emit(op, GatherElements(axis), [x, positions(state, op, 1, (x.type.shape[axis],))])


@importer("GatherND")
def import_gather_nd(state: Import, op: NodeRecord) -> None:
    """Slices by coordinates; the places on batch axes become coordinates, too."""
    x, given = state.value(op, 0), state.value(op, 1)
    batch = op.integer("batch_dims", 0)
    depth = given.type.shape[-1] if given.type.rank else 0
    is_fit = 0 <= batch < max(given.type.rank, 1) and 1 <= depth <= x.type.rank - batch
    if not is_fit or given.type.shape[:batch] != x.type.shape[:batch]:
        raise Unsupported("GM106", f"GatherND: {given.type} of {x.type}, {batch} batch axes")
    indices = positions(state, op, 1, x.type.shape[batch : batch + depth])
    if batch:
        state.builder.afford(given.type.shape, 4 * given.type.rank, "a constant")
        places = np.indices(given.type.shape[:-1], np.int32)[:batch]
        own = state.add_constant(np.moveaxis(places, 0, -1), "batch")
        indices = state.add(op, Concatenation(given.type.rank - 1), [own, indices])
    state.emit(op, GatherNd(), [x, indices])


@importer("ReverseSequence")
def import_reverse_sequence(state: Import, op: NodeRecord) -> None:
    """The first elements of every sequence in opposite order; lengths known at compile time."""
    x = state.value(op, 0)
    lengths = state.constant(op, 1, "the lengths of its sequences").reshape(-1)
    batch = positive_axis(op, op.integer("batch_axis", 1), x.type.rank)
    time = positive_axis(op, op.integer("time_axis", 0), x.type.rank)
    if batch == time or lengths.size != x.type.shape[batch]:
        raise Unsupported("GM106", f"ReverseSequence: {lengths.size} lengths for {x.type}")
    if ((lengths < 0) | (lengths > x.type.shape[time])).any():
        raise Unsupported("GM106", f"ReverseSequence: lengths {lengths.tolist()[:8]} of {x.type}")
    state.builder.afford((lengths.size, x.type.shape[time]), 16, "a constant")
    steps = np.arange(x.type.shape[time], dtype=np.int32)
    ends = lengths.astype(np.int32)[:, None]
    order = np.where(steps < ends, ends - 1 - steps, steps).astype(np.int32)
    others = [axis for axis in range(x.type.rank) if axis not in (batch, time)]
    permutation = (batch, time, *others)
    ordered = state.add(op, Transpose(permutation), [x])
    reversed_ = state.add(op, Gather(1, 1), [ordered, state.add_constant(order, "order")])
    state.emit(op, Transpose(permutation).inverse, [reversed_])
