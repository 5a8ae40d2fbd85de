"""Proved simplification: what no input can change goes, and what nobody reads, to the last bit.

All of it follows from interval analysis (`ir/value_ranges`). Each pass can make room for the others
(a layer that has only constant channels left is a constant), so they take turns until nothing
changes; each turn leaves fewer nodes, channels, clamps or weights that are not 0.
"""

from __future__ import annotations

from collections.abc import Callable

from glowmcu.ir.graph import Graph
from glowmcu.lowering import (
    drop_redundant_clamps,
    fold_constant_channels,
    remove_unread_channels,
    replace_constant_results,
)

SIMPLIFICATIONS: tuple[tuple[str, Callable[[Graph], Graph]], ...] = (
    ("replace_constant_results", replace_constant_results.run),
    ("drop_redundant_clamps", drop_redundant_clamps.run),
    ("fold_constant_channels", fold_constant_channels.run),
    ("remove_unread_channels", remove_unread_channels.run),
)


def run(graph: Graph) -> Graph:
    """The graph that computes no more than its outputs depend on."""
    limit = 10 + len(graph.nodes)
    for _ in range(limit):
        before = graph
        for _, simplification in SIMPLIFICATIONS:
            graph = simplification(graph)
            graph.verify()
        if graph is before:
            return graph
    raise AssertionError(f"{graph.name}: simplifications do not come to an end")
