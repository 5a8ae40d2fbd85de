"""Gradients of activations with parameters and their relatives, by their results where these do."""

from __future__ import annotations

import math
from collections.abc import Sequence

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import gradient
from glowmcu.ir.graph import Node, Value
from glowmcu.ops.activation import Abs
from glowmcu.ops.comparison import Select
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Prelu
from glowmcu.ops.parametric_activation import (
    Celu,
    HardSigmoid,
    Mish,
    Selu,
    Shrink,
    Softplus,
    Softsign,
    Swish,
    ThresholdedRelu,
)
from glowmcu.ops.real_functions import Erf, Square
from glowmcu.ops.transcendental import Exp, Gelu, Logistic, Tanh

#: Of the tanh formula: Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.
_CUBE, _INNER = 0.044715, math.sqrt(2 / math.pi)


@gradient(Selu)
def selu_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """gamma above 0, gamma alpha exp(x) = result + gamma alpha below."""
    op = node.op
    assert isinstance(op, Selu)
    below = build.times(upstream, build.plus(node.output, build.number(op.gamma * op.alpha)))
    return (_above(build, node.inputs[0], 0.0, build.scaled(upstream, op.gamma), below),)


@gradient(Celu)
def celu_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """1 above 0, exp(x / alpha) = result / alpha + 1 below."""
    assert isinstance(node.op, Celu)
    slope = build.plus(build.scaled(node.output, 1 / node.op.alpha), build.number(1.0))
    return (_above(build, node.inputs[0], 0.0, upstream, build.times(upstream, slope)),)


@gradient(Softplus)
def softplus_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The logistic function."""
    return (build.times(upstream, build.add(Logistic(), node.inputs[0])),)


@gradient(Softsign)
def softsign_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """1 / (1 + |x|)^2."""
    root = build.plus(build.add(Abs(), node.inputs[0]), build.number(1.0))
    return (build.add(Div(), upstream, build.add(Square(), root)),)


@gradient(Mish)
def mish_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """t + x s (1 - t^2), where t is the hyperbolic tangent and s the logistic function."""
    (x,) = node.inputs
    t = build.add(Tanh(), build.add(Softplus(), x))
    rising = build.minus(build.number(1.0), build.add(Square(), t))
    part = build.times(build.times(x, build.add(Logistic(), x)), rising)
    return (build.times(upstream, build.plus(t, part)),)


@gradient(Swish)
def swish_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """s + alpha y (1 - s), where s is the logistic function of alpha x."""
    assert isinstance(node.op, Swish)
    s = build.add(Logistic(), build.scaled(node.inputs[0], node.op.alpha))
    rising = build.times(node.output, build.minus(build.number(1.0), s))
    slope = build.plus(s, build.scaled(rising, node.op.alpha))
    return (build.times(upstream, slope),)


@gradient(Gelu)
def gelu_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The normal distribution function of x, plus x times its density; of the tanh formula its."""
    assert isinstance(node.op, Gelu)
    (x,) = node.inputs
    square, one = build.add(Square(), x), build.number(1.0)
    if node.op.approximate:
        cubic = build.plus(build.scaled(square, _CUBE), one)
        t = build.add(Tanh(), build.scaled(build.times(x, cubic), _INNER))
        bent = build.plus(build.scaled(square, 3 * _CUBE), one)
        inner = build.scaled(build.times(x, bent), _INNER)
        rising = build.times(inner, build.minus(one, build.add(Square(), t)))
        slope = build.scaled(build.plus(build.plus(t, one), rising), 0.5)
        return (build.times(upstream, slope),)
    below = build.plus(build.add(Erf(), build.scaled(x, math.sqrt(0.5))), one)
    bell = build.add(Exp(), build.scaled(square, -0.5))
    density = build.scaled(build.times(x, bell), 1 / math.sqrt(2 * math.pi))
    return (build.times(upstream, build.plus(build.scaled(below, 0.5), density)),)


@gradient(HardSigmoid)
def hard_sigmoid_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """alpha, within the bounds."""
    assert isinstance(node.op, HardSigmoid)
    inside = build.through_clamp(node.output, (0.0, 1.0), upstream)
    return (build.scaled(inside, node.op.alpha),)


@gradient(ThresholdedRelu)
def thresholded_relu_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """What is above alpha."""
    assert isinstance(node.op, ThresholdedRelu)
    above = build.greater(node.inputs[0], build.number(node.op.alpha))
    return (build.where(above, upstream),)


@gradient(Shrink)
def shrink_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """What is beyond the threshold."""
    assert isinstance(node.op, Shrink)
    size = build.add(Abs(), node.inputs[0])
    return (build.where(build.greater(size, build.number(node.op.threshold)), upstream),)


@gradient(Prelu)
def prelu_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """1 above 0 and alpha below; to alpha x below 0, summed over what it is repeated for."""
    x, alpha = node.inputs
    below = build.where(build.greater(build.number(0.0), x), build.times(upstream, x))
    slope = _above(build, x, 0.0, upstream, build.times(upstream, alpha))
    shapes = x.type.shape, alpha.type.shape
    return build.reduced_to(slope, shapes[0]), build.reduced_to(below, shapes[1])


def _above(build: Builder, x: Value, bound: float, above: Value, below: Value) -> Value:
    return build.add(Select(), build.greater(x, build.number(bound)), above, below)
