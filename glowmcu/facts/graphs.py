"""A graph as data: nodes in order, and whose results each reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Constant

Json = dict[str, object]
#: A larger graph is not drawn, and its nodes are not kept.
MOST_NODES = 2_000
_LONGEST = 8


def graph_json(graph: Graph, steps: Mapping[Node, int] | None = None) -> Json:
    """`nodes` is None of a graph too large to draw. A node's `inputs` are numbers of nodes, those
    of inputs of the graph, which come first, included; constants are named by their type. `step`
    is the node's turn in the compiled program.
    """
    results = set(graph.results)
    operators = [node for node in graph.nodes if not isinstance(node.op, Constant)]
    body: Json = {"node_count": len(operators), "nodes": None}
    if len(operators) > MOST_NODES:
        return body
    numbers: dict[Value, int] = {}
    nodes: list[Json] = []
    for value in graph.arguments:
        numbers[value] = len(nodes)
        nodes.append({"op": "input", "name": value.name, "type": str(value.type), "inputs": []})
    for node in operators:
        known = [numbers[value] for value in node.inputs if value in numbers]
        nodes.append(
            {
                "op": node.op.name,
                "name": node.name or node.output.name,
                "source": node.source,
                "type": str(node.output.type),
                "macs": node.macs,
                "inputs": list(dict.fromkeys(known)),
                "constants": [str(v.type) for v in node.inputs if v not in numbers],
                "attributes": _attributes(node),
                "step": None if steps is None else steps.get(node),
                "is_output": any(value in results for value in node.outputs),
            }
        )
        numbers.update(dict.fromkeys(node.outputs, len(nodes) - 1))
    return {**body, "nodes": nodes}


def _attributes(node: Node) -> dict[str, str]:
    """An operator's fields, as people read them; tables and bodies are left out."""
    fields = ((field.name, getattr(node.op, field.name)) for field in dataclasses.fields(node.op))
    return {name: text for name, value in fields if (text := _text(value))}


def _text(value: object) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple) and 0 < len(value) <= _LONGEST:
        parts = [_text(part) for part in value]
        return ", ".join(parts) if all(parts) else ""
    return str(value) if isinstance(value, int | float | str) else ""
