"""Operators that move elements, in TOSA: one of TOSA's or a few, of any type."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from glowmcu.frontend.tosa.exporter import Export, exporter
from glowmcu.frontend.tosa.records import Ref
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Node
from glowmcu.ir.types import Shape
from glowmcu.ops.copy import Copy
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.padding import MirrorPad, Pad
from glowmcu.ops.resize import ResizeNearestNeighbor
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.space import DepthToSpace, SpaceToDepth
from glowmcu.ops.tiling import Tile
from glowmcu.ops.transpose import Reverse, Transpose


@exporter(Reshape)
def export_reshape(state: Export, node: Node) -> None:
    """RESHAPE."""
    state.bind(node.output, state.reshape(state.ref(node.inputs[0]), node.output.type.shape))


@exporter(Copy)
def export_copy(state: Export, node: Node) -> None:
    """IDENTITY."""
    state.bind(node.output, state.ref(node.inputs[0]))


@exporter(Transpose)
def export_transpose(state: Export, node: Node) -> None:
    """TRANSPOSE."""
    assert isinstance(node.op, Transpose)
    x, out = state.ref(node.inputs[0]), node.output.type
    perms = node.op.permutation
    state.bind(node.output, state.emit("transpose", [x], out.shape, out.element, perms=perms))


@exporter(Reverse)
def export_reverse(state: Export, node: Node) -> None:
    """REVERSE along one axis after the other."""
    assert isinstance(node.op, Reverse)
    x = state.ref(node.inputs[0])
    for axis in node.op.axes:
        x = state.emit("reverse", [x], x.type.shape, x.type.element, axis=axis)
    state.bind(node.output, x)


@exporter(Concatenation)
def export_concatenation(state: Export, node: Node) -> None:
    """CONCAT."""
    assert isinstance(node.op, Concatenation)
    refs, out = [state.ref(value) for value in node.inputs], node.output.type
    axis = node.op.axis % out.rank
    state.bind(node.output, state.emit("concat", refs, out.shape, out.element, axis=axis))


@exporter(Slice)
def export_slice(state: Export, node: Node) -> None:
    """SLICE, which has no steps: what runs backwards is reversed first, and of what goes in steps
    each step becomes an axis of which the first is taken.
    """
    op, x = node.op, state.ref(node.inputs[0])
    assert isinstance(op, Slice)
    first, taken = list(op.begin), list(op.size)
    for axis, (begin, size, step) in enumerate(zip(op.begin, op.size, op.step, strict=True)):
        if step < 0 and size > 1:
            x = state.emit("reverse", [x], x.type.shape, x.type.element, axis=axis)
            first[axis] = x.type.shape[axis] - 1 - begin
        taken[axis] = (size - 1) * abs(step) + 1
    x = _part(state, x, first, tuple(taken))
    for axis, (size, step) in enumerate(zip(op.size, op.step, strict=True)):
        if size > 1 and abs(step) > 1:
            x = _each(state, x, axis, size, abs(step))
    state.bind(node.output, x)


def _part(state: Export, x: Ref, first: Sequence[int], shape: Shape) -> Ref:
    operands = [x, state.shape(tuple(first)), state.shape(shape)]
    return state.emit("slice", operands, shape, x.type.element)


def _each(state: Export, x: Ref, axis: int, size: int, step: int) -> Ref:
    """Positions 0, `step`, … of an axis, `size` of them: the last one ends it."""
    head, tail = x.type.shape[:axis], x.type.shape[axis + 1 :]
    amounts = [0] * (2 * len(x.type.shape))
    amounts[2 * axis + 1] = step - 1
    operands = [x, state.shape(tuple(amounts)), state.scalar(0, x.type.element)]
    whole = state.emit("pad", operands, (*head, size * step, *tail), x.type.element)
    steps = state.reshape(whole, (*head, size, step, *tail))
    each = _part(state, steps, [0] * len(steps.type.shape), (*head, size, 1, *tail))
    return state.reshape(each, (*head, size, *tail))


@exporter(Split)
def export_split(state: Export, node: Node) -> None:
    """A SLICE for each part."""
    op, (x,) = node.op, node.inputs
    assert isinstance(op, Split)
    ends = list(accumulate(op.sizes))
    for value, size, end in zip(node.outputs, op.sizes, ends, strict=True):
        begin, shape = [0] * x.type.rank, list(x.type.shape)
        begin[op.axis], shape[op.axis] = end - size, size
        part = _part(state, state.ref(x), begin, tuple(shape))
        state.bind(value, state.reshape(part, value.type.shape))


@exporter(Pad)
def export_pad(state: Export, node: Node) -> None:
    """PAD with a constant."""
    op, out = node.op, node.output.type
    assert isinstance(op, Pad)
    amounts = tuple(amount for pair in op.paddings for amount in pair)
    if min(amounts, default=0) < 0:
        raise Unsupported("GM155", f"TOSA's PAD takes nothing away, got {op.paddings}")
    filled = state.scalar(int(op.value), out.element)
    operands = [state.ref(node.inputs[0]), state.shape(amounts), filled]
    state.bind(node.output, state.emit("pad", operands, out.shape, out.element))


@exporter(MirrorPad)
def export_mirror_pad(state: Export, node: Node) -> None:
    """Each axis with its ends reversed on both sides, joined by CONCAT."""
    op, x = node.op, state.ref(node.inputs[0])
    assert isinstance(op, MirrorPad)
    skipped = 0 if op.edge_twice else 1
    for axis, (before, after) in enumerate(op.paddings):
        length, parts = x.type.shape[axis], [x]
        if before:
            parts.insert(0, _mirrored(state, x, axis, (skipped, before)))
        if after:
            parts.append(_mirrored(state, x, axis, (length - skipped - after, after)))
        if len(parts) > 1:
            head, tail = x.type.shape[:axis], x.type.shape[axis + 1 :]
            shape = (*head, before + length + after, *tail)
            x = state.emit("concat", parts, shape, x.type.element, axis=axis)
    state.bind(node.output, x)


def _mirrored(state: Export, x: Ref, axis: int, span: tuple[int, int]) -> Ref:
    """The positions of an axis in `span` (first, count), the last one first."""
    first, shape = [0] * len(x.type.shape), list(x.type.shape)
    first[axis], shape[axis] = span
    part = _part(state, x, first, tuple(shape))
    return state.emit("reverse", [part], part.type.shape, x.type.element, axis=axis)


@exporter(ResizeNearestNeighbor)
def export_resize_nearest(state: Export, node: Node) -> None:
    """TILE: each pixel becomes a whole number of pixels beside each other."""
    op, (x,), out = node.op, node.inputs, node.output.type
    assert isinstance(op, ResizeNearestNeighbor)
    n, height, width, channels = x.type.shape
    times = out.shape[1] // height, out.shape[2] // width
    for found, size, count in zip(op.sources(x.type), out.shape[1:3], times, strict=True):
        if found.tolist() != [place // max(count, 1) for place in range(size)]:
            raise Unsupported("GM155", f"a resize from {x.type.shape[1:3]} to {op.size}")
    split = state.reshape(state.ref(x), (n, height, 1, width, 1, channels))
    shape = n, height, times[0], width, times[1], channels
    operands = [split, state.shape((1, 1, times[0], 1, times[1], 1))]
    tiled = state.emit("tile", operands, shape, out.element)
    state.bind(node.output, state.reshape(tiled, out.shape))


@exporter(Tile)
def export_tile(state: Export, node: Node) -> None:
    """TILE."""
    assert isinstance(node.op, Tile)
    operands = [state.ref(node.inputs[0]), state.shape(node.op.multiples)]
    out = node.output.type
    state.bind(node.output, state.emit("tile", operands, out.shape, out.element))


@exporter(SpaceToDepth)
def export_space_to_depth(state: Export, node: Node) -> None:
    """RESHAPE to (n, y, by, x, bx, c), TRANSPOSE, RESHAPE."""
    assert isinstance(node.op, SpaceToDepth)
    n, height, width, depth = node.output.type.shape
    block = node.op.block
    split = n, height, block, width, block, depth // block**2
    _move_blocks(state, node, split, (0, 1, 3, 2, 4, 5))


@exporter(DepthToSpace)
def export_depth_to_space(state: Export, node: Node) -> None:
    """RESHAPE to (n, y, x, by, bx, c), TRANSPOSE, RESHAPE."""
    assert isinstance(node.op, DepthToSpace)
    n, height, width, depth = node.inputs[0].type.shape
    block = node.op.block
    split = n, height, width, block, block, depth // block**2
    _move_blocks(state, node, split, (0, 1, 3, 2, 4, 5))


def _move_blocks(state: Export, node: Node, split: tuple[int, ...], perms: tuple[int, ...]) -> None:
    blocks = state.reshape(state.ref(node.inputs[0]), split)
    shape = tuple(split[axis] for axis in perms)
    moved = state.emit("transpose", [blocks], shape, blocks.type.element, perms=perms)
    state.bind(node.output, state.reshape(moved, node.output.type.shape))
