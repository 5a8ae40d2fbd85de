"""Gradients of reductions: what went into a result gets its gradient, or a share of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import gradient
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.types import ElementType
from glowmcu.ops.comparison import Equal, Select
from glowmcu.ops.division import Div
from glowmcu.ops.real_functions import Sign
from glowmcu.ops.reduction import (
    Mean,
    ReduceMax,
    ReduceMin,
    ReduceSumAbsolute,
    ReduceSumSquare,
    Reduction,
    Sum,
)
from glowmcu.ops.scan import CumSum


def _spread(build: Builder, node: Node, value: Value) -> Value:
    """`value`, of the result's shape, with the reduced axes as length 1."""
    assert isinstance(node.op, Reduction)
    axes, shape = node.op.axes, node.inputs[0].type.shape
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return build.reshape(value, kept)


@gradient(Sum, Mean)
def sum_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The same for all; of a mean of n an n-th."""
    assert isinstance(node.op, Reduction)
    (x,) = node.inputs
    count = node.op.reduced_count(x.type) if isinstance(node.op, Mean) else 1
    share = build.scaled(_spread(build, node, upstream), 1.0 / count)
    return (build.broadcast(share, x.type.shape),)


@gradient(ReduceSumSquare)
def sum_square_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """2 x."""
    (x,) = node.inputs
    return (build.times(x, build.scaled(_spread(build, node, upstream), 2.0)),)


@gradient(ReduceSumAbsolute)
def sum_absolute_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The sign."""
    return (build.times(build.add(Sign(), node.inputs[0]), _spread(build, node, upstream)),)


@gradient(CumSum)
def cumsum_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """The running sums from the other end."""
    assert isinstance(node.op, CumSum)
    return (build.add(replace(node.op, reverse=not node.op.reverse), upstream),)


@gradient(ReduceMax, ReduceMin)
def extreme_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """To the element that is taken; where several are, each a share."""
    (x,) = node.inputs
    assert isinstance(node.op, Reduction)
    result = _spread(build, node, node.output)
    is_it = build.add(Equal(), x, result, element=ElementType.BOOL)
    marked = build.add(Select(), is_it, build.number(1.0), build.number(0.0))
    marked = build.broadcast(marked, x.type.shape)
    count = build.sum(marked, node.op.axes, keep_dims=True)
    share = build.add(Div(), _spread(build, node, upstream), count)
    return (build.times(marked, share),)
