"""States that no result depends on go, with what computes them: also those that feed only each
other.
"""

from __future__ import annotations

from dataclasses import replace

from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.rewriting import remove_dead_nodes


def run(graph: Graph) -> Graph:
    """The graph with the states that matter."""
    if not graph.states:
        return graph
    assigned = {
        state.value: value for state, value in zip(graph.states, graph.assigned, strict=True)
    }
    live: set[Value] = set()
    todo = [*graph.results, *(state.value for state in graph.states if state.shared)]
    while todo:
        value = todo.pop()
        if value in live:
            continue
        live.add(value)
        if value in graph.producers:
            todo += graph.producers[value].inputs
        elif value in assigned:
            todo.append(assigned[value])
    states = tuple(state for state in graph.states if state.value in live)
    if len(states) == len(graph.states):
        return graph
    return remove_dead_nodes(
        replace(
            graph,
            inputs=(*graph.arguments, *(state.value for state in states)),
            outputs=(*graph.results, *(assigned[state.value] for state in states)),
            states=states,
        )
    )
