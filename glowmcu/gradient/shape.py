"""Gradients of what only moves elements: they move back."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import NoGradient, gradient
from glowmcu.ir.graph import Node, Value
from glowmcu.ops.assign import Assign
from glowmcu.ops.copy import Copy
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.padding import Pad
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice
from glowmcu.ops.tiling import BroadcastTo
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
    permutation = node.op.permutation
    back = sorted(range(len(permutation)), key=lambda axis: permutation[axis])
    return (build.add(Transpose(tuple(back)), upstream),)


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
