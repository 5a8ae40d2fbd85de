"""What a state becomes is written where the state lies: by who makes it, else by a copy as soon as
nobody reads the old value any more.

Who makes it may do so if nobody reads the old value any more, or if it is the maker itself that
reads it and says that it may (`Operation.updates`).
"""

from __future__ import annotations

from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ops.assign import Assign
from glowmcu.ops.copy import Copy


def run(graph: Graph) -> Graph:
    """Copies of what cannot be made in place. Runs last: other passes would see through them."""
    copies: dict[int, list[Node]] = {}
    assigned: list[Value] = []
    for state, value in zip(graph.states, graph.assigned, strict=True):
        result = value
        if not _is_made_in_place(graph, state, value) or _is_needed_elsewhere(graph, value):
            is_shown = graph.rates and value in graph.results
            result = Value(value.type, value.name if is_shown else f"{state.value.name}/next")
            maker = graph.producers.get(value)
            stage = 0 if maker is None else maker.stage
            source = value
            if _is_of_another(graph, state, value):
                source = Value(value.type, f"{state.value.name}/kept")
                keep = Node(Copy(), (value,), (source,), source.name, "state", stage)
                place = -1 if maker is None else graph.nodes.index(maker)
                copies.setdefault(place, []).insert(0, keep)
            copy = Node(Assign(), (source,), (result,), result.name, "state", stage)
            copies.setdefault(_last_use(graph, state.value, value), []).append(copy)
        assigned.append(result)
    if not copies:
        return graph
    results = list(graph.results)
    if graph.rates:
        # What is read when its maker was not due is the state, wherever that is made now.
        made = dict(zip(graph.assigned, assigned, strict=True))
        results = [made.get(value, value) for value in results]
    nodes = list(copies.get(-1, []))
    for index, node in enumerate(graph.nodes):
        nodes += [node, *copies.get(index, [])]
    return graph.replace(nodes, (*results, *assigned))


def _is_of_another(graph: Graph, state: State, value: Value) -> bool:
    """Whether it is another state's old value, which may be overwritten before it is assigned."""
    others = (other.value for other in graph.states if other is not state)
    return any(value in _shown(graph, other) for other in others)


def _is_needed_elsewhere(graph: Graph, value: Value) -> bool:
    """Whether it is another output, too; with rates every result is a state."""
    outputs = graph.assigned if graph.rates else graph.outputs
    return outputs.count(value) > 1


def _last_use(graph: Graph, state: Value, value: Value) -> int:
    """The last node that reads the old value, or makes the new one: -1 if there is none.

    Right behind it what lies beside the state is free for others.
    """
    old = _shown(graph, state)
    needed = [
        index
        for index, node in enumerate(graph.nodes)
        if old.intersection(node.inputs) or value in node.outputs
    ]
    return max(needed, default=-1)


def _is_made_in_place(graph: Graph, state: State, value: Value) -> bool:
    maker = graph.producers.get(value)
    if maker is not None and isinstance(maker.op, Assign):
        return True
    if maker is None or maker.op.aliases(maker.signature) or graph.constant_data(value) is not None:
        return False
    old = _shown(graph, state.value)
    if any(item.value in old for item in graph.states if item is not state):
        return False
    later = graph.nodes[graph.nodes.index(maker) + 1 :]
    if old.intersection(graph.outputs) or any(old.intersection(node.inputs) for node in later):
        return False
    read = [position for position, operand in enumerate(maker.inputs) if operand in old]
    updated = maker.op.updates(maker.signature).get(maker.outputs.index(value))
    return not read or (read == [updated] and maker.inputs[read[0]] is state.value)


def _shown(graph: Graph, value: Value) -> set[Value]:
    """The value and whatever shows its bytes, or may have them as its own."""
    found = {value}
    for node in graph.nodes:
        contained = node.op.contained_operands(node.signature)
        if any(node.inputs[operand] in found for operand in contained):
            found.add(node.outputs[0])
        for result, operand in node.op.aliases(node.signature).items():
            if node.inputs[operand] in found:
                found.add(node.outputs[result])
    return found
