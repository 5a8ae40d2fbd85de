"""Least bytes of an interpreter's arena: the tensors that are alive together.

TensorFlow Lite Micro keeps every operand and result of a node apart while it computes, each at a
multiple of sixteen bytes. Its planner can only need more; kernels of ours may not.
"""

from __future__ import annotations

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Constant
from glowmcu.memplan.planner import ARENA_ALIGN, aligned


def tensors_alive_bytes(graph: Graph, external: frozenset[Value] = frozenset()) -> int:
    """The most at any node, in the graph's order. Views take what they show; of scratch counts what
    its own operator would ask for.
    """
    nodes = [node for node in graph.nodes if not isinstance(node.op, Constant)]
    shown = _shown(graph, nodes)
    last = {shown[value]: step for step, node in enumerate(nodes) for value in node.inputs
            if value in shown}  # fmt: skip
    for value in (*graph.outputs, *graph.kept):
        last[shown.get(value, value)] = len(nodes)
    alive = {value: _size(value) for value in graph.inputs if value not in external}
    most = sum(alive.values())
    for step, node in enumerate(nodes):
        alive |= {value: _size(value) for value in node.outputs if shown[value] is value}
        own = aligned(node.op.interpreter_bytes(node.signature), ARENA_ALIGN)
        most = max(most, sum(alive.values()) + own)
        alive = {value: size for value, size in alive.items() if last.get(value, -1) > step}
    return most


def _shown(graph: Graph, nodes: list[Node]) -> dict[Value, Value]:
    """Each computed value, and the one whose bytes it has."""
    shown = {value: value for value in graph.inputs}
    for node in nodes:
        is_view = node.op.aliases(node.signature)
        for value in node.outputs:
            shown[value] = shown.get(node.inputs[0], value) if is_view else value
    return shown


def _size(value: Value) -> int:
    return aligned(value.type.size_bytes, ARENA_ALIGN)
