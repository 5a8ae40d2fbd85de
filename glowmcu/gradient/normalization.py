"""Gradients of operators along the last axis."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import gradient
from glowmcu.ir.graph import Node, Value
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Maximum
from glowmcu.ops.moments import MeanVarianceNormalization
from glowmcu.ops.normalization import L2Normalization, LogSoftmax, Softmax
from glowmcu.ops.real_functions import Sqrt, Square
from glowmcu.ops.reduction import Mean, ReduceSumSquare
from glowmcu.ops.transcendental import Exp, Rsqrt


@gradient(Softmax)
def softmax_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """beta y (g - sum(g y)). Behind cross entropy `losses.py` has the shorter y - p."""
    assert isinstance(node.op, Softmax)
    last = (node.output.type.rank - 1,)
    mean = build.sum(build.times(upstream, node.output), last, keep_dims=True)
    part = build.times(node.output, build.minus(upstream, mean))
    return (build.scaled(part, node.op.beta),)


@gradient(LogSoftmax)
def log_softmax_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """g - exp(y) sum(g)."""
    assert isinstance(node.op, LogSoftmax)
    total = build.sum(upstream, (node.output.type.rank - 1,), keep_dims=True)
    return (build.minus(upstream, build.times(build.add(Exp(), node.output), total)),)


@gradient(L2Normalization)
def l2_normalization_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """(g - y sum(g y)) / length; g / epsilon where the length is less than that."""
    assert isinstance(node.op, L2Normalization)
    (x,), y = node.inputs, node.output
    last = (y.type.rank - 1,)
    least = build.number(node.op.epsilon)
    length = build.add(Sqrt(), build.add(ReduceSumSquare(last, True), x))
    along = build.sum(build.times(upstream, y), last, keep_dims=True)
    turned = build.times(y, build.where(build.greater(length, least), along))
    return (build.add(Div(), build.minus(upstream, turned), build.add(Maximum(), length, least)),)


@gradient(MeanVarianceNormalization)
def mean_variance_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """(g - mean(g) - y mean(g y)) / sqrt(variance + epsilon); without the mean where it is not
    taken off.
    """
    op, (x,), y = node.op, node.inputs, node.output
    assert isinstance(op, MeanVarianceNormalization)
    mean = Mean((y.type.rank - 1,), True)
    offsets = build.minus(x, build.add(mean, x)) if op.center else x
    variance = build.add(mean, build.add(Square(), offsets))
    factor = build.add(Rsqrt(), build.plus(variance, build.number(op.epsilon)))
    left = build.minus(upstream, build.add(mean, upstream)) if op.center else upstream
    left = build.minus(left, build.times(y, build.add(mean, build.times(upstream, y))))
    return (build.times(left, factor),)
