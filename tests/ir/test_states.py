"""States of a graph: rules, runs one after the other, and the text of both IRs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.ir.equality import same_graph
from glowmcu.ir.graph import Graph, Node, State, Value, VerificationError
from glowmcu.ir.interpreter import Session, run_graph
from glowmcu.ir.text import parse_graph, parse_program, print_graph, print_program
from glowmcu.ir.verify_program import verify_program
from glowmcu.ops.elementwise import Add
from glowmcu.ops.registry import load_operations
from glowmcu.pipeline import compile_model, reference_graph
from tests.ir.graphs import int8
from tests.support.stream_models import random_stream_model

OPERATIONS = load_operations()


def running_sum(initial: int = 5) -> Graph:
    """`total` becomes `total + x`, which is the result as well."""
    x, total, after = (Value(int8(1, 4), name) for name in ("x", "total", "after"))
    state = State(total, np.full((1, 4), initial, np.int8))
    node = Node(Add(), (x, total), (after,), "add")
    return Graph("main", (x, total), (node,), (after, after), states=(state,))


def test_a_state_is_what_the_run_before_left() -> None:
    session, x = Session(running_sum()), np.full((1, 4), 3, np.int8)
    assert [int(session.run([x])[0][0, 0]) for _ in range(4)] == [
        11,
        17,
        23,
        29,
    ]  # the zero point is -3
    session.reset()
    assert int(session.run([x])[0][0, 0]) == 11


def test_arguments_and_results_are_without_states() -> None:
    graph = running_sum()
    assert [value.name for value in graph.arguments] == ["x"]
    assert [value.name for value in graph.results] == ["after"]
    assert [value.name for value in graph.assigned] == ["after"]
    assert len(run_graph(graph, [np.zeros((1, 4), np.int8)] * 2)) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda g: replace(g, inputs=g.inputs[::-1]), "not the last inputs"),
        (lambda g: replace(g, outputs=()), "not the last inputs"),
        (lambda g: replace(g, states=(State(g.states[0].value, np.zeros(4, np.int8)),)), "begins"),
        (
            lambda g: replace(g, states=(State(g.states[0].value, np.zeros((1, 4), np.int16)),)),
            "begins",
        ),
        (lambda g: replace(g, outputs=(g.outputs[0], _other(g))), "never computed"),
    ],
)
def test_a_graph_with_wrong_states_does_not_verify(change: object, said: str) -> None:
    graph = change(running_sum())  # type: ignore[operator]
    with pytest.raises(VerificationError, match=said):
        graph.verify()


def _other(graph: Graph) -> Value:
    return Value(graph.outputs[0].type, "other")


def test_a_state_becomes_a_value_of_its_type() -> None:
    x, total = Value(int8(1, 2), "x"), Value(int8(1, 4), "total")
    state = State(total, np.zeros((1, 4), np.int8))
    graph = Graph("main", (x, total), (), (x, x), states=(state,))
    with pytest.raises(VerificationError, match="becomes"):
        graph.verify()


@pytest.mark.parametrize("seed", [0, 3, 6])
def test_the_text_of_a_graph_keeps_its_states(seed: int) -> None:
    graph = reference_graph(random_stream_model(seed), "m.tflite")
    assert graph.states
    text = print_graph(graph)
    again = parse_graph(text, OPERATIONS)
    assert same_graph(graph, again)
    assert print_graph(again) == text
    other = replace(graph.states[0], initial=graph.states[0].initial ^ 1)
    assert not same_graph(graph, replace(graph, states=(other, *graph.states[1:])))


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("glowmcu.states = [dense<", "glowmcu.states = 5 : i64, glowmcu.x = [dense<", "GM214"),
        ("glowmcu.states = [", "glowmcu.states = [dense<[0]> : tensor<1xi8>, ", "GM218"),
        ("tensor<1x4xi8>]", "tensor<2x2xi8>]", "GM218"),
    ],
)
def test_a_text_with_wrong_states_is_refused(old: str, new: str, code: str) -> None:
    text = print_graph(running_sum())
    if code == "GM218" and "2x2" in new:
        text = text.replace("[[5, 5, 5, 5]]", "[[5, 5], [5, 5]]")
    assert old in text
    with pytest.raises(GlowmcuError) as caught:
        parse_graph(text.replace(old, new), OPERATIONS)
    assert caught.value.code == code


def test_the_text_of_a_program_keeps_its_states() -> None:
    plan = compile_model(random_stream_model(6), "m.tflite", Options("m")).plan
    assert plan.program.states
    text = print_program(plan.program)
    again = parse_program(text, OPERATIONS)
    verify_program(again, plan.arena_bytes)
    assert print_program(again) == text
    assert [s.initial.tolist() for s in again.states] == [
        s.initial.tolist() for s in plan.program.states
    ]


def test_a_program_whose_state_is_updated_elsewhere_does_not_verify() -> None:
    plan = compile_model(random_stream_model(6), "m.tflite", Options("m")).plan
    first, second, *others = plan.program.states
    crossed = (replace(first, updated=second.updated), replace(second, updated=first.updated))
    with pytest.raises(VerificationError, match="not updated where it is"):
        verify_program(replace(plan.program, states=(*crossed, *others)), plan.arena_bytes)
