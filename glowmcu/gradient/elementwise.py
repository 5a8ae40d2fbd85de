"""Gradients of arithmetic of two tensors; operands that broadcast get the sum of their places."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import gradient
from glowmcu.ir.graph import Node, Value
from glowmcu.ops.comparison import Select
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import (
    Add,
    Arithmetic,
    Maximum,
    Minimum,
    Mul,
    SquaredDifference,
    Sub,
)


def _before_clamp(build: Builder, node: Node, upstream: Value) -> Value:
    assert isinstance(node.op, Arithmetic)
    return build.through_clamp(node.output, node.op.clamp, upstream)


def _reduced(build: Builder, node: Node, *parts: Value) -> tuple[Value, ...]:
    """Each part in the shape of the operand that it belongs to."""
    pairs = zip(parts, node.inputs[-len(parts) :], strict=True)
    return tuple(build.reduced_to(part, value.type.shape) for part, value in pairs)


@gradient(Add)
def add_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """a + b: the same for both."""
    given = _before_clamp(build, node, upstream)
    return _reduced(build, node, given, given)


@gradient(Sub)
def sub_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """a - b: the opposite for b."""
    given = _before_clamp(build, node, upstream)
    return _reduced(build, node, given, build.scaled(given, -1.0))


@gradient(Mul)
def mul_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """a * b: the other operand."""
    given = _before_clamp(build, node, upstream)
    a, b = node.inputs
    return _reduced(build, node, build.times(given, b), build.times(given, a))


@gradient(Div)
def div_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """a / b: 1 / b, and -a / b^2."""
    given = _before_clamp(build, node, upstream)
    a, b = node.inputs
    of_a = build.add(Div(), given, b)
    of_b = build.times(build.scaled(of_a, -1.0), build.add(Div(), a, b))
    return _reduced(build, node, of_a, of_b)


@gradient(SquaredDifference)
def squared_difference_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """(a - b)^2: 2 (a - b), and its opposite."""
    given = _before_clamp(build, node, upstream)
    of_a = build.scaled(build.times(given, build.minus(*node.inputs)), 2.0)
    return _reduced(build, node, of_a, build.scaled(of_a, -1.0))


@gradient(Maximum, Minimum)
def extremum_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """To the operand that is taken; where both are equal, to the second."""
    a, b = node.inputs
    first = build.greater(*((a, b) if isinstance(node.op, Maximum) else (b, a)))
    zero = build.number(0.0)
    of_a = build.add(Select(), first, upstream, zero)
    return _reduced(build, node, of_a, build.add(Select(), first, zero, upstream))


@gradient(Select)
def select_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value | None]:
    """To the operand that the condition takes."""
    condition, zero = node.inputs[0], build.number(0.0)
    of_a = build.add(Select(), condition, upstream, zero)
    of_b = build.add(Select(), condition, zero, upstream)
    return (None, *_reduced(build, node, of_a, of_b))
