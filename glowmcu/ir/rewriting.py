"""Rewriting: rules that replace one node at a time, applied until nothing changes.

A rule looks at a node through a `Context` and returns the values that take its results' place, or
None. New nodes made with `Context.add` are put in front of the node that is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Constant, Operation, constant
from glowmcu.ir.types import Quantization, TensorType, element_type_of


class Context:
    """What a rule may ask and make while it looks at one node of `graph`."""

    def __init__(self, graph: Graph, node: Node) -> None:
        self.graph = graph
        self.node = node
        self.added: list[Node] = []

    def producer(self, value: Value) -> Node | None:
        """The node that makes `value`, or None for a graph input."""
        return self.graph.producers.get(value)

    def constant(self, value: Value) -> Array | None:
        """Data of a constant value, or None."""
        return self.graph.constant_data(value)

    def only_use(self, value: Value) -> bool:
        """Whether the node at hand is the sole reader of `value` and it is no graph output."""
        return self.graph.users.get(value) == [self.node] and value not in self.graph.outputs

    def add(
        self, op: Operation, inputs: Sequence[Value], types: Sequence[TensorType], name: str = ""
    ) -> tuple[Value, ...]:
        """A new node in front of the one at hand; it inherits that one's name and source."""
        name = name or self.node.name
        values = tuple(
            Value(type_, _result_name(self.node, i, name)) for i, type_ in enumerate(types)
        )
        self.added.append(Node(op, tuple(inputs), values, name, self.node.source))
        return values

    def add_constant(
        self, data: Array, quantization: Quantization | None = None, name: str = "constant"
    ) -> Value:
        """A new constant value."""
        type_ = TensorType(data.shape, element_type_of(data.dtype), quantization)
        value = Value(type_, name)
        self.added.append(Node(constant(data), (), (value,), name, self.node.source))
        return value

    def replace_op(self, op: Operation, inputs: Sequence[Value] | None = None) -> tuple[Value, ...]:
        """The node at hand with another operator and, where given, other operands."""
        operands = self.node.inputs if inputs is None else inputs
        return self.add(op, operands, [value.type for value in self.node.outputs])


def _result_name(node: Node, index: int, fallback: str) -> str:
    return node.outputs[index].name if index < len(node.outputs) else f"{fallback}_{index}"


Rule = Callable[[Context, Node], Sequence[Value] | None]


def rewrite(graph: Graph, *rules: Rule) -> Graph:
    """Apply each rule at each node until none has anything to say; drop what nobody reads."""
    position = 0
    while position < len(graph.nodes):
        node = graph.nodes[position]
        changed = _apply_first(graph, node, rules) if not isinstance(node.op, Constant) else None
        if changed is None:
            position += 1
            continue
        graph = changed
        position = 0 if position < _LOOK_BACK else position - _LOOK_BACK
    # A rule may look past its neighbours, so a clean sweep is asked for before we stop.
    for node in graph.nodes:
        if not isinstance(node.op, Constant) and _apply_first(graph, node, rules) is not None:
            return rewrite(graph, *rules)
    return remove_dead_nodes(graph)


_LOOK_BACK = 4


def _apply_first(graph: Graph, node: Node, rules: Sequence[Rule]) -> Graph | None:
    for rule in rules:
        context = Context(graph, node)
        values = rule(context, node)
        if values is not None:
            return _substitute(graph, node, context.added, values)
    return None


def _substitute(graph: Graph, old: Node, added: list[Node], values: Sequence[Value]) -> Graph:
    assert len(values) == len(old.outputs), f"{old.op.name}: a rule must replace every result"
    renamed = dict(zip(old.outputs, values, strict=True))
    nodes: list[Node] = []
    for node in graph.nodes:
        if node is old:
            nodes.extend(added)
        elif any(value in renamed for value in node.inputs):
            inputs = tuple(renamed.get(value, value) for value in node.inputs)
            nodes.append(replace(node, inputs=inputs))
        else:
            nodes.append(node)
    return graph.replace(nodes, [renamed.get(value, value) for value in graph.outputs])


def remove_dead_nodes(graph: Graph) -> Graph:
    """The graph without nodes whose results nobody reads."""
    live = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if any(value in live for value in node.outputs):
            live.update(node.inputs)
            kept.append(node)
    return graph if len(kept) == len(graph.nodes) else graph.replace(reversed(kept))
