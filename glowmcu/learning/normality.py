"""How far from normal something is, by mean and variance of what was shown as normal.

The last layer with weights goes; what it read are features. Mean and sum of squared differences
from it go on with each sample; the score is the mean over the features of (x - mean)^2 / variance,
about 1 for what is as before. Variances are raised by a thousandth of their mean, so that a feature
that was always the same does not decide alone.

delta = x - mean; mean += delta / n; squares += delta (x - mean)
Source: Welford, Note on a Method for Calculating Corrected Sums of Squares, 1962.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.graph import Graph
from glowmcu.learning.features import head_of, state_of
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Maximum
from glowmcu.ops.multiply_add import MultiplyAdd
from glowmcu.ops.reduction import Mean

_SHARE, _LEAST = 1e-3, 1e-12


def with_normality(graph: Graph, file_name: str) -> Graph:
    """`graph` with a score of one number for its last layer; label 0 shows what is normal. Raises
    GM360, GM362.
    """
    head = head_of(graph, "normal", file_name)
    infer, learn, x, shape = head.infer, head.learn, head.features, (1, head.length)
    mean = state_of("normal/mean", np.zeros(shape, np.float32))
    squares = state_of("normal/squares", np.zeros(shape, np.float32))
    count = state_of("normal/count", np.zeros((1, 1), np.float32))
    apart = infer.minus(x, mean.value)
    at_least = infer.add(Maximum(), count.value, infer.number(1.0))
    variance = infer.add(Div(), squares.value, at_least)
    usual = infer.scaled(infer.add(Mean((1,), True), variance), _SHARE)
    raised = infer.plus(variance, infer.plus(usual, infer.number(_LEAST)))
    parts = infer.add(Div(), infer.times(apart, apart), raised)
    far = infer.add(Mean((1,), True), parts)
    # Of less than two samples nobody knows how they vary.
    scores = infer.where(infer.greater(count.value, infer.number(1.0)), far)
    counted = learn.plus(count.value, learn.number(1.0))
    share = learn.add(Div(), learn.number(1.0), counted)
    moved = learn.add(MultiplyAdd(2), share, apart, mean.value)
    summed = learn.add(MultiplyAdd(2), apart, learn.minus(x, moved), squares.value)
    known = learn.where(learn.greater(count.value, learn.number(1.0)), far)
    loss = learn.reshape(known, (1,))
    states = {mean: moved, squares: summed, count: counted}
    return head.finished("normality", scores, loss, states, 1)
