"""What constants of layers come from, as the `source` of a constant's node says it.

Constants that were one, which each layer stores at scales of its own, can so learn as one. Equal
ones of a file, which became one constant, learn apart. Zeros where the model has no bias are no
parameter of it.
"""

from __future__ import annotations

from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.operation import Constant

_SHARED = "shared constant"
#: Of zeros where the model has no bias.
NO_BIAS = "no bias"
#: Of one that stands for equal ones.
EQUAL = "equal constants"


def source_of_stored(graph: Graph, value: Value) -> str:
    """For what is stored of a constant of `graph`; empty for a parameter that one node reads, and
    for zeros.
    """
    source = graph.producers[value].source
    if source in (NO_BIAS, EQUAL):
        return source
    if stands_for_several(graph, value) or len(graph.users[value]) < 2:
        return ""
    return f"{_SHARED} {graph.nodes.index(graph.producers[value])}: {value.name}"


def stands_for_several(graph: Graph, value: Value) -> bool:
    """Whether it is each reader's own: zeros of two layers, which a file has alike before it was
    trained, some converters store once.
    """
    node = graph.producers[value]
    return node.source == EQUAL or (isinstance(node.op, Constant) and not node.op.data.any())


def no_bias(graph: Graph, value: Value) -> str:
    """`NO_BIAS` for a constant where the model has no bias, else empty: for what is made of it."""
    return NO_BIAS if graph.producers[value].source == NO_BIAS else ""


def origin_of(graph: Graph, value: Value) -> Value | str:
    """The same for constants that were one of this shape; else the constant itself."""
    source = graph.producers[value].source
    return f"{source} {value.type.shape}" if source.startswith(_SHARED) else value
