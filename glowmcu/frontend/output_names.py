"""Outputs called as in the file, also where several nodes stand for the one that makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ops.shape import Reshape


def with_output_names(graph: Graph, names: Sequence[str]) -> Graph:
    """`graph` with its results called `names`.

    One that is an input or another output as well is handed on under its name.
    """
    renamed: dict[Value, Value] = {}
    results: list[Value] = []
    is_named: set[Value] = set()
    handed_on: list[Node] = []
    for value, name in zip(graph.results, names, strict=True):
        result = renamed.get(value, value)
        if result.name != name and value in graph.producers and value not in is_named:
            result = renamed[value] = Value(value.type, name)
        elif result.name != name:
            source, result = result, Value(value.type, name)
            handed_on.append(Node(Reshape(value.type.shape), (source,), (result,), name))
        is_named.add(value)
        results.append(result)
    nodes = [
        replace(
            node,
            inputs=tuple(renamed.get(value, value) for value in node.inputs),
            outputs=tuple(renamed.get(value, value) for value in node.outputs),
        )
        for node in graph.nodes
    ]
    assigned = [renamed.get(value, value) for value in graph.assigned]
    return graph.replace((*nodes, *handed_on), outputs=[*results, *assigned])
