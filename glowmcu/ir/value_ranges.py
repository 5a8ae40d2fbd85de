"""Interval analysis: what every value of a graph can hold, by the operators' own rules."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.value_range import ValueRange, full_range

ValueRanges = Mapping[Value, ValueRange | None]


def value_ranges(graph: Graph) -> ValueRanges:
    """The range of every value; None where the element type has none."""
    ranges: dict[Value, ValueRange | None] = {}
    for value in graph.inputs:
        ranges[value] = full_range(value.type)
    for node in graph.nodes:
        constants = tuple(graph.constant_data(value) for value in node.inputs)
        operands = tuple(ranges[value] for value in node.inputs)
        results = node.op.output_ranges(operands, constants, node.signature, graph.rounding)
        ranges.update(zip(node.outputs, results, strict=True))
    return ranges
