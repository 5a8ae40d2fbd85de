"""Classes by the nearest mean of what was seen of them: learning without gradients.

The last layer with weights goes; what it read are features. Of each class the mean of its features
is kept and their number, and a score is the distance to the mean, squared and negative.

mean += (features - mean) / count
Source: Welford, 1962; Snell et al., Prototypical Networks, 2017.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.graph import Graph
from glowmcu.learning.features import UNSEEN, head_of, state_of
from glowmcu.ops.comparison import Select
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Maximum
from glowmcu.ops.multiply_add import MultiplyAdd
from glowmcu.ops.reduction import ReduceSumSquare


def with_prototypes(graph: Graph, classes: int, file_name: str) -> Graph:
    """`graph` with `classes` prototypes for its last layer. Raises GM360, GM362."""
    head = head_of(graph, "prototypes", file_name)
    infer, learn, x = head.infer, head.learn, head.features
    means = state_of("prototypes/means", np.zeros((classes, head.length), np.float32))
    counts = state_of("prototypes/counts", np.zeros((classes, 1), np.float32))
    squares = infer.add(ReduceSumSquare((1,), True), infer.minus(x, means.value))
    is_seen = infer.greater(counts.value, infer.number(0.0))
    scores = infer.add(Select(), is_seen, infer.scaled(squares, -1.0), infer.number(UNSEEN))
    is_it = head.is_class(classes, learn.number(1.0), learn.number(0.0))
    counted = learn.plus(counts.value, is_it)
    share = learn.add(Div(), is_it, learn.add(Maximum(), counted, learn.number(1.0)))
    moved = learn.add(MultiplyAdd(2), share, learn.minus(x, means.value), means.value)
    near = learn.times(is_it, learn.where(learn.greater(counts.value, learn.number(0.0)), squares))
    loss = learn.reshape(learn.sum(near, (0, 1)), (1,))
    scores = infer.reshape(scores, (1, classes))
    return head.finished("distance", scores, loss, {means: moved, counts: counted}, classes)
