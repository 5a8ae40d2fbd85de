"""Drop nodes whose results nobody reads."""

from __future__ import annotations

from glowmcu.ir import rewriting
from glowmcu.ir.graph import Graph


def run(graph: Graph) -> Graph:
    """The graph with only what its outputs need."""
    return rewriting.remove_dead_nodes(graph)
