"""What the gradient reads of the inference, computed a second time in place of being kept.

From some values on, the nodes between are repeated in the stage that learns, just in front of who
reads them: memory for time, to the same bits.
Source: Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Constant
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.parameter_step import StoredParameter

#: Values of less than this share of the largest one are kept.
_SMALL = 1 / 64


@dataclass(frozen=True, eq=False)
class Recomputation:
    """A graph that learns; `again` are the multiply-accumulates that it does a second time."""

    graph: Graph
    again: int


def read_by_gradient(graph: Graph) -> tuple[Value, ...]:
    """What the inference makes and learning reads, in order; not what lives on anyway, and nothing
    small.
    """
    lives = {*graph.outputs, *graph.inputs}
    made = _made_by_inference(graph)
    read = {
        value
        for node in graph.nodes
        if not _is_inference(graph, node)
        for value in node.inputs
        if value in made and value not in lives and not _is_parameter(graph, value)
    }
    least = _SMALL * max((value.type.size_bytes for value in read), default=0)
    return tuple(
        value
        for node in graph.nodes
        for value in node.outputs
        if value in read
        and value.type.size_bytes >= least
        and _chain(graph, value, read - {value}) is not None
    )


def recomputed(graph: Graph, dropped: Container[Value]) -> Recomputation:
    """The graph in which `dropped` of `read_by_gradient`, and what layers read of parameters, are
    computed again where learning reads them.
    """
    repeater = _Repeater(graph, dropped)
    return Recomputation(graph.replace(list(repeater.nodes())), repeater.again)


def _is_inference(graph: Graph, node: Node) -> bool:
    return graph.rates[node.stage].is_always_due or isinstance(node.op, Constant)


def _made_by_inference(graph: Graph) -> set[Value]:
    """Results of the nodes that compute."""
    return {
        value
        for node in graph.nodes
        if _is_inference(graph, node) and not isinstance(node.op, Constant)
        for value in node.outputs
    }


def _is_parameter(graph: Graph, value: Value) -> bool:
    """Whether it is a parameter as layers read it."""
    maker = graph.producers.get(value)
    while maker is not None and maker.op.aliases(maker.signature):
        maker = graph.producers.get(maker.inputs[0])
    return maker is not None and isinstance(maker.op, StoredParameter)


def _chain(graph: Graph, value: Value, kept: Container[Value]) -> list[Node] | None:
    """The nodes that make `value` of inputs, states and what is `kept`; None if that would not be
    the same later.
    """
    found, open_, seen = list[Node](), [value], set[Value]()
    while open_:
        each = open_.pop()
        maker = graph.producers.get(each)
        if maker is None:
            if _moves_in_inference(graph, each):
                return None
            continue
        if each in seen or isinstance(maker.op, Constant) or (each in kept and each is not value):
            continue
        if maker.op.updates(maker.signature) or each in graph.assigned:
            return None
        seen.update(maker.outputs)
        found.append(maker)
        open_ += maker.inputs
    order = {node: place for place, node in enumerate(graph.nodes)}
    return sorted(found, key=order.__getitem__)


def _moves_in_inference(graph: Graph, value: Value) -> bool:
    """Whether it is a state that is another one by the time that learning begins."""
    for state, new in zip(graph.states, graph.assigned, strict=True):
        if state.value is value:
            maker = graph.producers.get(new)
            return maker is not None and _is_inference(graph, maker)
    return False


class _Repeater:
    """Puts nodes that are repeated in front of their readers."""

    def __init__(self, graph: Graph, dropped: Container[Value]) -> None:
        self._graph = graph
        self.again = 0
        made = _made_by_inference(graph)
        read: dict[Value, list[int]] = {}
        for place, node in enumerate(graph.nodes):
            if not _is_inference(graph, node):
                for value in dict.fromkeys(node.inputs):
                    if value in made:
                        read.setdefault(value, []).append(place)
        self._dropped = {
            value: places
            for value, places in read.items()
            if value in dropped or _is_parameter(graph, value)
        }
        self._kept = {value for value in read if value not in self._dropped}
        self._replaced: dict[Value, Value] = {}
        self._in_front: dict[int, list[Node]] = {}
        for value, places in self._dropped.items():
            self._repeat(value, places)

    def nodes(self) -> Iterator[Node]:
        """All of them in order."""
        for place, node in enumerate(self._graph.nodes):
            yield from self._in_front.get(place, ())
            if _is_inference(self._graph, node):
                yield node
            else:
                inputs = tuple(self._replaced.get(value, value) for value in node.inputs)
                yield replace(node, inputs=inputs)

    def _repeat(self, value: Value, places: list[int]) -> None:
        chain = _chain(self._graph, value, self._kept)
        if chain is None:
            return
        states = {state.value for state in self._graph.states}
        read = {item for node in chain for item in node.inputs if item in states}
        place = min(places[0], *self._moves(read))
        stage = self._graph.nodes[places[0]].stage
        made = dict[Value, Value]()
        for node in chain:
            outputs = tuple(Value(each.type, f"{each.name}/again {place}") for each in node.outputs)
            inputs = tuple(made.get(each, each) for each in node.inputs)
            made.update(zip(node.outputs, outputs, strict=True))
            again = replace(
                node, inputs=inputs, outputs=outputs, name=f"{node.name}/again {place}", stage=stage
            )
            self._in_front.setdefault(place, []).append(again)
            self.again += again.macs
        self._replaced[value] = made[value]

    def _moves(self, states: set[Value]) -> Iterator[int]:
        """Where states become others: what reads them stands in front."""
        yield len(self._graph.nodes)
        assigned = dict(zip(self._graph.assigned, self._graph.states, strict=True))
        for place, node in enumerate(self._graph.nodes):
            if any(out in assigned and assigned[out].value in states for out in node.outputs):
                yield place
