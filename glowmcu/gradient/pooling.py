"""Gradients of poolings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import gradient
from glowmcu.gradient.windows import Pair, Windows
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.types import ElementType
from glowmcu.ops.comparison import Equal, Select
from glowmcu.ops.division import Div
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.real import FLOAT_MAX


def _windows(node: Node) -> Windows:
    assert isinstance(node.op, AveragePool2D | MaxPool2D)
    op, out = node.op, node.output.type.shape[1:3]
    return Windows(
        node.inputs[0].type.shape, (out[0], out[1]), op.kernel, op.strides, op.dilations, op.padding
    )


@gradient(AveragePool2D)
def average_pool_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """Each element of a window its share."""
    op = node.op
    assert isinstance(op, AveragePool2D)
    (x,) = node.inputs
    given = build.through_clamp(node.output, op.clamp, upstream)
    counts = op.window_counts(x.type)
    shares = build.times(given, build.constant(np.asarray(1.0 / counts, np.float32)))
    if node.output.type.shape[1:3] == (1, 1) and counts.max() == x.type.shape[1] * x.type.shape[2]:
        return (build.broadcast(shares, x.type.shape),)
    windows = _windows(node)
    return (windows.gathered(build, lambda _: shares),)


@gradient(MaxPool2D)
def max_pool_gradient(build: Builder, node: Node, upstream: Value) -> Sequence[Value]:
    """To the greatest element of a window; where several are, each a share."""
    op = node.op
    assert isinstance(op, MaxPool2D)
    windows, (x,) = _windows(node), node.inputs
    given = build.through_clamp(node.output, op.clamp, upstream)
    padded = windows.padded(build, x, -FLOAT_MAX)
    one, zero = build.number(1.0), build.number(0.0)

    def is_greatest(tap: Pair) -> Value:
        seen = windows.seen(build, padded, tap)
        is_it = build.add(Equal(), seen, node.output, element=ElementType.BOOL)
        return build.add(Select(), is_it, one, zero)

    count: Value | None = None
    for tap in windows.taps:
        marked = is_greatest(tap)
        count = marked if count is None else build.plus(count, marked)
    assert count is not None
    # In a window whose maximum was clamped none is equal to the result, and nothing is given.
    share = build.add(Div(), given, build.add(Select(), build.greater(count, zero), count, one))
    return (windows.gathered(build, lambda tap: build.times(share, is_greatest(tap))),)
