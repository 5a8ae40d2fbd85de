"""Gradients of functions of one tensor, by its operand or its result, whichever is shorter."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import gradient
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Operation
from glowmcu.ops.activation import Abs, HardSwish, LeakyRelu, Neg, Relu
from glowmcu.ops.comparison import Select
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Mul
from glowmcu.ops.real_functions import Cos, Power, Reciprocal, Sign, Sin, Sqrt, Square
from glowmcu.ops.transcendental import Elu, Exp, Log, Logistic, Rsqrt, Tanh


@gradient(Relu)
def relu_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """What is within the bounds."""
    assert isinstance(node.op, Relu)
    return (build.through_clamp(node.output, node.op.clamp, upstream),)


@gradient(LeakyRelu)
def leaky_relu_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """1 above 0, `alpha` below."""
    assert isinstance(node.op, LeakyRelu)
    positive = build.greater(node.inputs[0], build.number(0.0))
    return (build.add(Select(), positive, upstream, build.scaled(upstream, node.op.alpha)),)


@gradient(Elu)
def elu_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """1 above 0, exp(x) = result + 1 below."""
    below = build.times(upstream, build.plus(node.output, build.number(1.0)))
    positive = build.greater(node.output, build.number(0.0))
    return (build.add(Select(), positive, upstream, below),)


@gradient(HardSwish)
def hard_swish_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """0 below -3, 1 above 3, (2 x + 3) / 6 between."""
    (x,) = node.inputs
    slope = build.plus(build.scaled(x, 1 / 3), build.number(0.5))
    between = build.where(build.greater(x, build.number(-3.0)), build.times(upstream, slope))
    return (build.add(Select(), build.greater(x, build.number(3.0)), upstream, between),)


@gradient(Logistic)
def logistic_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """y (1 - y)."""
    slope = build.times(node.output, build.minus(build.number(1.0), node.output))
    return (build.times(upstream, slope),)


@gradient(Tanh)
def tanh_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """1 - y^2."""
    slope = build.minus(build.number(1.0), build.times(node.output, node.output))
    return (build.times(upstream, slope),)


@gradient(Neg)
def neg_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """-1."""
    return (build.scaled(upstream, -1.0),)


@gradient(Abs)
def abs_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The sign of the operand."""
    return _times(build, upstream, Sign(), node.inputs[0])


@gradient(Exp)
def exp_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The result."""
    return (build.times(upstream, node.output),)


@gradient(Log)
def log_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """1 / x."""
    return (build.add(Div(), upstream, node.inputs[0]),)


@gradient(Square)
def square_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """2 x."""
    return (build.scaled(build.times(upstream, node.inputs[0]), 2.0),)


@gradient(Sqrt)
def sqrt_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """1 / (2 y)."""
    return (build.scaled(build.add(Div(), upstream, node.output), 0.5),)


@gradient(Rsqrt)
def rsqrt_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """-y / (2 x)."""
    slope = build.add(Div(), node.output, node.inputs[0])
    return (build.scaled(build.times(upstream, slope), -0.5),)


@gradient(Reciprocal)
def reciprocal_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """-y^2."""
    slope = build.times(node.output, node.output)
    return (build.scaled(build.times(upstream, slope), -1.0),)


@gradient(Power)
def power_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """n x^(n - 1)."""
    assert isinstance(node.op, Power)
    (part,) = _times(build, upstream, Power(node.op.exponent - 1.0), node.inputs[0])
    return (build.scaled(part, node.op.exponent),)


@gradient(Sin)
def sin_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The cosine."""
    return _times(build, upstream, Cos(), node.inputs[0])


@gradient(Cos)
def cos_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The sine's opposite."""
    (part,) = _times(build, upstream, Sin(), node.inputs[0])
    return (build.scaled(part, -1.0),)


def _times(build: Builder, upstream: Value, op: Operation, x: Value) -> tuple[Value, ...]:
    return (build.add(Mul(), upstream, build.add(op, x)),)
