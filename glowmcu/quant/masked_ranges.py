"""Ranges of what a mask forbids: `x + mask`, `x - mask`, `where(…, mask, x)` before a softmax.

Exporters write -1e9, or less, where a softmax is to give nothing. A scale that spans it would
leave one step for all of `x`: a mask is as good `_BELOW` all of `x`, for exp(-8) = 0.0003. It is
constant, an input, or computed from one, such as (1 - m) * -1e4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Constant
from glowmcu.ir.quantization_rule import ResultRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.comparison import Select
from glowmcu.ops.elementwise import Add, Sub
from glowmcu.ops.normalization import Softmax
from glowmcu.quant.mask_values import possible_values
from glowmcu.quant.ranges import Range

#: No score of a network is so low.
_NEVER = -1000.0
_BELOW = 8.0
_Measured = Callable[[Value], Range]


@dataclass(frozen=True)
class _Step:
    """On the way from `scores` to a softmax: `maker` forbids some by `mask`, or only moves them.

    `made_of` are the real numbers that the mask is made of, with values of each; `kept` is the
    range of what is added to scores that are not forbidden.
    """

    maker: Node
    scores: Value
    mask: Value | None = None
    made_of: Mapping[Value, Array] = field(default_factory=dict)
    kept: Range = (0.0, 0.0)


def masked_ranges(graph: Graph, measured: _Measured) -> dict[Value, Range]:
    """Ranges of masked values in front of a softmax, of their masks and what those are made of."""
    chains = [
        list(_steps(graph, node, measured)) for node in graph.nodes if isinstance(node.op, Softmax)
    ]
    by_mask: dict[Value, list[_Step]] = {}
    for step in (step for chain in chains for step in chain):
        if step.mask is not None:
            by_mask.setdefault(step.mask, []).append(step)
    masks = _owned(graph, by_mask)
    floors: dict[Value, float] = {}
    ranges: dict[Value, Range] = {}
    for chain in chains:
        _follow(chain[::-1], measured, masks, floors, ranges)
    for mask, floor in floors.items():
        for value, numbers in masks[mask].items():
            low, high = _limited(float(numbers.min()), floor), _limited(float(numbers.max()), floor)
            least, most = ranges.get(value, (low, high))
            ranges[value] = min(low, least), max(high, most)
    return ranges


def _steps(graph: Graph, softmax: Node, measured: _Measured) -> Iterator[_Step]:
    """From the softmax back to the scores; what others read, too, ends the way."""
    reader, value = softmax, softmax.inputs[0]
    while value in graph.producers and value not in graph.outputs:
        step = _step(graph, graph.producers[value], measured)
        if step is None or graph.users[value] != [reader]:
            return
        yield step
        reader, value = step.maker, step.scores


def _step(graph: Graph, maker: Node, measured: _Measured) -> _Step | None:
    if isinstance(maker.op, Constant):
        return None
    rule = maker.op.quantization_rule(maker.signature)
    if rule is not None and rule.result is ResultRange.SAME and len(maker.inputs) == 1:
        return _Step(maker, maker.inputs[0])
    if not isinstance(maker.op, Add | Sub | Select):
        return None
    one, two = maker.inputs[-2:]
    is_less = isinstance(maker.op, Sub)
    for mask, scores in [(two, one)] if is_less else [(two, one), (one, two)]:
        made_of = possible_values(graph, mask, measured)
        added = made_of[mask] if mask in made_of else np.zeros(0)
        added = -added if is_less else added
        if (added <= _NEVER).any():
            kept = added[added > _NEVER]
            reach = (float(kept.min()), float(kept.max())) if kept.size else (0.0, 0.0)
            return _Step(maker, scores, mask, made_of, reach)
    return None


def _owned(
    graph: Graph, by_mask: Mapping[Value, Sequence[_Step]]
) -> dict[Value, Mapping[Value, Array]]:
    """Masks whose large numbers nobody else reads, each with what it is made of."""
    owned = {mask: steps[0].made_of for mask, steps in by_mask.items()}
    while True:
        readers = {step.maker for mask in owned for step in by_mask[mask]}
        values = {value for made_of in owned.values() for value in made_of}
        readers |= {graph.producers[value] for value in values if value in graph.producers}
        foreign = {
            value
            for value in values
            if value in graph.outputs or not readers.issuperset(graph.users[value])
        }
        kept = {
            mask: made_of
            for mask, made_of in owned.items()
            if all(_is_small(made_of[value]) for value in foreign.intersection(made_of))
        }
        if len(kept) == len(owned):
            return kept
        owned = kept


def _is_small(numbers: Array) -> bool:
    return bool(np.abs(numbers).max() < -_NEVER)


def _follow(
    chain: Sequence[_Step],
    measured: _Measured,
    masks: Mapping[Value, object],
    floors: dict[Value, float],
    ranges: dict[Value, Range],
) -> None:
    """Ranges on the way from scores to a softmax, and how low each mask has to reach."""
    if not chain:
        return
    low, high = measured(chain[0].scores)
    is_masked = False
    for step in chain:
        result = step.maker.output
        if step.mask is not None and step.mask in masks:
            is_masked = True
            floor = low - _BELOW
            if not isinstance(step.maker.op, Select):
                low, high = low + step.kept[0], high + step.kept[1]
                floor = low - _BELOW - high
            floors[step.mask] = min(floor, floors.get(step.mask, floor))
        elif step.mask is not None:
            low, high = measured(result)
        if is_masked:
            ranges[result] = low - _BELOW, high


def _limited(number: float, floor: float) -> float:
    """A large number no further from zero than is needed."""
    if abs(number) < -_NEVER:
        return number
    return floor if number < 0 else abs(floor)
