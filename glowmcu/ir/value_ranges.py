"""Interval analysis: what every value of a graph can hold, by the operators' own rules."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value, evaluate_node
from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.value_range import ValueRange, full_range, range_of_data
from glowmcu.lazy_dataclass import dataclass

ValueRanges = Mapping[Value, ValueRange | None]

#: A result of unchanging operands is evaluated if it has at most this many elements.
_MOST_EVALUATED = 1 << 20


def value_ranges(graph: Graph) -> ValueRanges:
    """The range of every value; None if the element type has none."""
    ranges: dict[Value, ValueRange | None] = {}
    for value in graph.inputs:
        ranges[value] = full_range(value.type)
    for node in graph.nodes:
        constants = tuple(graph.constant_data(value) for value in node.inputs)
        operands = tuple(ranges[value] for value in node.inputs)
        rounding = node.op.rounding_in(graph.rounding)
        known = _KNOWN.get(node)
        if known is None or not known.is_of(operands, constants, rounding):
            results = _results(node, operands, constants, rounding)
            known = _KNOWN[node] = _Known(operands, constants, rounding, results)
        ranges.update(zip(node.outputs, known.results, strict=True))
    return ranges


@dataclass(frozen=True, eq=False)
class _Known:
    """Ranges of a node's results, with the operands that they were found from."""

    operands: tuple[ValueRange | None, ...]
    constants: tuple[Array | None, ...]
    rounding: Rounding
    results: tuple[ValueRange | None, ...]

    def is_of(
        self,
        operands: Sequence[ValueRange | None],
        constants: Sequence[Array | None],
        rounding: Rounding,
    ) -> bool:
        """Whether it would be found again. Constants are compared by identity."""
        return (
            self.rounding is rounding
            and all(map(operator.is_, self.constants, constants))
            and all(map(_is_same, self.operands, operands))
        )


#: Passes ask again and again, after each change of a few nodes.
_KNOWN: WeakKeyDictionary[Node, _Known] = WeakKeyDictionary()


def _is_same(a: ValueRange | None, b: ValueRange | None) -> bool:
    if a is b or a is None or b is None:
        return a is b
    return np.array_equal(a.low, b.low) and np.array_equal(a.high, b.high)


def _results(
    node: Node,
    operands: Sequence[ValueRange | None],
    constants: Sequence[Array | None],
    rounding: Rounding,
) -> tuple[ValueRange | None, ...]:
    found = _evaluated(node, operands, constants, rounding)
    if found is None:
        return node.op.output_ranges(operands, constants, node.signature, rounding)
    return found


def _evaluated(
    node: Node,
    operands: Sequence[ValueRange | None],
    constants: Sequence[Array | None],
    rounding: Rounding,
) -> tuple[ValueRange | None, ...] | None:
    """Ranges of a node whose operands never change: no rule is as exact as its meaning."""
    types = [value.type for value in (*node.inputs, *node.outputs)]
    if not node.inputs or any(not 0 < type_.element_count <= _MOST_EVALUATED for type_ in types):
        return None
    tensors: list[Array] = []
    for value, range_, data in zip(node.inputs, operands, constants, strict=True):
        if data is None and (range_ is None or not range_.is_constant.all()):
            return None
        tensors.append(_tensor(value, range_) if data is None else data)
    return tuple(
        None if full_range(value.type) is None else range_of_data(result)
        for value, result in zip(node.outputs, evaluate_node(node, tensors, rounding), strict=True)
    )


def _tensor(value: Value, range_: ValueRange | None) -> Array:
    """The only tensor in a range of one value a channel."""
    assert range_ is not None
    channels = range_.low if value.type.shape else range_.low.reshape(())
    return np.broadcast_to(channels.astype(value.type.element.numpy), value.type.shape)
