"""Gradients of operators along the last axis."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import gradient
from glowmcu.ir.graph import Node, Value
from glowmcu.ops.normalization import LogSoftmax, Softmax
from glowmcu.ops.transcendental import Exp


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
