"""Branches and loops that data decide, as nodes: `if` and `loop` with imported graphs inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from glowmcu.frontend.control_flow import expect_same_branches, expect_same_types
from glowmcu.frontend.graph_builder import GraphBuilder
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.body import body_of
from glowmcu.ir.graph import Graph, Node, Value, evaluate_node
from glowmcu.ir.interpreter import nodes_inside
from glowmcu.ir.operation import Array, OperationError, Rounding
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.control_flow import If, Loop

#: Trips that are counted at compile time, and nodes that are evaluated for it.
_MOST_COUNTED, _MOST_EVALUATED = 20_000, 200_000
#: Nodes that one run of a loop may interpret, loops in it included.
_MOST_INTERPRETED = 30_000


@dataclass(frozen=True)
class Place:
    """What messages, results and nodes are called."""

    what: str
    source: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """A graph that was imported on its own: `given` says which of its inputs is which value of the
    graph around it.
    """

    builder: GraphBuilder
    given: Mapping[Value, Value]
    results: tuple[Value, ...]

    def graph(self, inputs: Sequence[Value]) -> Graph:
        """With these inputs. Raises Unsupported GM105 for one that keeps states of its own."""
        if self.builder.states:
            name = next(iter(self.builder.states)).value.name
            raise Unsupported(
                "GM105",
                f"{name[:120]!r} outlives a run, inside of a branch or loop that data decide",
                "variables (VAR_HANDLE) may be assigned there; layers with a state of their own "
                "belong outside",
            )
        return Graph("body", tuple(inputs), tuple(self.builder.nodes), self.results)

    def as_given(self, outer: Sequence[Value]) -> list[Value]:
        """Its inputs that stand for values around it; one that nobody reads if it has none."""
        return [self.given.get(value) or Value(value.type, value.name) for value in outer]


def add_if(
    builder: GraphBuilder, place: Place, condition: Value, then: Part, otherwise: Part
) -> list[Value]:
    """An `if` in the graph of `builder`; its results."""
    types = [value.type for value in then.results]
    expect_same_branches(place.what, types, [value.type for value in otherwise.results])
    if not types:
        return []
    outer = list(dict.fromkeys((*then.given, *otherwise.given)))
    bodies = [body_of(part.graph(part.as_given(outer))) for part in (then, otherwise)]
    names = [value.name for value in then.results]
    try:
        return list(builder.add_node(If(*bodies), [condition, *outer], types, names, place.source))
    except OperationError as cause:
        raise Unsupported("GM106", f"{place.what}: {cause}") from cause


class Inside:
    """A graph inside of another one in the making: values of the graph around become its inputs, or
    constants if they are known.
    """

    def __init__(self, outer: GraphBuilder) -> None:
        self._outer = outer
        self.builder = GraphBuilder()
        self.builder.around = outer.around
        self.builder.model_inputs = self._model_inputs
        self.given: dict[Value, Value] = {}
        self._constants: dict[Value, Value] = {}

    def value(self, value: Value) -> Value:
        """What `value` of the graph around is in here."""
        known = self._outer.known.get(value)
        if known is None:
            return self.given.setdefault(value, Value(value.type, value.name))
        if value not in self._constants:
            inner = Value(value.type, value.name)
            self._constants[value] = self.builder.add_known(inner, known)
        return self._constants[value]

    def _model_inputs(self, value: Value) -> tuple[str, ...]:
        around = next((outer for outer, inner in self.given.items() if inner is value), None)
        return () if around is None else self._outer.inputs_behind(around)

    def part(self, results: Sequence[Value]) -> Part:
        """What was made."""
        return Part(self.builder, self.given, tuple(results))


@dataclass(frozen=True)
class LoopPart:
    """A loop's body in the making: what it carries, inside and outside, and rows that it scans.

    `part.results` are the condition of the next trip, None if nothing but the count ends the
    loop, then what is carried on, then rows to collect.
    """

    part: Part
    carried: Sequence[Value]
    scanned: Sequence[Value] = ()
    trips: int | None = None
    is_conditional: bool = True


def add_loop(
    builder: GraphBuilder,
    place: Place,
    condition: Value | None,
    loop: LoopPart,
    operands: Sequence[Value],
) -> list[Value]:
    """A `loop` over `operands` (carried, then scanned); its results.

    Where the number of trips follows from what is known, no condition is computed.
    """
    part, first = loop.part, int(loop.is_conditional)
    count = len(loop.carried)
    after = part.results[first : first + count]
    expect_same_types(place.what, operands[:count], after, 0)
    outer = list(part.given)
    graph = part.graph([*loop.carried, *loop.scanned, *part.as_given(outer)])
    trips, is_conditional = loop.trips, loop.is_conditional
    if is_conditional and condition is not None:
        known = [builder.known.get(value) for value in (condition, *operands)]
        counted = known_trips(graph, known[0], known[1 : 1 + count], trips)
        if counted is not None and counted > 0:
            trips, is_conditional = counted, False
            graph = graph.replace(outputs=graph.outputs[1:])
    if not is_conditional:
        condition = None
    elif loop.scanned or len(part.results) > first + count:
        raise Unsupported(
            "GM141",
            f"{place.what} collects a row a trip, and the number of trips depends on data",
            "a static arena has no room for data-made shapes: give the loop a count that is known "
            "and select by the condition inside, or carry a tensor of the final size",
        )
    _expect_affordable(place, graph, trips)
    op = Loop(body_of(graph), count, len(loop.scanned), trips, is_conditional)
    inputs = [*([] if condition is None else [condition]), *operands, *outer]
    types = [value.type for value in part.results[first:]]
    try:
        return list(builder.add_node(op, inputs, types, place.names, place.source))
    except OperationError as cause:
        raise Unsupported("GM106", f"{place.what}: {cause}") from cause


def _expect_affordable(place: Place, body: Graph, trips: int | None) -> None:
    """Raise Unsupported GM142 for a loop that takes too long to interpret for the self test."""
    nodes = (trips or 1) * (len(body.nodes) + nodes_inside(body))
    if nodes > _MOST_INTERPRETED:
        raise Unsupported(
            "GM142",
            f"{place.what}: {trips} trips are {nodes} nodes; at most {_MOST_INTERPRETED} are run",
            "is the count right? let the model make fewer trips a run, and keep what it carries "
            "as a state",
        )


def known_trips(
    graph: Graph, condition: Array | None, carried: Sequence[Array | None], most: int | None
) -> int | None:
    """How often a loop goes round whose body's first output is its condition; None if data say so.

    Only what the condition needs is evaluated: a counter, mostly.
    """
    nodes, needed = _needed_for_condition(graph, len(carried))
    if condition is None or any(carried[position] is None for position in needed):
        return None
    values = {p: array for p in needed if (array := carried[p]) is not None}
    limit = min(_MOST_COUNTED, _MOST_EVALUATED // max(len(nodes), 1))
    trip, again = 0, bool(condition.reshape(-1)[0])
    while again and trip != most:
        if trip == limit:
            return None
        known = {graph.inputs[position]: array for position, array in values.items()}
        for node in nodes:
            if any(value not in known for value in node.inputs):
                return None
            operands = [known[value] for value in node.inputs]
            results = evaluate_node(node, operands, Rounding.DOUBLE)
            known.update(zip(node.outputs, results, strict=True))
        if any(graph.outputs[1 + p] not in known for p in needed) or graph.outputs[0] not in known:
            return None
        values = {position: known[graph.outputs[1 + position]] for position in needed}
        again = bool(np.reshape(known[graph.outputs[0]], -1)[0])
        trip += 1
    return trip


def _needed_for_condition(graph: Graph, carried: int) -> tuple[list[Node], list[int]]:
    """Nodes that the condition is made of, over all trips, and carried values that it needs."""
    wanted: set[Value] = {graph.outputs[0]}
    needed: set[int] = set()
    count = -1
    while count != len(wanted):
        count = len(wanted)
        for node in reversed(graph.nodes):
            if wanted.intersection(node.outputs):
                wanted.update(node.inputs)
        needed = {position for position in range(carried) if graph.inputs[position] in wanted}
        wanted.update(graph.outputs[1 + position] for position in needed)
    nodes = [node for node in graph.nodes if wanted.intersection(node.outputs)]
    return nodes, sorted(needed)
