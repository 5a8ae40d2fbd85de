"""What constants of layers come from, as the `source` of a constant's node says it.

Constants that were one, which each layer stores at scales of its own, can so learn as one. Zeros
where the model has no bias are no parameter of it.
"""

from __future__ import annotations

from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.operation import Constant

_SHARED = "shared constant"
#: Of zeros where the model has no bias.
NO_BIAS = "no bias"


def source_of_stored(graph: Graph, value: Value) -> str:
    """For what is stored of a constant of `graph`; empty for a parameter that one node reads, and
    for zeros: two layers' own, which a file has alike before it was trained, became one constant.
    """
    op = graph.producers[value].op
    are_zeros = isinstance(op, Constant) and not op.data.any()
    if no_bias(graph, value) or are_zeros or len(graph.users[value]) < 2:
        return no_bias(graph, value)
    return f"{_SHARED} {graph.nodes.index(graph.producers[value])}: {value.name}"


def no_bias(graph: Graph, value: Value) -> str:
    """`NO_BIAS` for a constant where the model has no bias, else empty: for what is made of it."""
    return NO_BIAS if graph.producers[value].source == NO_BIAS else ""


def origin_of(graph: Graph, value: Value) -> Value | str:
    """The same for constants that were one of this shape; else the constant itself."""
    source = graph.producers[value].source
    return f"{source} {value.type.shape}" if source.startswith(_SHARED) else value
