"""Operators that move elements, in TOSA: one of TOSA's or a few, of any type."""

from __future__ import annotations

from itertools import accumulate

from glowmcu.frontend.tosa.exporter import Export, exporter
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Node
from glowmcu.ops.copy import Copy
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.padding import Pad
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
    """SLICE, which has no steps."""
    op, out = node.op, node.output.type
    assert isinstance(op, Slice)
    if any(step != 1 and size > 1 for step, size in zip(op.step, op.size, strict=True)):
        raise Unsupported("GM155", f"TOSA's SLICE has no steps, got {op.step}")
    operands = [state.ref(node.inputs[0]), state.shape(op.begin), state.shape(op.size)]
    state.bind(node.output, state.emit("slice", operands, out.shape, out.element))


@exporter(Split)
def export_split(state: Export, node: Node) -> None:
    """A SLICE for each part."""
    op, (x,) = node.op, node.inputs
    assert isinstance(op, Split)
    ends = list(accumulate(op.sizes))
    for value, size, end in zip(node.outputs, op.sizes, ends, strict=True):
        begin, shape = [0] * x.type.rank, list(x.type.shape)
        begin[op.axis], shape[op.axis] = end - size, size
        operands = [state.ref(x), state.shape(tuple(begin)), state.shape(tuple(shape))]
        part = state.emit("slice", operands, tuple(shape), x.type.element)
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
