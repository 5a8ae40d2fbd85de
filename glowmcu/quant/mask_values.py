"""What a value can be that is made of inputs and constants by few and simple operators: a mask.

Samples may forbid nothing, and then do not show it: it is evaluated where its inputs are at either
end of what was measured, integers and truth values at 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value, evaluate_node
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.quant.ranges import Range


def possible_values(
    graph: Graph, value: Value, measured: Callable[[Value], Range]
) -> Mapping[Value, Array]:
    """The value and the real numbers that it is made of, each with some that it can be, flat and
    finite; nothing if it is the result of products of layers, loops or branches.
    """
    nodes = _made_by(graph, value)
    if nodes is None:
        return {}
    ends = [_evaluated(graph, nodes, measured, is_high) for is_high in (False, True)]
    made_of = {value: None}
    for node in reversed(nodes):
        if not made_of.keys().isdisjoint(node.outputs):
            real = [each for each in node.inputs if each.type.element is ElementType.F32]
            made_of |= dict.fromkeys(real)
    found: dict[Value, Array] = {}
    for each in made_of:
        arrays = [np.asarray(end[each], np.float64).reshape(-1) for end in ends]
        if graph.constant_data(each) is None:
            arrays.append(np.array(measured(each)))
        numbers = np.concatenate(arrays)
        found[each] = numbers[np.isfinite(numbers)]
    return found if all(numbers.size for numbers in found.values()) else {}


def _made_by(graph: Graph, value: Value) -> list[Node] | None:
    """The nodes behind a value in their order; None if one of them multiplies matrices or has
    a graph of its own.
    """
    found, needed = list[Node](), {value}
    for node in reversed(graph.nodes):
        if needed.isdisjoint(node.outputs):
            continue
        if node.macs or node.op.inner_graphs():
            return None
        found.append(node)
        needed.update(node.inputs)
    return found[::-1]


def _evaluated(
    graph: Graph, nodes: list[Node], measured: Callable[[Value], Range], is_high: bool
) -> dict[Value, Array]:
    """Results of the nodes, and what they read, with inputs at one end."""
    arrays: dict[Value, Array] = {}
    for each in graph.inputs:
        low, high = measured(each) if each.type.element is ElementType.F32 else (0.0, 1.0)
        # What was seen to be 1 throughout can be 0: there are two kinds of things to tell apart.
        number = max(high, 1.0 if low >= 0 else 0.0) if is_high else min(low, 0.0)
        arrays[each] = np.full(each.type.shape, number, each.type.element.numpy)
    for node in nodes:
        with np.errstate(all="ignore"):
            results = evaluate_node(node, [arrays[v] for v in node.inputs], graph.rounding)
        arrays.update(zip(node.outputs, results, strict=True))
    return arrays
