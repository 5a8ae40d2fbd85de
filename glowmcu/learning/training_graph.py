"""A model's graph with a stage that learns.

inputs:  those of the model, `label` i32[1] (squared error: `target` and `learn` i32[1])
outputs: those of the model, `loss` f32[1]
states:  parameters, their momenta, `learning_rate` f32[1], `momentum` f32[1], the loss
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.gradient.builder import Builder
from glowmcu.ir.graph import Graph, State, Value
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.learning.contrast import with_contrast
from glowmcu.learning.descent import Descent, learning_part
from glowmcu.learning.fixed_point import with_fixed_point
from glowmcu.learning.layers import TrainedLayer, trained_layers, with_own_constants
from glowmcu.learning.losses import LossGradient, cross_entropy, squared_error
from glowmcu.learning.neighbours import with_neighbours
from glowmcu.learning.normality import with_normality
from glowmcu.learning.prototypes import with_prototypes
from glowmcu.learning.real_part import RealPart, part_behind
from glowmcu.learning.stage import (
    FLAG,
    ONE,
    STAGE,
    Names,
    called,
    learning_graph,
    told,
)
from glowmcu.lowering import fold_constants
from glowmcu.training import Loss, Numbers, Training


def with_training(graph: Graph, training: Training, file_name: str) -> Graph:
    """`graph`, that learns. Raises GM360 to GM363."""
    graph = with_own_constants(fold_constants.run(graph))
    _expect_learnable(graph, file_name)
    if training.has_gradient and not training.is_contrastive:
        return _with_gradient(graph, training, file_name)
    _only(graph, graph.results, file_name)
    if training.is_contrastive:
        return with_contrast(graph, training, file_name)
    if training.prototypes:
        return with_prototypes(graph, training.prototypes, file_name)
    if training.neighbours is not None:
        return with_neighbours(graph, *training.neighbours, file_name)
    return with_normality(graph, file_name)


def _with_gradient(graph: Graph, training: Training, file_name: str) -> Graph:
    """By the loss of the only output that the layers have influence on."""
    layers = trained_layers(graph, training, file_name)
    reached = {
        value
        for node in part_behind(graph, {layer.node: None for layer in layers})
        for value in node.outputs
    }
    result = _only(graph, [value for value in graph.results if value in reached], file_name)
    if training.numbers is not Numbers.FLOAT32:
        try:
            return with_fixed_point(graph, layers, result, training, file_name)
        except GlowmcuError:
            if training.numbers is Numbers.FIXED:
                raise
    return _with_real_numbers(graph, layers, result, training, file_name)


def _with_real_numbers(
    graph: Graph,
    layers: tuple[TrainedLayer, ...],
    result: Value,
    training: Training,
    file_name: str,
) -> Graph:
    states, real = learning_part(graph, layers, result, "the output", file_name)
    names = Names(value.name for value in (*graph.inputs, *graph.outputs))
    build = Builder("learning", STAGE)
    arguments, learnt = _loss(build, training, real, real.real[result], names, file_name)
    loss = State(Value(ONE, names.new("last loss")), np.zeros(1, np.float32), True)
    shown = called(learnt.loss, names.new("loss"), build)
    descent = Descent(build, training, states)
    descent.run(graph, real.inner, learnt.of, learnt.upstream, file_name)
    assigned = {**descent.assigned(), loss: shown}
    end = real.real[result].type.shape[-1] if training.loss is Loss.CROSS_ENTROPY else 1
    entry = told(training.loss.value, arguments, shown, states, assigned)
    nodes = (*real.nodes, *build.nodes)
    return learning_graph(graph, nodes, real.outputs, arguments, shown, assigned, entry, end)


def _expect_learnable(graph: Graph, file_name: str) -> None:
    """Raises GM363."""
    if graph.rates:
        raise error(
            "GM363",
            "a model of several rates cannot learn",
            file_name,
            "train the part that learns as a model of its own",
            ExitCode.UNSUPPORTED,
        )
    if not graph.arguments:
        raise error(
            "GM363",
            "a model without inputs has nothing to learn from",
            file_name,
            "leave out --train",
            ExitCode.UNSUPPORTED,
        )


def _only(graph: Graph, results: Sequence[Value], file_name: str) -> Value:
    """Of what learning has influence on. Raises GM362."""
    if len(results) == 1:
        return results[0]
    shown = ", ".join(value.name for value in results or graph.results)
    raise error(
        "GM362",
        f"a loss is of one output, and what learns has influence on {len(results)}: {shown}",
        file_name,
        "let layers learn, by their names, that have influence on one output; or export the model "
        "with the output that is to learn",
        ExitCode.UNSUPPORTED,
    )


def _loss(
    build: Builder, training: Training, real: RealPart, result: Value, names: Names, file: str
) -> tuple[tuple[Value, ...], LossGradient]:
    """Arguments for the loss, that which asks for learning last; and the loss."""
    if training.loss is Loss.CROSS_ENTROPY:
        label = Value(FLAG, names.new("label"))
        return (label,), cross_entropy(build, real.inner, result, label, file)
    target = Value(TensorType(result.type.shape, ElementType.F32), names.new("target"))
    return (target, Value(FLAG, names.new("learn"))), squared_error(build, result, target)
