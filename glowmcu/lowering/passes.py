"""The lowering passes, in order."""

from __future__ import annotations

from collections.abc import Callable

from glowmcu.ir.graph import Graph
from glowmcu.lowering import lower_to_tables

Pass = Callable[[Graph], Graph]

PASSES: tuple[tuple[str, Pass], ...] = (("lower_to_tables", lower_to_tables.run),)


def lower(graph: Graph) -> Graph:
    """Run every pass, verifying after each."""
    for _, run in PASSES:
        graph = run(graph)
        graph.verify()
    return graph
