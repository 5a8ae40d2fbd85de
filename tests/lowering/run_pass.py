"""What every test of a pass does: run it, and prove that the meaning is the same."""

from __future__ import annotations

from collections.abc import Callable

from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from tests.ir.graphs import random_arrays

Pass = Callable[[Graph], Graph]
TO_NCHW, TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)


def names(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes]


def expect_same_meaning(before: Graph, after: Graph) -> None:
    after.verify()
    assert [v.name for v in after.outputs] == [v.name for v in before.outputs]
    for seed in range(3):
        inputs = random_arrays(before.inputs, seed)
        for want, got in zip(run_graph(before, inputs), run_graph(after, inputs), strict=True):
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            assert got.tobytes() == want.tobytes()


def run(run_pass: Pass, graph: Graph) -> Graph:
    """The graph after a pass that must keep its meaning, and find nothing more when run again."""
    after = run_pass(graph)
    expect_same_meaning(graph, after)
    assert run_pass(after) is after
    return after
