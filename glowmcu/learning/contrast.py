"""Layers that learn to bring a sample near the mean of its class and away from others'.

The last layer with weights goes. Of each class the mean of its features is kept, as with prototypes
alone; the layers in front move against the gradient of the cross entropy of the distances:

p = softmax(-t |f - mean|^2), t = 1 / sqrt(length),   dL/df = 2 t sum((p - onehot) mean)

A class that nothing was seen of takes no part; its first sample becomes its mean. Means go on by a
share of 1 / 32 at least, since features move under them.
Source: Snell et al., Prototypical Networks, 2017.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.gradient.builder import Builder
from glowmcu.ir.graph import Graph, State, Value
from glowmcu.ir.rewriting import remove_dead_nodes
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.learning.descent import Descent, learning_part
from glowmcu.learning.features import UNSEEN, head_of, state_of
from glowmcu.learning.layers import trained_layers
from glowmcu.learning.stage import (
    FLAG,
    ONE,
    STAGE,
    Names,
    called,
    learning_graph,
    told,
)
from glowmcu.ops.comparison import Equal, Select
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Maximum, Minimum
from glowmcu.ops.multiply_add import MultiplyAdd
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.reduction import ReduceSumSquare
from glowmcu.ops.transcendental import Log
from glowmcu.training import Training

#: A mean is that of about so many samples.
_MOST_COUNTED = 32.0
#: A probability below counts as this, so that a loss is a number.
_LEAST = 1e-12


def with_contrast(graph: Graph, training: Training, file_name: str) -> Graph:
    """`graph` with prototypes for its last layer, and layers in front that learn from them. Raises
    GM360 to GM363.
    """
    features = head_of(graph, "prototypes", file_name).graph_features
    front = _in_front(graph, features)
    layers = trained_layers(front, training, file_name)
    states, real = learning_part(front, layers, features, "the last one", file_name)
    names = Names(value.name for value in (*graph.inputs, *graph.outputs))
    infer, build = Builder("prototypes"), Builder("learning", STAGE)
    label = Value(FLAG, names.new("label"))
    reached = real.real[features]
    classes, length = training.prototypes, reached.type.element_count
    means = state_of("prototypes/means", np.zeros((classes, length), np.float32))
    counts = state_of("prototypes/counts", np.zeros((classes, 1), np.float32))
    contrast = _Contrast(infer, build, reached, means.value, counts.value, label)
    descent = Descent(build, training, states)
    upstream = build.reshape(contrast.upstream(), reached.type.shape)
    moved, counted = contrast.moved_means()
    descent.run(front, real.inner, reached, upstream, file_name)
    (result,) = graph.results
    output = called(contrast.scores, result.name, infer, build)
    last = State(Value(ONE, names.new("last loss")), np.zeros(1, np.float32), True)
    shown = called(contrast.loss(), names.new("loss"), build)
    assigned = {**descent.assigned(), means: moved, counts: counted, last: shown}
    entry = told("contrast", (label,), shown, (*states, means, counts), assigned)
    return learning_graph(
        graph, (*real.nodes, *infer.nodes, *build.nodes), (output, *real.outputs[1:]), (label,),
        shown, assigned, entry, classes,
    )  # fmt: skip


def _in_front(graph: Graph, features: Value) -> Graph:
    """What makes the features, and the states."""
    return remove_dead_nodes(replace(graph, outputs=(features, *graph.outputs[1:])))


@dataclass
class _Contrast:
    """Distances of the features to all means, and what is learnt from them."""

    infer: Builder
    learn: Builder
    features: Value
    means: Value
    counts: Value
    label: Value

    def __post_init__(self) -> None:
        infer, (classes, length) = self.infer, self.means.type.shape
        self._heat = float(length) ** -0.5
        self._row = infer.reshape(self.features, (1, length))
        squares = infer.add(ReduceSumSquare((1,), True), infer.minus(self._row, self.means))
        is_seen = infer.greater(self.counts, infer.number(0.0))
        scores = infer.add(Select(), is_seen, infer.scaled(squares, -1.0), infer.number(UNSEEN))
        #: (1, classes)
        self.scores = infer.reshape(scores, (1, classes))
        self._classes = classes
        self._is_it = self._class_of_label()
        self._likely = self._probabilities()

    def _class_of_label(self) -> Value:
        """1 in the label's row, else 0: (classes, 1)."""
        learn = self.learn
        numbers = np.arange(self._classes, dtype=np.int32).reshape(-1, 1)
        is_it = learn.add(Equal(), learn.constant(numbers), self.label, element=ElementType.BOOL)
        return learn.add(Select(), is_it, learn.number(1.0), learn.number(0.0))

    def _probabilities(self) -> Value:
        heated = self.learn.scaled(self.scores, self._heat)
        return self.learn.reshape(self.learn.add(Softmax(), heated), (self._classes, 1))

    def _if_seen(self, value: Value) -> Value:
        """`value` where something was seen of the label's class before, else 0."""
        learn = self.learn
        known = learn.sum(learn.times(self._is_it, self.counts), (0, 1), keep_dims=True)
        return learn.where(learn.greater(known, learn.number(0.0)), value)

    def upstream(self) -> Value:
        """The gradient of the loss by the features: (1, length)."""
        learn = self.learn
        pull = learn.times(learn.minus(self._likely, self._is_it), self.means)
        total = learn.sum(pull, (0,), keep_dims=True)
        return self._if_seen(learn.scaled(total, 2.0 * self._heat))

    def loss(self) -> Value:
        """f32[1]."""
        learn = self.learn
        likely = learn.add(Maximum(), self._likely, learn.number(_LEAST))
        chosen = learn.times(self._is_it, learn.add(Log(), likely))
        lost = learn.scaled(learn.sum(chosen, (0, 1), keep_dims=True), -1.0)
        return learn.reshape(self._if_seen(lost), (1,))

    def moved_means(self) -> tuple[Value, Value]:
        """What means and counts become."""
        learn = self.learn
        counted = learn.plus(self.counts, self._is_it)
        most = learn.add(Minimum(), counted, learn.number(_MOST_COUNTED))
        share = learn.add(Div(), self._is_it, learn.add(Maximum(), most, learn.number(1.0)))
        moved = learn.add(MultiplyAdd(2), share, learn.minus(self._row, self.means), self.means)
        return moved, counted
