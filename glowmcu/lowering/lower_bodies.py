"""Bodies of branches and loops are lowered as graphs of their own.

Constants of the graph around them move in, so that kernels find their weights; operands that no
body reads go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from glowmcu.ir.body import Body, body_of, with_carried, without_carried
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, constant
from glowmcu.ir.rewriting import remove_dead_nodes
from glowmcu.lowering import materialize_outputs, materialize_states
from glowmcu.ops.control_flow import If, Loop
from glowmcu.ops.copy import Copy

#: All passes but those that make room for outputs and states: how that is done depends on the loop.
Lower = Callable[[Graph], Graph]


def run(graph: Graph, lower: Lower) -> Graph:
    """The graph with bodies that `lower` has lowered."""
    if not any(isinstance(node.op, If | Loop) for node in graph.nodes):
        return graph
    replaced: dict[Value, Value] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs = tuple(replaced.get(value, value) for value in node.inputs)
        item = node if inputs == node.inputs else replace(node, inputs=inputs)
        if isinstance(node.op, If):
            item = _lowered_if(graph, item, node.op, lower)
        elif isinstance(node.op, Loop):
            item = _lowered_loop(graph, item, node.op, lower, replaced)
        nodes.append(item)
    return graph.replace(nodes, [replaced.get(value, value) for value in graph.outputs])


def _lowered_if(graph: Graph, node: Node, op: If, lower: Lower) -> Node:
    data = [graph.constant_data(value) for value in node.inputs[1:]]
    bodies = [_with_constants(body.graph, data) for body in (op.then, op.otherwise)]
    bodies = [
        materialize_outputs.run(lower(body.replace(rounding=graph.rounding))) for body in bodies
    ]
    kept = [
        position
        for position in range(len(data))
        if any(_is_read(body, body.inputs[position]) for body in bodies)
    ]
    then, otherwise = (_with_inputs(body, kept) for body in bodies)
    inputs = (node.inputs[0], *(node.inputs[1 + position] for position in kept))
    return replace(node, op=If(then, otherwise), inputs=inputs)


def _lowered_loop(
    graph: Graph, node: Node, op: Loop, lower: Lower, replaced: dict[Value, Value]
) -> Node:
    """What the body hands on as it is, is not carried: `replaced` says what has it in the end.
    Nor is what only its own next value is made from.
    """
    node, op = _without_dead(graph, node, op)
    first, fixed = op.first_carried, op.carried + op.scanned
    data = [graph.constant_data(value) for value in node.inputs[first:]]
    data[:fixed] = [None] * fixed
    body = lower(_with_constants(op.body.graph, data).replace(rounding=graph.rounding))
    idle = [p for p in range(op.carried) if body.outputs[first + p] is body.inputs[p]]
    for position in idle:
        replaced[node.outputs[position]] = node.inputs[first + position]
    moving = [position for position in range(op.carried) if position not in idle]
    order = [*moving, *range(op.carried, len(body.inputs)), *idle]
    body = replace(
        body,
        inputs=tuple(body.inputs[position] for position in order),
        outputs=_without(body.outputs, [first + position for position in idle]),
    )
    op = replace(op, carried=len(moving))
    body = _materialized(body, op)
    kept = [
        place for place in range(len(order))
        if place < op.carried + op.scanned or _is_read(body, body.inputs[place])
    ]  # fmt: skip
    inputs = (*node.inputs[:first], *(node.inputs[first + order[place]] for place in kept))
    outputs = _without(node.outputs, idle)
    return replace(node, op=replace(op, body=_with_inputs(body, kept)), inputs=inputs,
                   outputs=outputs)  # fmt: skip


def _without_dead(graph: Graph, node: Node, op: Loop) -> tuple[Node, Loop]:
    """The loop without carried values that neither a condition, a row nor another node needs."""
    body, first = op.body.graph, op.first_carried
    live = {p for p in range(op.carried) if _is_read(graph, node.outputs[p])}
    always = [*body.outputs[:first], *body.outputs[first + op.carried :]]
    while True:
        needed = _needed(body, [*always, *(body.outputs[first + p] for p in live)])
        more = {p for p in range(op.carried) if body.inputs[p] in needed} - live
        if not more:
            break
        live |= more
    dead = [p for p in range(op.carried) if p not in live]
    if not dead or len(dead) == len(node.outputs):
        return node, op
    behind = [first + p for p in dead]
    body = replace(body, inputs=_without(body.inputs, dead), outputs=_without(body.outputs, behind))
    op = replace(op, body=body_of(remove_dead_nodes(body)), carried=len(live))
    inputs, outputs = _without(node.inputs, behind), _without(node.outputs, dead)
    return replace(node, op=op, inputs=inputs, outputs=outputs), op


def _needed(graph: Graph, results: Sequence[Value]) -> set[Value]:
    """The results and everything that they are made from."""
    found: set[Value] = set()
    todo = list(results)
    while todo:
        value = todo.pop()
        if value not in found:
            found.add(value)
            if value in graph.producers:
                todo += graph.producers[value].inputs
    return found


def _without(values: Sequence[Value], positions: Sequence[int]) -> tuple[Value, ...]:
    return tuple(value for place, value in enumerate(values) if place not in positions)


def _materialized(body: Graph, op: Loop) -> Graph:
    """Memory for what the body gives. What is carried changes places by way of copies."""
    carried, first = set(body.inputs[: op.carried]), op.first_carried
    outputs, copies = list(body.outputs), list[Node]()
    for place in range(first, first + op.carried):
        value = outputs[place]
        if materialize_outputs.source(body, value) in carried:
            outputs[place] = Value(value.type, f"{value.name}/handed on")
            copies.append(Node(Copy(), (value,), (outputs[place],), outputs[place].name))
    body = body.replace((*body.nodes, *copies), outputs)
    stateful = materialize_outputs.run(with_carried(body, op.carried, first))
    return without_carried(materialize_states.run(stateful), first)


def _with_constants(graph: Graph, data: Sequence[Array | None]) -> Graph:
    """Inputs that are known are constants inside; they stay inputs, which nobody reads."""
    known: dict[Value, Value] = {}
    nodes: list[Node] = []
    for value, array in zip(graph.inputs, data, strict=True):
        if array is not None:
            known[value] = Value(value.type, value.name)
            nodes.append(Node(constant(array), (), (known[value],), value.name))
    if not known:
        return graph
    nodes += [
        replace(node, inputs=tuple(known.get(value, value) for value in node.inputs))
        for node in graph.nodes
    ]
    return graph.replace(nodes, [known.get(value, value) for value in graph.outputs])


def _is_read(graph: Graph, value: Value) -> bool:
    return value in graph.users or value in graph.outputs


def _with_inputs(graph: Graph, kept: Sequence[int]) -> Body:
    inputs = tuple(graph.inputs[position] for position in kept)
    return body_of(replace(graph, inputs=inputs))
