"""Operators that move elements, in StableHLO."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from glowmcu.frontend.stablehlo.exporter import Export, Ref, exporter, integers
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Node
from glowmcu.ir.types import Shape
from glowmcu.ops.copy import Copy
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.padding import MirrorPad, Pad
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.space import DepthToSpace, SpaceToDepth
from glowmcu.ops.tiling import BroadcastTo, Tile
from glowmcu.ops.transpose import Reverse, Transpose


@exporter(Reshape, Copy)
def export_reshape(state: Export, node: Node) -> None:
    """The same elements."""
    state.bind(node.output, state.reshape(state.ref(node.inputs[0]), node.output.type.shape))


@exporter(Transpose)
def export_transpose(state: Export, node: Node) -> None:
    """By a permutation."""
    assert isinstance(node.op, Transpose)
    state.bind(node.output, _transposed(state, state.ref(node.inputs[0]), node.op.permutation))


def _transposed(state: Export, x: Ref, order: tuple[int, ...]) -> Ref:
    shape = tuple(x.shape[axis] for axis in order)
    return state.emit("transpose", [x], shape, permutation=integers(order))


@exporter(Reverse)
def export_reverse(state: Export, node: Node) -> None:
    """Along several axes at once."""
    assert isinstance(node.op, Reverse)
    x = state.ref(node.inputs[0])
    found = state.emit("reverse", [x], x.shape, dimensions=integers(node.op.axes))
    state.bind(node.output, found)


@exporter(Concatenation)
def export_concatenation(state: Export, node: Node) -> None:
    """Along one axis."""
    assert isinstance(node.op, Concatenation)
    shape, axis = node.output.type.shape, node.op.axis
    found = state.emit("concatenate", state.refs(node), shape, dimension=f"{axis} : i64")
    state.bind(node.output, found)


@exporter(Slice)
def export_slice(state: Export, node: Node) -> None:
    """StableHLO's steps are positive: axes that run backwards are reversed before it."""
    op, x = node.op, state.ref(node.inputs[0])
    assert isinstance(op, Slice)
    backwards = [axis for axis, step in enumerate(op.step) if step < 0]
    if backwards:
        x = state.emit("reverse", [x], x.shape, dimensions=integers(backwards))
    first = [
        length - 1 - begin if step < 0 else begin
        for length, begin, step in zip(x.shape, op.begin, op.step, strict=True)
    ]
    steps = [abs(step) for step in op.step]
    last = [
        begin + (size - 1) * step + 1 if size else begin
        for begin, size, step in zip(first, op.size, steps, strict=True)
    ]
    state.bind(node.output, _sliced(state, x, (first, last), steps, op.size))


def _sliced(
    state: Export, x: Ref, ends: tuple[list[int], list[int]], steps: list[int], shape: Shape
) -> Ref:
    first, last = ends
    return state.emit(
        "slice", [x], shape, start_indices=integers(first), limit_indices=integers(last),
        strides=integers(steps),
    )  # fmt: skip


@exporter(Split)
def export_split(state: Export, node: Node) -> None:
    """A slice for each part."""
    op, x = node.op, state.ref(node.inputs[0])
    assert isinstance(op, Split)
    ends = accumulate(op.sizes)
    for value, size, end in zip(node.outputs, op.sizes, ends, strict=True):
        first, last = [0] * len(x.shape), list(x.shape)
        first[op.axis], last[op.axis] = end - size, end
        shape = (*x.shape[: op.axis], size, *x.shape[op.axis + 1 :])
        part = _sliced(state, x, (first, last), [1] * len(x.shape), shape)
        state.bind(value, state.reshape(part, value.type.shape))


@exporter(Pad)
def export_pad(state: Export, node: Node) -> None:
    """With a number."""
    op, x = node.op, state.ref(node.inputs[0])
    assert isinstance(op, Pad)
    low, high = ([pair[side] for pair in op.paddings] for side in (0, 1))
    found = state.emit(
        "pad", [x, state.number(op.value)], node.output.type.shape,
        edge_padding_low=integers(low), edge_padding_high=integers(high),
        interior_padding=integers([0] * len(low)),
    )  # fmt: skip
    state.bind(node.output, found)


@exporter(Gather)
def export_gather(state: Export, node: Node) -> None:
    """By indices that are known."""
    op, x, shape = node.op, state.ref(node.inputs[0]), node.output.type.shape
    assert isinstance(op, Gather)
    indices = state.graph.constant_data(node.inputs[1])
    if indices is None or op.batch_dims:
        raise Unsupported("GM155", "gather has a form where its indices are known, and no batches")
    inside = np.clip(indices, 0, x.shape[op.axis] - 1).astype(np.int32)
    kept = [*range(op.axis), *range(op.axis + indices.ndim, len(shape))]
    numbers = (
        f"#stablehlo.gather<offset_dims = {kept}, collapsed_slice_dims = [{op.axis}], "
        f"start_index_map = [{op.axis}], index_vector_dim = {indices.ndim}>"
    )
    sizes = [1 if axis == op.axis else size for axis, size in enumerate(x.shape)]
    found = state.emit(
        "gather", [x, state.constant(inside)], shape, dimension_numbers=numbers,
        slice_sizes=integers(sizes), indices_are_sorted="false",
    )  # fmt: skip
    state.bind(node.output, found)


@exporter(MirrorPad)
def export_mirror_pad(state: Export, node: Node) -> None:
    """Axis by axis: the ends backwards, joined with what is between."""
    op, x = node.op, state.ref(node.inputs[0])
    assert isinstance(op, MirrorPad)
    for axis, (before, after) in enumerate(op.paddings):
        size, skip = x.shape[axis], 0 if op.edge_twice else 1
        ends = ((skip, skip + before), (size - skip - after, size - skip))
        head, tail = (_backwards(state, x, axis, first, last) for first, last in ends)
        shape = (*x.shape[:axis], before + size + after, *x.shape[axis + 1 :])
        x = state.emit("concatenate", [head, x, tail], shape, dimension=f"{axis} : i64")
    state.bind(node.output, x)


def _backwards(state: Export, x: Ref, axis: int, begin: int, end: int) -> Ref:
    first, last = [0] * len(x.shape), list(x.shape)
    first[axis], last[axis] = begin, end
    shape = (*x.shape[:axis], end - begin, *x.shape[axis + 1 :])
    part = _sliced(state, x, (first, last), [1] * len(shape), shape)
    return state.emit("reverse", [part], shape, dimensions=integers([axis]))


@exporter(Tile)
def export_tile(state: Export, node: Node) -> None:
    """Broadcast along an axis in front of each, and joined with it."""
    assert isinstance(node.op, Tile)
    x = state.ref(node.inputs[0])
    pairs = list(zip(node.op.multiples, x.shape, strict=True))
    shape = tuple(size for pair in pairs for size in pair)
    wide = state.broadcast(x, shape, tuple(range(1, len(shape), 2)))
    state.bind(node.output, state.reshape(wide, node.output.type.shape))


@exporter(BroadcastTo)
def export_broadcast(state: Export, node: Node) -> None:
    """Along axes of length 1 and new ones in front."""
    state.bind(node.output, state.aligned(state.ref(node.inputs[0]), node.output.type.shape))


@exporter(SpaceToDepth, DepthToSpace)
def export_blocks(state: Export, node: Node) -> None:
    """Blocks of pixels to channels, or back: (n, y, by, x, bx, c) against (n, y, x, by, bx, c)."""
    op, x = node.op, state.ref(node.inputs[0])
    assert isinstance(op, SpaceToDepth | DepthToSpace)
    block = op.block
    n, height, width, depth = x.shape
    split = (
        (n, height // block, block, width // block, block, depth)
        if isinstance(op, SpaceToDepth)
        else (n, height, width, block, block, depth // block**2)
    )
    moved = _transposed(state, state.reshape(x, split), (0, 1, 3, 2, 4, 5))
    state.bind(node.output, state.reshape(moved, node.output.type.shape))
