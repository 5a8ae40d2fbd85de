"""Where nodes of a graph are drawn."""

from __future__ import annotations

import random
import sys

import pytest

from glowmcu.report.graph_layout import HEIGHT, WIDTH, layout


def random_edges(node_count: int, seed: int) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    edges = [
        (rng.randrange(max(0, i - 6), i), i) for i in range(1, node_count) if rng.random() < 0.9
    ]
    more = ((rng.randrange(i), i) for i in range(1, node_count) if rng.random() < 0.2)
    return sorted({*edges, *more})


@pytest.mark.parametrize("seed", range(12))
def test_no_boxes_overlap_and_edges_lead_downwards_inside_the_picture(seed: int) -> None:
    node_count = 3 + 5 * seed
    edges = random_edges(node_count, seed)
    found = layout(node_count, edges)
    for i, (x, y) in enumerate(found.corners):
        assert 0 <= x <= found.width - WIDTH
        assert 0 <= y <= found.height - HEIGHT
        for other_x, other_y in found.corners[:i]:
            assert abs(x - other_x) >= WIDTH or abs(y - other_y) >= HEIGHT
    for (a, b), path in zip(edges, found.paths, strict=True):
        assert found.corners[a][1] + HEIGHT == path[0][1] < path[-1][1] == found.corners[b][1]
        assert all(0 <= x <= found.width and 0 <= y <= found.height for x, y in path)


def test_a_path_longer_than_the_stack_of_python_is_drawn() -> None:
    node_count = sys.getrecursionlimit() + 100
    found = layout(node_count, [(i, i + 1) for i in range(node_count - 1)])
    assert len({y for _, y in found.corners}) == node_count


@pytest.mark.parametrize("node_count", [40, 90, 150])
def test_the_same_graph_is_drawn_the_same_wherever_its_objects_lie(node_count: int) -> None:
    edges = random_edges(node_count, 7)
    first = layout(node_count, edges)
    for held in range(4):
        elsewhere = [object() for _ in range(1000 * held)]
        assert layout(node_count, edges) == first
        assert len(elsewhere) == 1000 * held


def test_a_graph_of_nothing_and_one_of_single_nodes() -> None:
    assert layout(0, []).corners == ()
    (left, _), (right, _) = layout(2, []).corners
    assert abs(left - right) >= WIDTH
