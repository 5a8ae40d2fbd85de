"""Runs that end early: what comes after an operator that says so does not happen in them.

Everything is computed in every run. In one that ended early, states that are assigned later stay
what they were (`GraphBuilder.assign`), and outputs that are computed later are those of the last
run that went on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.frontend.graph_builder import GraphBuilder
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.comparison import LogicalAnd

_TRUTH = TensorType((), ElementType.BOOL)


def first_value(type_: TensorType) -> Array:
    """What a state begins with unless something is said: zeros, of int8 the zero point."""
    is_int8 = type_.element is ElementType.I8 and type_.quantization is not None
    return np.full(type_.shape, type_.zero_point if is_int8 else 0, type_.element.numpy)


def end_unless(builder: GraphBuilder, condition: Value, source: str) -> None:
    """From here on a run goes on only where the condition holds."""
    if builder.goes_on:
        both = [builder.goes_on[-1][1], condition]
        (condition,) = builder.add_node(
            LogicalAnd(), both, [_TRUTH], [f"{condition.name}/all"], source
        )
    builder.goes_on.append((len(builder.nodes), condition))


def held(builder: GraphBuilder, outputs: Sequence[Value]) -> list[Value]:
    """The model's outputs; those that come after the end of a run as the last whole run left them,
    at the beginning of a stream as `first_value`.
    """
    ends = tuple(builder.goes_on)
    producers = {value: index for index, node in enumerate(builder.nodes) for value in node.outputs}
    kept: dict[Value, Value] = {}
    for output in dict.fromkeys(outputs):
        before = [condition for first, condition in ends if producers.get(output, -1) >= first]
        kept[output] = output
        if before:
            last = builder.add_state(f"{output.name}/last", output.type, first_value(output.type))
            kept[output] = builder.chosen(before[-1], output, last)
            (state,) = (item for item in builder.states if item.value is last)
            builder.states[state] = kept[output]
    return [kept[output] for output in outputs]
