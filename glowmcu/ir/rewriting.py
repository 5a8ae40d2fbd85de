"""Rewriting: rules that replace one node at a time, applied until nothing changes.

A rule looks at a node through a `Context` and returns the values that take its results' place, or
None. New nodes made with `Context.add` go in front of the node that is replaced. A change costs
time in proportion to the users of the replaced values, not to the size of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Constant, Operation, Rounding, constant
from glowmcu.ir.shared_constants import NO_BIAS
from glowmcu.ir.types import Quantization, TensorType, element_type_of


class Context:
    """Reads values and adds nodes for a rule that looks at one node."""

    def __init__(self, draft: _Draft, node: Node) -> None:
        self._draft = draft
        self.node = node
        self.added: list[Node] = []

    @property
    def graph(self) -> Graph:
        """The graph as it is now; made anew after every change."""
        return self._draft.graph()

    @property
    def rounding(self) -> Rounding:
        """The rounding of the graph's requantizations."""
        return self._draft.origin.rounding

    def producer(self, value: Value) -> Node | None:
        """The node that makes `value`, or None for a graph input."""
        return self._draft.producers.get(value)

    def users(self, value: Value) -> tuple[Node, ...]:
        """The nodes that read `value`, each once."""
        return tuple(self._draft.users.get(value, ()))

    def is_output(self, value: Value) -> bool:
        """Whether `value` is an output of the graph: its name is part of the bundle's interface."""
        return value in self._draft.outputs

    def constant(self, value: Value) -> Array | None:
        """Data of a constant value, or None."""
        node = self.producer(value)
        return node.op.data if node is not None and isinstance(node.op, Constant) else None

    def only_use(self, value: Value) -> bool:
        """Whether the node at hand is the sole reader of `value` and it is no graph output."""
        return self.users(value) == (self.node,) and not self.is_output(value)

    def add(
        self, op: Operation, inputs: Sequence[Value], types: Sequence[TensorType], name: str = ""
    ) -> tuple[Value, ...]:
        """A new node in front of the one at hand; it inherits that one's name and source."""
        name = name or self.node.name
        values = tuple(
            Value(type_, _result_name(self.node, i, name)) for i, type_ in enumerate(types)
        )
        self.added.append(Node(op, tuple(inputs), values, name, self.node.source, self.node.stage))
        return values

    def add_constant(
        self, data: Array, quantization: Quantization | None = None, name: str = "constant",
        source: str = "",
    ) -> Value:  # fmt: skip
        """A new constant value; its source is that of the node at hand unless another is given."""
        type_ = TensorType(data.shape, element_type_of(data.dtype), quantization)
        value = Value(type_, name)
        self.added.append(Node(constant(data), (), (value,), name, source or self.node.source))
        return value

    def add_no_bias(self, channels: int, name: str = "no_bias") -> Value:
        """Zeros in the place of a bias that the model does not have."""
        return self.add_constant(np.zeros(channels, np.float32), name=name, source=NO_BIAS)

    def replace_op(self, op: Operation, inputs: Sequence[Value] | None = None) -> tuple[Value, ...]:
        """The node at hand with another operator and, if given, other operands."""
        operands = self.node.inputs if inputs is None else inputs
        return self.add(op, operands, [value.type for value in self.node.outputs])


def _result_name(node: Node, index: int, fallback: str) -> str:
    return node.outputs[index].name if index < len(node.outputs) else f"{fallback}_{index}"


Rule = Callable[[Context, Node], Sequence[Value] | None]


def rewrite(graph: Graph, *rules: Rule) -> Graph:
    """Apply each rule at each node until none has anything to say; drop what nobody reads.

    The same graph object comes back when nothing was to be done.
    """
    draft = _Draft(remove_dead_nodes(graph))
    limit = 1000 + 100 * len(graph.nodes)
    changes, before = 0, -1
    while changes != before:
        before = changes
        node = draft.first
        while node is not None:
            changed = None if isinstance(node.op, Constant) else _apply_first(draft, node, rules)
            changes += changed is not None
            assert changes < limit, f"rules undo each other at {node.op.name} {node.name!r}"
            node = draft.after(node) if changed is None else changed.resume
    return draft.graph()


def _apply_first(draft: _Draft, node: Node, rules: Sequence[Rule]) -> _Resume | None:
    for rule in rules:
        context = Context(draft, node)
        values = rule(context, node)
        if values is not None:
            return _Resume(draft.substitute(node, context.added, values))
    return None


class _Resume:
    """Where a sweep goes on after a change; None is the end."""

    def __init__(self, resume: Node | None) -> None:
        self.resume = resume


class _Draft:
    """A graph under change: nodes in a linked list, producers and users up to date."""

    def __init__(self, graph: Graph) -> None:
        self.origin = graph
        self.outputs = dict.fromkeys(graph.outputs)
        self.producers: dict[Value, Node] = {}
        self.users: dict[Value, dict[Node, None]] = {}
        self._order = tuple(graph.outputs)
        self._next: dict[Node | None, Node | None] = {None: None}
        self._previous: dict[Node | None, Node | None] = {None: None}
        self._graph: Graph | None = graph
        for node in graph.nodes:
            self._insert(node, None)

    @property
    def first(self) -> Node | None:
        return self._next[None]

    def after(self, node: Node) -> Node | None:
        """The node behind `node`."""
        return self._next[node]

    def graph(self) -> Graph:
        if self._graph is None:
            self._graph = self.origin.replace(self._walk(), self._order)
        return self._graph

    def substitute(self, old: Node, added: Sequence[Node], values: Sequence[Value]) -> Node | None:
        """Put `added` in front of `old` and `values` in its results' place; where to go on."""
        assert len(values) == len(old.outputs), f"{old.op.name}: a rule must replace every result"
        renamed = dict(zip(old.outputs, values, strict=True))
        self._graph = None
        for node in added:
            self._insert(node, old)
        following = self._next[old]
        for user in dict.fromkeys(user for v in old.outputs for user in self.users.get(v, ())):
            inputs = tuple(renamed.get(value, value) for value in user.inputs)
            successor = replace(user, inputs=inputs)
            following = successor if user is following else following
            self._swap(user, successor)
        self._order = tuple(renamed.get(value, value) for value in self._order)
        self.outputs = dict.fromkeys(self._order)
        self._remove_dead([old, *reversed(added)])
        alive = (node for node in added if node in self._next)
        return next(alive, following)

    def _walk(self) -> Iterable[Node]:
        node = self.first
        while node is not None:
            yield node
            node = self._next[node]

    def _insert(self, node: Node, before: Node | None) -> None:
        previous = self._previous[before]
        self._next[previous] = self._previous[before] = node
        self._next[node], self._previous[node] = before, previous
        self._register(node)

    def _register(self, node: Node) -> None:
        for value in node.outputs:
            self.producers[value] = node
        for value in node.inputs:
            self.users.setdefault(value, {})[node] = None

    def _swap(self, old: Node, new: Node) -> None:
        """`new` at the place of `old`, which has the same results."""
        self._insert(new, old)
        self._unlink(old)

    def _unlink(self, node: Node) -> None:
        previous, following = self._previous.pop(node), self._next.pop(node)
        self._next[previous], self._previous[following] = following, previous
        for value in dict.fromkeys(node.inputs):
            del self.users[value][node]

    def _remove_dead(self, nodes: list[Node]) -> None:
        """Remove those of `nodes` whose results nobody reads, then their producers likewise."""
        while nodes:
            node = nodes.pop()
            read = any(self.users.get(value) or value in self.outputs for value in node.outputs)
            if read or node not in self._next:
                continue
            self._unlink(node)
            for value in node.outputs:
                del self.producers[value]
            nodes += [self.producers[value] for value in node.inputs if value in self.producers]


def remove_dead_nodes(graph: Graph) -> Graph:
    """The graph without nodes whose results nobody reads."""
    live = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if any(value in live for value in node.outputs):
            live.update(node.inputs)
            kept.append(node)
    return graph if len(kept) == len(graph.nodes) else graph.replace(reversed(kept))
