"""Regions are convex, connected, maximal, and the same each time."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import given
from hypothesis import strategies as st

from glowmcu.delegation.partition import ordered, regions
from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.elementwise import Add
from glowmcu.ops.shape import Reshape

TYPE = TensorType((1, 4), ElementType.F32)


def graph_of(operands: list[tuple[int, int]], outputs: Collection[int]) -> Graph:
    """Nodes that add two earlier values each, of which value 0 is the input."""
    values = [Value(TYPE, "x")]
    nodes = []
    for number, (a, b) in enumerate(operands):
        result = Value(TYPE, f"v{number + 1}")
        nodes.append(Node(Add(), (values[a], values[b]), (result,), f"n{number}"))
        values.append(result)
    return Graph("g", (values[0],), tuple(nodes), tuple(values[at] for at in outputs))


@st.composite
def divided(draw: st.DrawFn) -> tuple[Graph, list[Node]]:
    count = draw(st.integers(1, 12))
    operands = [
        (draw(st.integers(0, number)), draw(st.integers(0, number))) for number in range(count)
    ]
    graph = graph_of(operands, [count])
    accepted = [node for node in graph.nodes if draw(st.booleans())]
    return graph, accepted


@given(divided())
def test_regions_cover_what_is_accepted_and_wait_for_nothing_behind_them(
    case: tuple[Graph, list[Node]],
) -> None:
    graph, accepted = case
    found = regions(graph, accepted)
    members = [node for group in found for node in group]
    assert sorted(map(id, members)) == sorted(map(id, accepted))
    # An order in which each region is one step.
    done: set[Value] = set(graph.inputs)
    for item in ordered(graph, found):
        group = (item,) if isinstance(item, Node) else item
        inside = {value for node in group for value in node.outputs}
        assert all(value in done or value in inside for node in group for value in node.inputs)
        done |= inside
    assert regions(graph, accepted) == found


@given(divided())
def test_no_two_regions_side_by_side_could_be_one(case: tuple[Graph, list[Node]]) -> None:
    graph, accepted = case
    found = regions(graph, accepted)
    for a in found:
        for b in found:
            touching = any(graph.producers.get(v) in a for node in b for v in node.inputs)
            if a is b or not touching:
                continue
            merged = [group for group in found if group not in (a, b)]
            whole = tuple(node for node in graph.nodes if node in (*a, *b))
            try:
                ordered(graph, [*merged, whole])
            except AssertionError:
                continue
            raise AssertionError(f"{[n.name for n in a]} and {[n.name for n in b]}")


def test_two_regions_that_would_wait_for_each_other_stay_two() -> None:
    # a -> b on the core's side, c -> d back: {a, d} and {b, c} are convex each, not both.
    graph = graph_of([(0, 0), (1, 1), (0, 0), (3, 3), (4, 4), (2, 5)], [6])
    a, b, c, d, _, f = graph.nodes
    found = regions(graph, [a, b, c, d, f])
    assert ordered(graph, found)
    assert (a, b) in [group[:2] for group in found]


def test_what_costs_nothing_is_inside_a_region_or_on_the_core() -> None:
    x = Value(TYPE, "x")
    flat = TensorType((4,), ElementType.F32)
    a, b, c, d = (Value(t, n) for t, n in ((TYPE, "a"), (flat, "b"), (flat, "c"), (TYPE, "d")))
    nodes = (
        Node(Add(), (x, x), (a,), "add"),
        Node(Reshape((4,)), (a,), (b,), "flat"),
        Node(Add(), (b, b), (c,), "again"),
        Node(Reshape((1, 4)), (c,), (d,), "last"),
    )
    graph = Graph("g", (x,), nodes, (d,))
    assert regions(graph, nodes) == [nodes[:3]]
    assert regions(graph, [nodes[1], nodes[3]]) == []


def test_a_region_does_not_read_a_state_after_it_was_assigned() -> None:
    import numpy as np

    x, s = Value(TYPE, "x"), Value(TYPE, "s")
    a, new, late = (Value(TYPE, name) for name in ("a", "new", "late"))
    nodes = (
        Node(Add(), (x, x), (a,), "a"),
        Node(Add(), (a, x), (new,), "new"),
        Node(Add(), (s, a), (late,), "late"),
    )
    state = State(s, np.zeros((1, 4), np.float32))
    graph = Graph("g", (x, s), nodes, (late, new), states=(state,))
    found = regions(graph, [nodes[0], nodes[2]])
    order = [item if isinstance(item, Node) else item[0] for item in ordered(graph, found)]
    assert order.index(nodes[0]) < order.index(nodes[1])
