"""A model that learns if somebody asks for it: what makes one is imported only then."""

from __future__ import annotations

from glowmcu.ir.graph import Graph
from glowmcu.training import Training


def with_training(graph: Graph, training: Training | None, file_name: str) -> Graph:
    """`graph`, that learns if it is to. Raises GM360 to GM363."""
    if training is None:
        return graph
    from glowmcu.learning.training_graph import with_training as learning

    return learning(graph, training, file_name)
