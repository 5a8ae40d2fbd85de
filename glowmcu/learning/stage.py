"""What every stage that learns has: its number, names of its values, and what is told of them."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from glowmcu.errors import ExitCode, error
from glowmcu.gradient.builder import Builder
from glowmcu.ir.graph import Graph, Node, Rate, State, Value
from glowmcu.ir.rewriting import remove_dead_nodes
from glowmcu.ir.types import ElementType, TensorType

#: A real number, and what asks for learning.
ONE, FLAG = TensorType((1,), ElementType.F32), TensorType((1,), ElementType.I32)
STAGE = 1
#: How names of momenta end, and what the application may change.
MEMORY, _SETTINGS = "/momentum", ("learning_rate", "momentum")
#: Key of the graph's metadata that says which value is what, as JSON.
LEARNS = "glowmcu.learns"


class Names:
    """Names that no input or output has."""

    def __init__(self, taken: object) -> None:
        self._taken = set[str](taken)  # type: ignore[call-overload]

    def new(self, name: str) -> str:
        found, number = name, 2
        while found in self._taken:
            found, number = f"{name}_{number}", number + 1
        self._taken.add(found)
        return found


def told(
    kind: str,
    arguments: Sequence[Value],
    loss: Value,
    parameters: Iterable[State],
    states: Iterable[State],
    numbers: str = "float32",
) -> dict[str, str]:
    """Which value is what, for who makes a bundle of the graph."""
    names = [state.value.name for state in states]
    target = arguments[0].name if len(arguments) > 1 else ""
    told = {
        "loss_kind": kind,
        "argument": arguments[-1].name,
        "target": target,
        "loss": loss.name,
        "parameters": [state.value.name for state in parameters],
        "momenta": [name for name in names if name.endswith(MEMORY)],
        "settings": [name for name in names if name in _SETTINGS],
        "numbers": numbers,
    }
    return {LEARNS: json.dumps(told)}


def learning_graph(
    graph: Graph,
    nodes: Sequence[Node],
    outputs: Sequence[Value],
    arguments: Sequence[Value],
    shown: Value,
    assigned: Mapping[State, Value],
    entry: Mapping[str, str],
    classes: int,
) -> Graph:
    """The model with a stage that learns. `outputs` are what its own have become; `shown` is the
    loss, `assigned` what the states of learning become. The last argument asks for learning.
    """
    count = len(graph.results)
    made = replace(
        graph,
        inputs=(
            *graph.arguments, *arguments, *(state.value for state in (*graph.states, *assigned)),
        ),
        nodes=tuple(nodes),
        outputs=(*outputs[:count], shown, *outputs[count:], *assigned.values()),
        metadata={**graph.metadata, **entry},
        states=(*graph.states, *assigned),
        rates=(Rate("inference", 0, 1), Rate("learning", 0, 1, arguments[-1].name, classes)),
    )  # fmt: skip
    made = remove_dead_nodes(made)
    made.verify()
    return made


def expect_no_state(graph: Graph, learnt: Container[Value], file_name: str) -> None:
    """Raise GM363 if a state becomes what learning has influence on: its gradient would have to go
    back through the runs before.
    """
    for state, value in zip(graph.states, graph.assigned, strict=True):
        if value in learnt:
            raise error(
                "GM363",
                f"what learns has influence on the state {state.value.name!r}, and gradients do "
                "not go back to the runs before",
                file_name,
                "let only layers behind the states learn, as --train last=1; or leave out --slide "
                "or --state, where one of these makes the state",
                ExitCode.UNSUPPORTED,
            )


def setting(name: str, value: float) -> State:
    """A number that the application may change between runs."""
    return State(Value(ONE, name), np.full(1, value, np.float32), True)


def called(value: Value, name: str, *builds: Builder) -> Value:
    """`value`, which a node of one of the builders makes, under another name in all of them."""
    renamed = Value(value.type, name)
    for build in builds:
        build.nodes[:] = [
            replace(
                node,
                inputs=tuple(renamed if item is value else item for item in node.inputs),
                outputs=tuple(renamed if item is value else item for item in node.outputs),
            )
            for node in build.nodes
        ]
    return renamed
