"""Stages behind each other: what connects them, and one graph of all.

    samples -> [queue] -> model -> [queue] -> model -> [scores] -> decision

Everything in brackets is a state: it is there whenever a stage reads it, however long ago the stage
before it ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.ir.graph import Graph, Node, Rate, State, Value
from glowmcu.ir.operation import Constant, Rounding
from glowmcu.lazy_dataclass import dataclass
from glowmcu.multirate.decision import decision_graph
from glowmcu.multirate.description import DecisionDescription, Description, StageDescription
from glowmcu.multirate.stage_graphs import StageGraph, Window, held, overlapping, queue, window_of
from glowmcu.ops.assign import Assign

#: What the application's input and the decision are called.
SAMPLES, DECISION = "samples", "decision"


@dataclass(frozen=True)
class Model:
    """A stage's model as its application would see it."""

    stage: StageDescription
    graph: Graph


def connected(
    models: Sequence[Model], description: Description, labels: tuple[str, ...]
) -> tuple[StageGraph, ...]:
    """The stages with queues between them, not lowered yet. Raises GM151 for what does not fit."""
    file = str(description.file)
    arguments = [_argument(model, file) for model in models]
    windows = [
        window_of(value.type, model.stage.name, file)
        for value, model in zip(arguments, models, strict=True)
    ]
    results = [_result(model, file, model is models[-1]) for model in models]
    stages, rate = _first(models[0], windows[0], file)
    for at, model in enumerate(models):
        if at:
            rate = _after(rate, results[at - 1], model.stage, windows[at])
        result, queues = results[at], 1
        graph = replace(model.graph, outputs=model.graph.assigned)
        if at + 1 < len(models):
            following = models[at + 1].stage.name
            graph = queue(graph, result, windows[at + 1], f"rows for {following}", following, file)
        elif description.decision is not None:
            window = _averaged(result, description.decision)
            graph = queue(graph, result, window, "scores", DECISION, file)
        else:
            queues = 0
        shown = _shown(model) if at + 1 == len(models) else []
        graph = held(graph, shown)
        stages.append(StageGraph(model.stage.name, graph, rate, queues, _names(shown)))
    if description.decision is not None:
        window = _averaged(results[-1], description.decision)
        graph = decision_graph(window, description.decision, labels, file, DECISION)
        stages.append(StageGraph(DECISION, graph, replace(rate, name=DECISION), 0, (DECISION,)))
    return tuple(stages)


def joined(stages: Sequence[StageGraph], name: str, rounding: Rounding) -> Graph:
    """One graph of all: what a stage reads is what the state of the one before it becomes."""
    nodes: list[Node] = []
    states: list[State] = []
    assigned: list[Value] = []
    results: list[Value] = []
    (first,) = stages[0].graph.arguments
    given = handed = Value(first.type, SAMPLES)
    for number, stage in enumerate(stages):
        graph = stage.graph
        (argument,) = graph.arguments
        renamed: dict[Value, Value] = {argument: handed}
        own = graph.assigned[len(graph.assigned) - len(stage.held) :] if stage.held else ()
        for value, title in zip(own, stage.held, strict=True):
            renamed[value] = Value(value.type, title)
            results.append(renamed[value])
        for node in graph.nodes:
            inputs = tuple(renamed.get(value, value) for value in node.inputs)
            outputs = tuple(renamed.get(value, value) for value in node.outputs)
            title = f"{stage.name}/{node.name}"
            nodes.append(replace(node, inputs=inputs, outputs=outputs, name=title, stage=number))
        states += graph.states
        became = []
        for own_value in graph.assigned:
            value, maker = renamed.get(own_value, own_value), graph.producers.get(own_value)
            became.append(value)
            if maker is None or isinstance(maker.op, Constant):
                # It is another's, but becomes the state's when this stage computes.
                became[-1] = Value(value.type, f"{value.name}/copy")
                name = f"{stage.name}/{became[-1].name}"
                nodes.append(Node(Assign(), (value,), (became[-1],), name, "pipeline", number))
        assigned += became
        if stage.queues:
            handed = became[-1 - len(stage.held)]
        elif graph.results:
            handed = graph.results[0]
    graph = Graph(
        name,
        (given, *(state.value for state in states)),
        tuple(nodes),
        (*results, *assigned),
        rounding,
        states=tuple(states),
        rates=tuple(stage.rate for stage in stages),
    )
    graph.verify()
    return graph


def _first(model: Model, window: Window, file: str) -> tuple[list[StageGraph], Rate]:
    """The queue of samples, where windows overlap, and the rate of the first model."""
    name = model.stage.name
    hop = window.row_count if model.stage.hop is None else model.stage.hop
    if hop > window.row_count:
        raise error(
            "GM151",
            f"its input has {window.row_count} samples, fewer than its hop of {hop}: the others "
            "would be lost",
            f"{file}, stage {name!r}",
            f"give a hop from 1 to {window.row_count}",
            ExitCode.USAGE,
        )
    if hop == window.row_count:
        return [], Rate(name, 0, 1)
    samples = Value(window.of_rows(hop), SAMPLES)
    stage = StageGraph(SAMPLES, overlapping(samples, window), Rate(SAMPLES, 0, 1))
    return [stage], Rate(name, -(-window.row_count // hop) - 1, 1)


def _after(before: Rate, result: Value, stage: StageDescription, window: Window) -> Rate:
    """When a stage runs that waits for the runs before it that fill its window."""
    elements = max(result.type.element_count, 1)
    runs = -(-window.row_count * window.row_elements // elements)
    hop = runs if stage.hop is None else stage.hop
    return Rate(stage.name, before.first + (runs - 1) * before.period, hop * before.period)


def _averaged(result: Value, decision: DecisionDescription) -> Window:
    """The last results, a row each."""
    classes = result.type.element_count
    type_ = result.type.with_shape((decision.average, classes))
    return Window(type_, 0, decision.average, classes)


def _argument(model: Model, file: str) -> Value:
    values = model.graph.arguments
    found = [value for value in values if value.name == model.stage.input]
    if not model.stage.input and len(values) == 1:
        return values[0]
    if not found or len(values) > 1:
        raise _one_of("input", model.stage.input, values, model, file)
    return found[0]


def _result(model: Model, file: str, is_last: bool) -> Value:
    values = model.graph.results
    found = [value for value in values if value.name == model.stage.output]
    if not model.stage.output and (len(values) == 1 or (is_last and values)):
        return values[0]
    if not found:
        raise _one_of("output", model.stage.output, values, model, file)
    return found[0]


def _one_of(role: str, name: str, values: Sequence[Value], model: Model, file: str) -> GlowmcuError:
    names = ", ".join(value.name for value in values) or "none"
    said = f"no {role} is named {name!r}" if name else f"the model has {len(values)} {role}s"
    hint = f"name one with {role} = …"
    if role == "input" and len(values) > 1:
        said = f"the model has {len(values)} inputs, and data comes in by one"
        hint = "an input and an output that are a state are found by their names (docs/states.md)"
    where = f"{file}, stage {model.stage.name!r}"
    return error("GM151", f"{said}; the {role}s are: {names}", where, hint, ExitCode.USAGE)


def _shown(model: Model) -> list[tuple[str, Value]]:
    """What the application reads of the last model, by name: each result once."""
    values = list(dict.fromkeys(model.graph.results))
    if len(values) == 1:
        return [(model.stage.name, values[0])]
    return [(f"{model.stage.name}_{number}", value) for number, value in enumerate(values)]


def _names(shown: Sequence[tuple[str, Value]]) -> tuple[str, ...]:
    return tuple(name for name, _ in shown)
