"""Gradients in fixed point of what only moves elements: their numbers move back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.gradient.fixed.builder import FixedBuilder, FixedGradient, ratio
from glowmcu.gradient.fixed.rules import fixed_gradient
from glowmcu.gradient.rules import NoGradient, rule_of
from glowmcu.ir.graph import Node
from glowmcu.ops.axis_gradient import MOST_MEETING, GatherGradient
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.padding import Pad
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.space import DepthToSpace, SpaceToDepth
from glowmcu.ops.transpose import Reverse, Transpose


@fixed_gradient(Concatenation, DepthToSpace, Pad, Reverse, Slice, SpaceToDepth, Transpose)
def movement_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """As real numbers move; the peak of all bounds that of a part."""
    whole = build.whole(given, node.output)
    parts = rule_of(node.op)(build.of_numbers(), node, [whole.numbers])
    return [
        None if part is None else replace(whole, numbers=part, scale=whole.scale * ratio(node, at))
        for at, part in enumerate(parts)
    ]


def as_slices(node: Node) -> Sequence[Node]:
    """What a node is for gradients: of a split, its parts."""
    op = node.op
    if not isinstance(op, Split):
        return (node,)
    shape, start, found = node.inputs[0].type.shape, 0, list[Node]()
    for size, out in zip(op.sizes, node.outputs, strict=True):
        begin = tuple(start if axis == op.axis else 0 for axis in range(len(shape)))
        part = (*shape[: op.axis], size, *shape[op.axis + 1 :])
        if out.type.shape == part:
            made = Slice(begin, part, (1,) * len(shape))
            found.append(replace(node, op=made, outputs=(out,)))
        start += size
    return found


@fixed_gradient(Gather)
def gather_gradient(
    build: FixedBuilder, node: Node, given: FixedGradient
) -> Sequence[FixedGradient | None]:
    """Slices are added where they came from."""
    op, (x, indices) = node.op, node.inputs
    assert isinstance(op, Gather)
    made = GatherGradient(op.axis, op.batch_dims, x.type.shape[op.axis])
    if made.meeting(indices.type) > MOST_MEETING:
        raise NoGradient(f"{op.name} of {made.meeting(indices.type)} slices")
    whole = build.whole(given, node.output)
    inputs = (whole.numbers, whole.common, indices)
    return build.gradient(made, inputs, whole.scale * ratio(node), made.bits), None
