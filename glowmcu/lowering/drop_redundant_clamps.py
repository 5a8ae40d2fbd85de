"""Limits that no value ever reaches go: of fused activations, tables, maxima and minima.

Interval analysis says what can come. A clamp is widened to its type's limits on the side where it
never binds; a table, clip, maximum or minimum that hands on every value that comes is no node.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Operation
from glowmcu.ir.rewriting import remove_dead_nodes
from glowmcu.ir.value_range import ValueRange
from glowmcu.ir.value_ranges import ValueRanges, value_ranges
from glowmcu.ops.activation import Clip
from glowmcu.ops.elementwise import Maximum, Minimum
from glowmcu.ops.lookup import Lookup


def run(graph: Graph) -> Graph:
    """The graph without clamps that change nothing."""
    ranges = value_ranges(graph)
    renamed: dict[Value, Value] = {}
    nodes: list[Node] = []
    changed = False
    for node in graph.nodes:
        same = _handed_on(node, ranges)
        if same is not None and node.output not in graph.outputs:
            renamed[node.output] = renamed.get(same, same)
            continue
        inputs = tuple(renamed.get(value, value) for value in node.inputs)
        op = _without_clamp(graph, node, ranges) or node.op
        if op is node.op and inputs == node.inputs:
            nodes.append(node)
        else:
            nodes.append(replace(node, op=op, inputs=inputs))
            changed = True
    return remove_dead_nodes(graph.replace(nodes)) if changed or renamed else graph


def _handed_on(node: Node, ranges: ValueRanges) -> Value | None:
    """The operand that the result always equals, or None."""
    op = node.op
    if isinstance(op, Maximum | Minimum):
        a, b = node.inputs
        for x, other in ((a, b), (b, a)):
            if x.type == node.output.type and _never_beyond(op, ranges[x], ranges[other]):
                return x
        return None
    if not isinstance(op, Clip | Lookup) or node.inputs[0].type != node.output.type:
        return None
    x_range = ranges[node.inputs[0]]
    if x_range is None or not x_range.low.size:
        return None
    values = np.arange(x_range.low.min(), x_range.high.max() + 1)
    stored = values.astype(node.output.type.element.numpy)
    results: Array = op.table[values & 0xFF] if isinstance(op, Lookup) else stored.clip(*op.clamp)
    return node.inputs[0] if (results == stored).all() else None


def _never_beyond(op: Maximum | Minimum, x: ValueRange | None, other: ValueRange | None) -> bool:
    """Whether `x` is the extreme of both in every channel."""
    if x is None or other is None:
        return False
    if isinstance(op, Maximum):
        return bool((x.low >= other.high).all())
    return bool((x.high <= other.low).all())


def _without_clamp(graph: Graph, node: Node, ranges: ValueRanges) -> Operation | None:
    """The operator with its clamp as wide as makes no difference; None if it stays."""
    op: Any = node.op
    optional = any(field.name == "clamp" and field.default is None for field in fields(op))
    if not optional or op.clamp is None or node.output.type.element.is_float:
        return None
    unclamped: Operation = replace(op, clamp=None)
    constants = [graph.constant_data(value) for value in node.inputs]
    operands = [ranges[value] for value in node.inputs]
    rounding = op.rounding_in(graph.rounding)
    (range_,) = unclamped.output_ranges(operands, constants, node.signature, rounding)
    if range_ is None or not range_.low.size:
        return None
    lowest, highest = node.output.type.element.limits
    low, high = op.clamp_range(node.signature)
    wide = (
        lowest if range_.low.min() >= low else low,
        highest if range_.high.max() <= high else high,
    )
    if wide == (lowest, highest):
        return unclamped
    widened: Operation = replace(op, clamp=wide)
    return widened if wide != (low, high) else None
