"""A graph as an attribute of an operator: what a branch does, or a loop in one trip.

Values are numbers: first the inputs, then the results of the steps. So bodies compare and print as
other attributes do, and `graph` gives the passes what they work on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ir.operation import Operation, OperationError
from glowmcu.ir.types import TensorType
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class BodyStep:
    """A node: `operands` are numbers of values, `types` and `names` those of its results."""

    op: Operation
    operands: tuple[int, ...]
    types: tuple[TensorType, ...]
    names: tuple[str, ...]
    source: str = ""


@dataclass(frozen=True)
class Body:
    """Inputs with their names, steps in order, and the numbers of the values that come out."""

    inputs: tuple[TensorType, ...]
    names: tuple[str, ...]
    steps: tuple[BodyStep, ...]
    results: tuple[int, ...]

    @cached_property
    def graph(self) -> Graph:
        """The same as a graph. Raises OperationError for numbers that no value has."""
        if len(self.names) != len(self.inputs):
            raise OperationError(f"a body of {len(self.inputs)} inputs has {len(self.names)} names")
        values = [Value(type_, name) for type_, name in zip(self.inputs, self.names, strict=True)]
        inputs, nodes = tuple(values), list[Node]()
        for step in self.steps:
            if len(step.names) != len(step.types):
                raise OperationError(f"{step.op.name} has {len(step.names)} names of results")
            operands = tuple(_numbered(values, step.operands))
            results = tuple(
                Value(type_, name) for type_, name in zip(step.types, step.names, strict=True)
            )
            name = step.names[0] if step.names else ""
            nodes.append(Node(step.op, operands, results, name, step.source))
            values += results
        return Graph("body", inputs, tuple(nodes), tuple(_numbered(values, self.results)))

    @property
    def types(self) -> tuple[TensorType, ...]:
        """Types of the results."""
        return tuple(value.type for value in self.graph.outputs)


def _numbered(values: Sequence[Value], numbers: Sequence[int]) -> list[Value]:
    for number in numbers:
        if not 0 <= number < len(values):
            raise OperationError(f"value {number} of a body is read before it is there")
    return [values[number] for number in numbers]


def body_of(graph: Graph) -> Body:
    """`graph`, without states, as a body."""
    numbers = {value: number for number, value in enumerate(graph.inputs)}
    steps = []
    for node in graph.nodes:
        operands = tuple(numbers[value] for value in node.inputs)
        for value in node.outputs:
            numbers[value] = len(numbers)
        types, names = ([v.type for v in node.outputs], [v.name for v in node.outputs])
        steps.append(BodyStep(node.op, operands, tuple(types), tuple(names), node.source))
    return Body(
        tuple(value.type for value in graph.inputs),
        tuple(value.name for value in graph.inputs),
        tuple(steps),
        tuple(numbers[value] for value in graph.outputs),
    )


def with_carried(graph: Graph, carried: int, first_result: int) -> Graph:
    """The graph of a loop's body in which the first inputs are states.

    What they become are the results from `first_result` on.
    """
    states = tuple(
        State(value, np.zeros(value.type.shape, value.type.element.numpy), is_carried=True)
        for value in graph.inputs[:carried]
    )
    end = first_result + carried
    outputs = graph.outputs
    return Graph(
        graph.name,
        (*graph.inputs[carried:], *graph.inputs[:carried]),
        graph.nodes,
        (*outputs[:first_result], *outputs[end:], *outputs[first_result:end]),
        graph.rounding,
        states=states,
    )


def without_carried(graph: Graph, first_result: int) -> Graph:
    """The inverse: states are the first inputs again, without being states."""
    results = graph.results
    return Graph(
        graph.name,
        (*(state.value for state in graph.states), *graph.arguments),
        graph.nodes,
        (*results[:first_result], *graph.assigned, *results[first_result:]),
        graph.rounding,
    )
