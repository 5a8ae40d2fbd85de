"""Gradients of what only moves elements: they move back."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import NoGradient, gradient, gradient_of_results
from glowmcu.ir.graph import Node, Value
from glowmcu.ops.assign import Assign
from glowmcu.ops.copy import Copy
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.padding import MirrorPad, Pad
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.space import BatchToSpace, DepthToSpace, SpaceToBatch, SpaceToDepth
from glowmcu.ops.tiling import BroadcastTo, Tile
from glowmcu.ops.transpose import Reverse, Transpose


@gradient(Copy, Assign)
def copy_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The same."""
    return (upstream,)


@gradient(Reshape)
def reshape_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """In the operand's shape."""
    return (build.reshape(upstream, node.inputs[0].type.shape),)


@gradient(Transpose)
def transpose_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """Axes back in their places."""
    assert isinstance(node.op, Transpose)
    return (build.add(node.op.inverse, upstream),)


@gradient(Reverse)
def reverse_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """Reversed again."""
    return (build.add(node.op, upstream),)


@gradient(BroadcastTo)
def broadcast_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The sum of what was repeated."""
    return (build.reduced_to(upstream, node.inputs[0].type.shape),)


@gradient(Concatenation)
def concatenation_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """To each operand its part."""
    assert isinstance(node.op, Concatenation)
    parts, start, axis = [], 0, node.op.axis
    for value in node.inputs:
        shape = value.type.shape
        begin = tuple(start if at == axis else 0 for at in range(len(shape)))
        parts.append(build.add(Slice(begin, shape, (1,) * len(shape)), upstream))
        start += shape[axis]
    return parts


@gradient(Slice)
def slice_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """Zeros where nothing was taken."""
    op, shape = node.op, node.inputs[0].type.shape
    assert isinstance(op, Slice)
    if any(step < 1 for step in op.step):
        raise NoGradient("a slice that walks backwards")
    apart, gaps, spread = list[int](), list[tuple[int, int]](), list[int]()
    for size, step in zip(op.size, op.step, strict=True):
        apart += [size] if step == 1 else [size, 1]
        gaps += [(0, 0)] if step == 1 else [(0, 0), (0, step - 1)]
        spread.append(size * step)
    part = upstream
    if tuple(spread) != op.size:
        part = build.add(Pad(tuple(gaps)), build.reshape(part, tuple(apart)))
        part = build.reshape(part, tuple(spread))
        # Behind the last element that was taken lie gaps that the operand may not have.
        fits = [min(s, n - b) for s, n, b in zip(spread, shape, op.begin, strict=True)]
        if fits != spread:
            part = build.add(Slice((0,) * len(fits), tuple(fits), (1,) * len(fits)), part)
    taken = part.type.shape
    around = tuple((b, n - b - s) for b, n, s in zip(op.begin, shape, taken, strict=True))
    return (build.add(Pad(around), part) if any(map(any, around)) else part,)


@gradient(Pad)
def pad_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """What is not padding."""
    assert isinstance(node.op, Pad)
    shape = node.inputs[0].type.shape
    begin = tuple(before for before, _ in node.op.paddings)
    return (build.add(Slice(begin, shape, (1,) * len(shape)), upstream),)


@gradient(MirrorPad)
def mirror_pad_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """What is not padding, and the padding folded back, one axis after the other."""
    op, found = node.op, upstream
    assert isinstance(op, MirrorPad)
    for axis, (before, after) in enumerate(op.paddings):
        size = node.inputs[0].type.shape[axis]
        inner = _part(build, found, axis, before, size)
        edge = 0 if op.edge_twice else 1
        for first, count, place in (
            (0, before, edge), (before + size, after, size - edge - after)
        ):  # fmt: skip
            if count:
                folded = build.add(Reverse((axis,)), _part(build, found, axis, first, count))
                around = [(0, 0)] * inner.type.rank
                around[axis] = (place, size - place - count)
                inner = build.plus(inner, build.add(Pad(tuple(around)), folded))
        found = inner
    return (found,)


def _part(build: Builder, x: Value, axis: int, first: int, count: int) -> Value:
    shape = x.type.shape
    if count == shape[axis]:
        return x
    begin = tuple(first if at == axis else 0 for at in range(len(shape)))
    size = tuple(count if at == axis else length for at, length in enumerate(shape))
    return build.add(Slice(begin, size, (1,) * len(shape)), x)


@gradient_of_results(Split)
def split_gradient(
    build: Builder, node: Node, upstreams: Sequence[Value | None]
) -> Sequence[Value]:
    """The parts side by side; zeros for one that nothing reads."""
    op, shape = node.op, node.inputs[0].type.shape
    assert isinstance(op, Split)
    parts = []
    for size, given in zip(op.sizes, upstreams, strict=True):
        whole = (*shape[: op.axis], size, *shape[op.axis + 1 :])
        zeros = given or build.broadcast(build.number(0.0), whole)
        parts.append(build.reshape(zeros, whole))
    return (build.add(Concatenation(op.axis), *parts) if len(parts) > 1 else parts[0],)


@gradient(Tile)
def tile_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The sum of what was repeated."""
    op, shape = node.op, node.inputs[0].type.shape
    assert isinstance(op, Tile)
    apart = [part for pair in zip(op.multiples, shape, strict=True) for part in pair]
    repeated = [2 * axis for axis, count in enumerate(op.multiples) if count != 1]
    split = build.reshape(upstream, tuple(apart))
    return (build.reshape(build.sum(split, repeated) if repeated else split, shape),)


@gradient(SpaceToDepth)
def space_to_depth_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The inverse."""
    assert isinstance(node.op, SpaceToDepth)
    return (build.add(DepthToSpace(node.op.block), upstream),)


@gradient(DepthToSpace)
def depth_to_space_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The inverse."""
    assert isinstance(node.op, DepthToSpace)
    return (build.add(SpaceToDepth(node.op.block), upstream),)


@gradient(SpaceToBatch)
def space_to_batch_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The inverse, which leaves the padding out."""
    assert isinstance(node.op, SpaceToBatch)
    return (build.add(BatchToSpace(node.op.block, node.op.padding), upstream),)


@gradient(BatchToSpace)
def batch_to_space_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The inverse, with zeros for what was cropped."""
    assert isinstance(node.op, BatchToSpace)
    return (build.add(SpaceToBatch(node.op.block, node.op.crops), upstream),)
