"""Gradients in fixed point of what has no weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.gradient.fixed.builder import FixedBuilder, FixedGradient, ratio
from glowmcu.gradient.fixed.rules import fixed_gradient
from glowmcu.gradient.rules import NoGradient
from glowmcu.ir.graph import Node
from glowmcu.ir.types import TensorType
from glowmcu.ops.activation import Clip, Relu
from glowmcu.ops.elementwise import Add
from glowmcu.ops.quantization import Requantize
from glowmcu.ops.shape import Reshape


def open_bounds(clamp: tuple[int, int], type_: TensorType) -> tuple[int | None, int | None]:
    """Stored bounds at which an activation has no gradient. What is only what 8 bits can store is
    none, but for 0, below which such a type knows nothing.
    """
    least, most = type_.element.limits
    low, high = clamp
    is_open = low <= least and (low - type_.zero_point) * type_.scale < 0
    return (None if is_open else low), (None if high >= most else high)


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
    return (build.requantized(given, out, (ratio(node),), bounds, given.bits),)


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
        replace(found, scale=found.scale * ratio(node)),
        replace(found, scale=found.scale * ratio(node, 1)),
    )
