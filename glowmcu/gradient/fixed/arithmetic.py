"""Gradients in fixed point of arithmetic of two tensors; operands that broadcast get the sum of
their places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.gradient.fixed.axes import summed_to
from glowmcu.gradient.fixed.builder import FixedBuilder, FixedGradient, ratio
from glowmcu.gradient.fixed.elementwise import offsets, open_bounds, times
from glowmcu.gradient.fixed.rules import fixed_gradient
from glowmcu.ir.graph import Node
from glowmcu.ops.elementwise import Add, Arithmetic, Mul


def _within_bounds(build: FixedBuilder, node: Node, given: FixedGradient) -> FixedGradient:
    op, out = node.op, node.output
    assert isinstance(op, Arithmetic)
    bounds = open_bounds(op.clamp_range(node.signature), out.type)
    return build.requantized(given, out, (1.0,), bounds, given.bits)


@fixed_gradient(Add)
def sum_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """a + b: the same for both, by their scales."""
    found = _within_bounds(build, node, given)
    return [
        summed_to(build, replace(found, scale=found.scale * ratio(node, at)), value.type.shape)
        for at, value in enumerate(node.inputs)
    ]


@fixed_gradient(Mul)
def product_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """a * b: the other operand."""
    found = _within_bounds(build, node, given)
    parts = []
    for at, (value, other) in enumerate(zip(node.inputs, reversed(node.inputs), strict=True)):
        slopes = offsets(other.type) * (other.type.scale * ratio(node, at))
        part = times(build, found, other, slopes)
        parts.append(summed_to(build, part, value.type.shape))
    return parts
