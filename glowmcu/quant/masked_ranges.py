"""Ranges of what a mask forbids: `x + mask` and `where(…, mask, x)` in front of a softmax.

Exporters write -1e9, or less, where a softmax is to give nothing. A scale that spans it would
leave one step for all of `x`: a mask is as good `_BELOW` all of `x`, for exp(-8) = 0.0003.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from glowmcu.ir.graph import Graph, Node, Value, evaluate_node
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.ops.comparison import Select
from glowmcu.ops.elementwise import Add
from glowmcu.ops.normalization import Softmax
from glowmcu.quant.ranges import Range

#: No score of a network is so low.
_NEVER = -1000.0
_BELOW = 8.0


@dataclass(frozen=True)
class _Masked:
    """What a softmax reads, `maker`'s result: of `scores` some are forbidden by `mask`."""

    maker: Node
    mask: Value
    data: Array
    scores: Value


def masked_ranges(graph: Graph, measured: Callable[[Value], Range]) -> dict[Value, Range]:
    """Ranges of masked values in front of a softmax, of their masks and what those are made of."""
    by_mask: dict[Value, list[_Masked]] = {}
    for node in graph.nodes:
        found = _masked(graph, node) if isinstance(node.op, Softmax) else None
        if found is not None:
            by_mask.setdefault(found.mask, []).append(found)
    ranges: dict[Value, Range] = {}
    for mask, uses in by_mask.items():
        made_of = _made_of(graph, mask, [use.maker for use in uses])
        floors = []
        for use in uses if made_of else ():
            kept = use.data[use.data > _NEVER]
            low, high = measured(use.scores)
            floors.append(low - _BELOW)
            if isinstance(use.maker.op, Add):
                low += float(kept.min()) if kept.size else 0.0
                high += float(kept.max()) if kept.size else 0.0
                floors[-1] = low - _BELOW - high
            ranges[use.maker.output] = low - _BELOW, high
        for value in made_of:
            least, most = measured(value)
            floor = min(floors)
            ranges[value] = max(least, floor), max(most, floor)
    return ranges


def _masked(graph: Graph, softmax: Node) -> _Masked | None:
    (value,) = softmax.inputs
    maker = graph.producers.get(value)
    if maker is None or value in graph.outputs or graph.users[value] != [softmax]:
        return None
    if not isinstance(maker.op, Add | Select):
        return None
    one, two = maker.inputs[-2:]
    for mask, scores in ((one, two), (two, one)):
        data = _known(graph, mask)
        if data is not None and data.size and data.min() <= _NEVER:
            return _Masked(maker, mask, data, scores)
    return None


def _known(graph: Graph, value: Value) -> Array | None:
    """What the value is if it is made of constants alone."""
    data = graph.constant_data(value)
    node = graph.producers.get(value)
    if data is not None or node is None:
        return data
    operands = [_known(graph, operand) for operand in node.inputs]
    known = [operand for operand in operands if operand is not None]
    if len(known) < max(len(operands), 1) or node.op.inner_graphs():
        return None
    return evaluate_node(node, known, graph.rounding)[node.outputs.index(value)]


def _made_of(graph: Graph, mask: Value, readers: list[Node]) -> list[Value]:
    """The real numbers that the mask is made of, itself first; none where others read them."""
    found, todo, nodes = [], [mask], [*readers]
    while todo:
        value = todo.pop()
        if value in graph.outputs or any(user not in nodes for user in graph.users[value]):
            return []
        found.append(value)
        maker = graph.producers[value]
        nodes.append(maker)
        todo += [each for each in maker.inputs if each.type.element is ElementType.F32]
    return found
