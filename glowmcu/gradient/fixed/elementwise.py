"""Gradients in fixed point of what has no weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.gradient.fixed.builder import FixedBuilder, FixedGradient
from glowmcu.gradient.fixed.rules import fixed_gradient
from glowmcu.gradient.rules import NoGradient
from glowmcu.ir.graph import Node
from glowmcu.ir.types import TensorType
from glowmcu.ops.activation import Clip, Relu
from glowmcu.ops.elementwise import Add
from glowmcu.ops.pooling import AveragePool2D
from glowmcu.ops.quantization import Requantize
from glowmcu.ops.reduction import Mean
from glowmcu.ops.shape import Reshape


def open_bounds(clamp: tuple[int, int], type_: TensorType) -> tuple[int | None, int | None]:
    """Stored bounds at which an activation has no gradient. What is only what 8 bits can store is
    none, but for 0, below which such a type knows nothing.
    """
    least, most = type_.element.limits
    low, high = clamp
    is_open = low <= least and (low - type_.zero_point) * type_.scale < 0
    return (None if is_open else low), (None if high >= most else high)


def _ratio(node: Node, operand: int = 0) -> float:
    """A stored step of an operand in those of the result."""
    return node.inputs[operand].type.scale / node.output.type.scale


@fixed_gradient(Reshape)
def reshape_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """The same numbers."""
    whole = build.whole(given, node.output)
    return (build.reshaped(whole, node.inputs[0].type.shape),)


@fixed_gradient(Relu, Clip, Requantize)
def rescaling_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """Nothing at bounds, else the ratio of the scales."""
    op, out = node.op, node.output
    bounds: tuple[int | None, int | None] = (None, None)
    if isinstance(op, Relu):
        bounds = open_bounds(op.clamp_range(node.signature), out.type)
    elif isinstance(op, Clip):
        bounds = open_bounds(op.clamp, out.type)
    return (build.requantized(given, out, (_ratio(node),), bounds, given.bits),)


@fixed_gradient(Add)
def sum_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """a + b: the same for both, by their scales."""
    op, out = node.op, node.output
    assert isinstance(op, Add)
    for value in node.inputs:
        if value.type.shape != out.type.shape:
            raise NoGradient(f"{op.name} of operands that broadcast, in fixed point")
    bounds = open_bounds(op.clamp_range(node.signature), out.type)
    found = build.requantized(given, out, (1.0,), bounds, given.bits)
    return (
        replace(found, scale=found.scale * _ratio(node)),
        replace(found, scale=found.scale * _ratio(node, 1)),
    )


@fixed_gradient(AveragePool2D, Mean)
def mean_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """A share for each element of the whole image."""
    op, x, out = node.op, node.inputs[0].type, node.output
    if x.rank != 4 or x.shape[0] != 1:
        raise NoGradient(f"{op.name} of {x}, in fixed point")
    count = x.shape[1] * x.shape[2]
    bounds: tuple[int | None, int | None] = (None, None)
    if isinstance(op, AveragePool2D):
        counts = op.window_counts(x)
        is_whole = out.type.shape[1:3] == (1, 1) and counts.max() == count
        bounds = open_bounds(op.clamp_range(node.signature), out.type)
    else:
        assert isinstance(op, Mean)
        is_whole = tuple(sorted(op.axes)) == (1, 2)
    if not is_whole:
        raise NoGradient(f"{op.name} of a part of an image, in fixed point")
    found = build.requantized(given, out, (_ratio(node) / count,), bounds, given.bits)
    return (build.reshaped(found, (1, 1, 1, x.shape[3])),)
