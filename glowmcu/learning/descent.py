"""Steps of parameters in float32 against their gradients, each as soon as its gradient is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.errors import ExitCode, GlowmcuError, Problem, error
from glowmcu.gradient.builder import Builder
from glowmcu.gradient.differentiate import MissingGradient, gradients
from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ir.shared_constants import origin_of
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.learning.layers import TrainedLayer, help_behind
from glowmcu.learning.real_part import RealPart, part_behind, real_constant, with_real_part
from glowmcu.learning.stage import MEMORY, expect_no_state, setting
from glowmcu.ops.activation import Neg
from glowmcu.ops.assign import Assign
from glowmcu.ops.multiply_add import MultiplyAdd
from glowmcu.training import Training


def real_parameters(graph: Graph, layers: tuple[TrainedLayer, ...]) -> dict[Value, State]:
    """A state for each constant that learns; constants that layers share learn together, also such
    that each layer stores at its own scales.
    """
    found: dict[Value, State] = {}
    firsts: dict[Value | str, State] = {}
    for layer in layers:
        for value, word in layer.parameters:
            if value not in found:
                data = real_constant(graph, value)
                name = f"{layer.node.name}/{word}"
                state = State(Value(TensorType(data.shape, ElementType.F32), name), data, True)
                found[value] = firsts.setdefault(origin_of(graph, value), state)
    return found


def learning_part(
    graph: Graph, layers: tuple[TrainedLayer, ...], reached: Value, place: str, file_name: str
) -> tuple[list[State], RealPart]:
    """The parameters of `layers`, and the graph with all that these have influence on in real
    numbers. Raises GM361, GM362 if `reached` is not among it (layers in front of `place` have to
    be named), GM363.
    """
    states = real_parameters(graph, layers)
    part = part_behind(graph, {layer.node: None for layer in layers})
    problems: list[Problem] = []
    real = with_real_part(graph, part, states, problems)
    if problems:
        raise GlowmcuError(problems, ExitCode.UNSUPPORTED)
    if reached not in real.real:
        raise error(
            "GM362", f"no layer that learns has influence on {reached.name!r}", file_name,
            f"name layers in front of {place}",
        )  # fmt: skip
    expect_no_state(graph, {value for node in part for value in node.outputs}, file_name)
    return list(dict.fromkeys(states.values())), real


class Descent:
    """What every state becomes: momentum m g' + g, parameter w - rate g'."""

    def __init__(self, build: Builder, training: Training, parameters: list[State]) -> None:
        self._build, self._training = build, training
        self._rate = setting("learning_rate", training.learning_rate)
        self._momentum = setting("momentum", training.momentum) if training.momentum else None
        self.states = {state.value: state for state in parameters}
        self._steps: dict[State, Value] = {}
        self._memories: dict[State, Value] = {}
        self._back = build.add(Neg(), self._rate.value)

    def step(self, parameter: Value, gradient: Value) -> None:
        """Move the parameter against its gradient."""
        build, state, step = self._build, self.states[parameter], gradient
        if self._momentum is not None:
            name = f"{parameter.name}{MEMORY}"
            memory = State(Value(parameter.type, name), np.zeros_like(state.initial), True)
            step = build.add(MultiplyAdd(0), memory.value, self._momentum.value, step)
            self._memories[memory] = step
        self._steps[state] = build.add(MultiplyAdd(2), step, self._back, parameter)

    def run(
        self, graph: Graph, nodes: Sequence[Node], of: Value, upstream: Value, file_name: str
    ) -> None:
        """Back through `nodes`, made of those of `graph`, from `of`, whose gradient is `upstream`.
        Raises GM361.
        """
        try:
            gradients(self._build, nodes, {of: upstream}, self.states, self.step)
        except MissingGradient as cause:
            raise error(
                "GM361",
                "what learns lies in front of an operator that gradients do not go through: "
                f"{cause}",
                f"{file_name}, {cause.node.name!r}",
                help_behind(graph, self._training, cause.node.name),
                ExitCode.UNSUPPORTED,
            ) from cause
        self._expect_all(file_name)

    def _expect_all(self, file_name: str) -> None:
        """Raise GM361 for parameters that no gradient came to."""
        missing = [value.name for value, s in self.states.items() if s not in self._steps]
        if missing:
            raise error(
                "GM361",
                f"no gradient comes to {', '.join(missing)}: comparisons, indices and rounding "
                "have none, and all ways from there to the loss go through such",
                file_name,
                "let other layers learn, by their names",
                ExitCode.UNSUPPORTED,
            )

    def assigned(self) -> dict[State, Value]:
        """All states in order: parameters, their momenta, settings."""
        settings = [item for item in (self._rate, self._momentum) if item is not None]
        kept = {item: self._build.add(Assign(), item.value) for item in settings}
        ordered = {state: self._steps[state] for state in self.states.values()}
        return {**ordered, **self._memories, **kept}
