"""When two graphs are the same but for the identity of their values.

`operation_key` is also what common subexpressions are merged by.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Operation

#: Arrays of more bytes are told apart by a digest: keys of all weights would be as large as these.
_WHOLE_BYTES = 1024


def operation_key(op: Operation) -> Hashable:
    """Equal for operators of one class with the same attributes, to the bit of every float."""
    return _key(op)


def _key(value: object) -> Hashable:
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, content(value))
    if isinstance(value, float):
        return ("float", value.hex())
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, (tuple, list)):
        return tuple(_key(item) for item in value)
    if isinstance(value, Mapping):
        return tuple((name, _key(item)) for name, item in sorted(value.items()))
    if is_dataclass(value) and not isinstance(value, type):
        items = tuple(_key(getattr(value, field.name)) for field in fields(value))
        return (type(value).__qualname__, *items)
    assert isinstance(value, Hashable), f"{type(value).__name__} cannot be compared"
    return value


def content(array: Array) -> bytes:
    """An array's bytes, or their digest where these are many."""
    if array.nbytes <= _WHOLE_BYTES:
        return array.tobytes()
    return hashlib.sha256(np.ascontiguousarray(array).data).digest()


def same_graph(left: Graph, right: Graph) -> bool:
    """Whether names, types, operators and wiring agree in order."""
    return _graph_key(left) == _graph_key(right)


def nodes_digest(nodes: Sequence[Node]) -> str:
    """Of what nodes make of all that they read: 64 digits, the same in every process."""
    made = {value for node in nodes for value in node.outputs}
    read = dict.fromkeys(value for node in nodes for value in node.inputs if value not in made)
    places = {value: place for place, value in enumerate(read)}
    inputs = tuple((value.name, value.type) for value in read)
    key = inputs, tuple(_node_key(node, places) for node in nodes)
    return hashlib.sha256(repr(key).encode()).hexdigest()


def _graph_key(graph: Graph) -> Hashable:
    places: dict[Value, int] = {value: place for place, value in enumerate(graph.inputs)}
    nodes = [_node_key(node, places) for node in graph.nodes]
    return (
        graph.name,
        tuple((value.name, value.type) for value in graph.inputs),
        tuple(nodes),
        tuple(places[value] for value in graph.outputs),
        tuple((_key(state.initial), state.shared) for state in graph.states),
        graph.rates,
        graph.rounding,
        _key(dict(graph.metadata)),
    )


def _node_key(node: Node, places: dict[Value, int]) -> Hashable:
    inputs = tuple(places[value] for value in node.inputs)
    for value in node.outputs:
        places[value] = len(places)
    outputs = tuple((value.name, value.type) for value in node.outputs)
    return (operation_key(node.op), inputs, outputs, node.name, node.source, node.stage)
