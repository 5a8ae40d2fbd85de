"""Gradients of functions on real numbers alone; a step has none but 0."""

from __future__ import annotations

import math
from collections.abc import Sequence

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import gradient
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Operation
from glowmcu.ops.division import Div, Pow
from glowmcu.ops.real_functions import (
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atanh,
    Ceil,
    Cosh,
    Erf,
    Floor,
    Round,
    Sign,
    Sinh,
    Square,
    Tan,
)
from glowmcu.ops.transcendental import Exp, Log, Rsqrt


def _square(build: Builder, x: Value) -> Value:
    return build.add(Square(), x)


def _one_plus_square(build: Builder, x: Value) -> Value:
    return build.plus(_square(build, x), build.number(1.0))


def _one_minus_square(build: Builder, x: Value) -> Value:
    return build.minus(build.number(1.0), _square(build, x))


def _with_slope(build: Builder, upstream: Value, op: Operation, x: Value) -> tuple[Value]:
    return (build.times(upstream, build.add(op, x)),)


@gradient(Ceil, Floor, Round, Sign)
def step_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[None]:
    """None: small changes of the operand change nothing."""
    return (None,)


@gradient(Erf)
def erf_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """2 exp(-x^2) / sqrt(pi)."""
    bell = build.add(Exp(), build.scaled(_square(build, node.inputs[0]), -1.0))
    return (build.times(upstream, build.scaled(bell, 2 / math.sqrt(math.pi))),)


@gradient(Tan)
def tan_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """1 + y^2."""
    return (build.times(upstream, _one_plus_square(build, node.output)),)


@gradient(Sinh)
def sinh_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The hyperbolic cosine."""
    return _with_slope(build, upstream, Cosh(), node.inputs[0])


@gradient(Cosh)
def cosh_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The hyperbolic sine."""
    return _with_slope(build, upstream, Sinh(), node.inputs[0])


@gradient(Asin)
def asin_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """1 / sqrt(1 - x^2)."""
    return _with_slope(build, upstream, Rsqrt(), _one_minus_square(build, node.inputs[0]))


@gradient(Acos)
def acos_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The opposite of the arc sine's."""
    rest = _one_minus_square(build, node.inputs[0])
    return _with_slope(build, build.scaled(upstream, -1.0), Rsqrt(), rest)


@gradient(Atan)
def atan_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """1 / (1 + x^2)."""
    return (build.add(Div(), upstream, _one_plus_square(build, node.inputs[0])),)


@gradient(Asinh)
def asinh_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """1 / sqrt(x^2 + 1)."""
    return _with_slope(build, upstream, Rsqrt(), _one_plus_square(build, node.inputs[0]))


@gradient(Acosh)
def acosh_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """1 / sqrt(x^2 - 1)."""
    rest = build.minus(_square(build, node.inputs[0]), build.number(1.0))
    return _with_slope(build, upstream, Rsqrt(), rest)


@gradient(Atanh)
def atanh_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """1 / (1 - x^2)."""
    return (build.add(Div(), upstream, _one_minus_square(build, node.inputs[0])),)


@gradient(Pow)
def pow_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """b a^(b - 1), and a^b log(a)."""
    a, b = node.inputs
    lower = build.add(Pow(), a, build.minus(b, build.number(1.0)))
    of_a = build.times(upstream, build.times(lower, b))
    of_b = build.times(upstream, build.times(node.output, build.add(Log(), a)))
    return build.reduced_to(of_a, a.type.shape), build.reduced_to(of_b, b.type.shape)
