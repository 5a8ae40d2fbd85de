"""Outputs called as in the file, also where several nodes stand for the one that makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.ir.graph import Graph, Value


def with_output_names(graph: Graph, names: Sequence[str]) -> Graph:
    """`graph` with its results called `names`.

    A value that is an input or another output as well keeps its name.
    """
    renamed: dict[Value, Value] = {}
    for value, name in zip(graph.results, names, strict=True):
        if value in graph.producers and value not in renamed and value.name != name:
            renamed[value] = Value(value.type, name)
    nodes = [
        replace(
            node,
            inputs=tuple(renamed.get(value, value) for value in node.inputs),
            outputs=tuple(renamed.get(value, value) for value in node.outputs),
        )
        for node in graph.nodes
    ]
    return graph.replace(nodes, outputs=[renamed.get(value, value) for value in graph.outputs])
