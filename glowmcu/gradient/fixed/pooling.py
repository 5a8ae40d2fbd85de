"""Gradients in fixed point of poolings of windows."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.gradient.fixed.builder import FixedBuilder, FixedGradient
from glowmcu.gradient.fixed.elementwise import open_bounds
from glowmcu.gradient.fixed.rules import fixed_gradient
from glowmcu.gradient.rules import NoGradient
from glowmcu.ir.graph import Node
from glowmcu.ir.operation import OperationError
from glowmcu.ops.pooling import MaxPool2D
from glowmcu.ops.pooling_gradient import MaxPoolGradient


@fixed_gradient(MaxPool2D)
def max_pool_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """All of a window's to its first greatest element, nothing at bounds of an activation."""
    op, (x,), out = node.op, node.inputs, node.output
    assert isinstance(op, MaxPool2D)
    bounds: tuple[int | None, int | None] = (None, None)
    if op.clamp is not None:
        bounds = open_bounds((int(op.clamp[0]), int(op.clamp[1])), out.type)
    found = build.requantized(given, out, (1.0,), bounds, given.bits)
    made = MaxPoolGradient(op.kernel, op.strides, op.dilations, op.padding)
    try:
        result = build.gradient(made, (found.numbers, found.common, x), found.scale, made.bits)
    except OperationError as cause:
        raise NoGradient(f"{op.name} of {x.type}, in fixed point") from cause
    if build.nodes[-1].type_fault is not None:
        raise NoGradient(f"{op.name} with {made.meeting} windows that an element is in")
    return (result,)
