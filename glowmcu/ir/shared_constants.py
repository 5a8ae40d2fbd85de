"""Constants that were one: each layer stores what it reads at scales of its own.

The `source` of a constant's node says which it was, so that those that were one can learn as one.
"""

from __future__ import annotations

from glowmcu.ir.graph import Graph, Value

_SHARED = "shared constant"


def shared_source(graph: Graph, value: Value) -> str:
    """For what is stored of a constant of `graph`; empty where one node alone reads it."""
    if len(graph.users[value]) < 2:
        return ""
    return f"{_SHARED} {graph.nodes.index(graph.producers[value])}: {value.name}"


def origin_of(graph: Graph, value: Value) -> Value | str:
    """The same for constants that were one of this shape; else the constant itself."""
    source = graph.producers[value].source
    return f"{source} {value.type.shape}" if source.startswith(_SHARED) else value
