"""A state that every run leaves as it was is what it began with: a constant."""

from __future__ import annotations

from dataclasses import replace

from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ir.operation import constant
from glowmcu.ops.shape import Reshape


def run(graph: Graph) -> Graph:
    """Constants in place of states that become themselves, in whatever shape on the way."""
    fixed = [
        state
        for state, value in zip(graph.states, graph.assigned, strict=True)
        if _is_fixed(graph, state, value)
    ]
    if not fixed:
        return graph
    nodes = [
        Node(constant(state.initial), (), (state.value,), state.value.name, "state")
        for state in fixed
    ]
    pairs = zip(graph.states, graph.assigned, strict=True)
    left = [(state, value) for state, value in pairs if state not in fixed]
    return replace(
        graph,
        inputs=(*graph.arguments, *(state.value for state, _ in left)),
        nodes=(*nodes, *graph.nodes),
        outputs=(*graph.results, *(value for _, value in left)),
        states=tuple(state for state, _ in left),
    )


def _is_fixed(graph: Graph, state: State, value: Value) -> bool:
    maker = graph.producers.get(value)
    while maker is not None and isinstance(maker.op, Reshape):
        value = maker.inputs[0]
        maker = graph.producers.get(value)
    return value is state.value and not state.shared and not state.is_carried
