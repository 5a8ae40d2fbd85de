"""Where a gradient begins: the loss of an output, and how it changes with it.

cross entropy: -log p[label], whose gradient before a softmax is p - onehot(label)
squared error: mean (y - target)^2
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glowmcu.errors import ExitCode, error
from glowmcu.gradient.builder import Builder
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.comparison import Equal, Select
from glowmcu.ops.elementwise import Maximum
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transcendental import Log

#: A probability below counts as this, so that a loss is a number.
_LEAST = 1e-12


@dataclass(frozen=True)
class LossGradient:
    """`loss` f32[1]; `upstream` is the gradient of `of`."""

    loss: Value
    of: Value
    upstream: Value


def cross_entropy(
    build: Builder, nodes: Sequence[Node], scores: Value, label: Value, file_name: str
) -> LossGradient:
    """Of a row of probabilities or, if no softmax made them, of what goes into one; GM362."""
    classes = scores.type.shape[-1] if scores.type.shape else 1
    if scores.type.element_count != classes or classes < 2:
        raise error(
            "GM362",
            f"cross entropy takes one score for each of some classes, and {scores.name!r} is "
            f"{scores.type}",
            file_name,
            "--loss squared-error compares any output with a target",
            ExitCode.UNSUPPORTED,
        )
    softmax = _softmax_before(nodes, scores)
    if softmax is None:
        logits, probabilities, beta = scores, build.add(Softmax(), scores), 1.0
    else:
        assert isinstance(softmax.op, Softmax)
        logits, probabilities, beta = softmax.inputs[0], softmax.output, softmax.op.beta
    numbers = build.constant(np.arange(classes, dtype=np.int32))
    is_it = build.add(Equal(), numbers, label, element=ElementType.BOOL)
    one = build.add(Select(), is_it, build.number(1.0), build.number(0.0))
    one = build.reshape(one, probabilities.type.shape)
    likely = build.add(Maximum(), probabilities, build.number(_LEAST))
    chosen = build.times(one, build.add(Log(), likely))
    axes = tuple(range(chosen.type.rank))
    loss = build.reshape(build.scaled(build.sum(chosen, axes), -1.0), (1,))
    return LossGradient(loss, logits, build.scaled(build.minus(probabilities, one), beta))


def squared_error(build: Builder, result: Value, target: Value) -> LossGradient:
    """Of any output and a target of its shape."""
    count = math.prod(result.type.shape)
    difference = build.minus(result, target)
    squares = build.times(difference, difference)
    total = build.sum(squares, tuple(range(squares.type.rank)))
    loss = build.reshape(build.scaled(total, 1.0 / count), (1,))
    return LossGradient(loss, result, build.scaled(difference, 2.0 / count))


def _softmax_before(nodes: Sequence[Node], value: Value) -> Node | None:
    """The softmax that made the scores, in whatever shape."""
    producers = {result: node for node in nodes for result in node.outputs}
    maker = producers.get(value)
    while maker is not None and isinstance(maker.op, Reshape):
        maker = producers.get(maker.inputs[0])
    return maker if maker is not None and isinstance(maker.op, Softmax) else None
