"""Graphs of stages at rates of their own: what the verifier refuses, and when stages compute."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.ir.graph import Graph, Node, Rate, State, Value, VerificationError
from glowmcu.ir.interpreter import Session
from glowmcu.ops.elementwise import Add
from tests.ir.graphs import int8


def two_stages() -> Graph:
    """Each stage adds the input to a state of its own; the second one every third run."""
    x = Value(int8(1, 4), "x")
    olds = [Value(x.type, f"old{number}") for number in range(2)]
    news = [Value(x.type, f"new{number}") for number in range(2)]
    nodes = (
        Node(Add(), (x, olds[0]), (news[0],), "first", stage=0),
        Node(Add(), (news[0], olds[1]), (news[1],), "second", stage=1),
    )
    states = tuple(State(value, np.zeros((1, 4), np.int8)) for value in olds)
    rates = (Rate("first", 0, 1), Rate("second", 2, 3))
    return Graph("main", (x, *olds), nodes, (news[1], *news), states=states, rates=rates)


def test_a_stage_that_is_not_due_leaves_its_state() -> None:
    graph = two_stages()
    graph.verify()
    session, seen = Session(graph), []
    for _ in range(7):
        seen.append(session.run([np.ones((1, 4), np.int8)])[0].copy())
    changed = [k for k in range(1, 7) if not np.array_equal(seen[k], seen[k - 1])]
    assert changed == [2, 5]
    session.reset()
    assert np.array_equal(session.run([np.ones((1, 4), np.int8)])[0], seen[0])


def test_what_is_not_there_in_every_run_is_read_by_its_own_stage_alone() -> None:
    graph = two_stages()
    between = Value(int8(1, 4), "between")
    late = replace(graph.nodes[1], inputs=(between, graph.nodes[1].inputs[1]))
    made = Node(Add(), (graph.inputs[0], graph.inputs[0]), (between,), "made", stage=1)
    rates = (*graph.rates, Rate("third", 2, 3))
    inside = replace(graph, nodes=(graph.nodes[0], made, late), rates=rates)
    inside.verify()
    across = replace(inside, nodes=(graph.nodes[0], made, replace(late, stage=2)))
    with pytest.raises(VerificationError, match="'between' is read by another stage"):
        across.verify()


def test_other_graphs_of_rates_that_are_none() -> None:
    graph = two_stages()
    first, second = graph.nodes
    extra = Value(int8(1, 4), "extra")
    news = graph.outputs[1:]
    reader = Node(Add(), (graph.inputs[1], graph.inputs[0]), (extra,), "reader", stage=1)
    alone = Node(Add(), (graph.inputs[0], graph.inputs[0]), (extra,), "alone", stage=1)
    for wrong, said in (
        (replace(graph, rates=()), "a stage that has no rate"),
        (replace(graph, rates=graph.rates[:1]), "a stage that has no rate"),
        (replace(graph, nodes=(first, reader, second)), "two stages read and assign"),
        (replace(graph, nodes=(first, second, alone), outputs=(extra, *news)), "no state"),
    ):
        with pytest.raises(VerificationError, match=said):
            wrong.verify()
