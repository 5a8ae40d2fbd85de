"""Which outputs of a model are decisions, and how many of them another run takes differently.

A decision is the place of the largest score: along the axis of a closing softmax, in a closing
argmax (an output of integers), or in a row of more than one score that nothing says to be something
else. A closing logistic function decides each score against a half.
"""

from __future__ import annotations

import math

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.transpose import Transpose

#: What gives scores of classes that exclude each other.
_EXCLUSIVE = ("softmax", "log_softmax")
#: What does not end a classifier.
_NO_SCORES = ("tanh", "relu", "clip", "softplus", "sin", "cos")


@dataclass(frozen=True)
class Decision:
    """How output `index` decides: `axis` is that of the classes, None if each element is a
    decision of its own, at `threshold` or, of integers, by its value.
    """

    index: int
    axis: int | None
    threshold: float | None = None

    def taken(self, output: Array) -> Array:
        """The decisions in outputs of many samples, `(samples, *shape)` in real numbers."""
        if self.axis is not None:
            return np.asarray(output.argmax(1 + self.axis))
        return output if self.threshold is None else output > self.threshold


def decisions_of(graph: Graph) -> tuple[Decision, ...]:
    """Of a float graph; none for a regressor."""
    found = [decision_of(graph, index, value) for index, value in enumerate(graph.outputs)]
    certain = [decision for decision in found if decision is not None]
    if certain:
        return tuple(certain)
    rows = [_scores(graph, index, value) for index, value in enumerate(graph.outputs)]
    return tuple(row for row in rows if row is not None) if len(graph.outputs) == 1 else ()


def differing(decision: Decision, want: Array, got: Array) -> tuple[int, int]:
    """How many decisions differ, and of how many; outputs have samples along axis 0 besides."""
    wanted, taken = decision.taken(want), decision.taken(got)
    return int(np.count_nonzero(wanted != taken)), int(wanted.size)


def decision_of(graph: Graph, index: int, value: Value) -> Decision | None:
    """What the end of the graph says of output `index`; None if it says nothing."""
    if value.type.element is not ElementType.F32:
        return Decision(index, None)
    # Axes of the output by those of the tensor that is looked at, back to what made the numbers.
    axes: dict[int, int] = {axis: axis for axis in range(value.type.rank)}
    node = graph.producers.get(value)
    while node is not None and node.op.name in ("reshape", "transpose", "copy"):
        axes = _before(node, axes)
        node = graph.producers.get(node.inputs[0])
    if node is None:
        return None
    classes = axes.get(node.output.type.rank - 1)
    if node.op.name in _EXCLUSIVE and node.output.type.shape[-1] > 1 and classes is not None:
        return Decision(index, classes)
    return Decision(index, None, 0.5) if node.op.name == "logistic" else None


def _before(node: Node, axes: dict[int, int]) -> dict[int, int]:
    """`axes` of the operand of a node that moves elements: of a reshape only the last remains."""
    if isinstance(node.op, Transpose):
        return {node.op.permutation[axis]: output for axis, output in axes.items()}
    before, after = node.inputs[0].type, node.output.type
    if before.shape == after.shape:
        return axes
    last = axes.get(after.rank - 1) if before.shape[-1:] == after.shape[-1:] else None
    return {} if last is None else {before.rank - 1: last}


def _scores(graph: Graph, index: int, value: Value) -> Decision | None:
    """A row of numbers is taken for scores, but where it looks like an input given back."""
    node = graph.producers.get(value)
    is_row = value.type.rank == 2 and value.type.shape[0] == 1 and value.type.shape[1] > 1
    if not is_row or node is None or node.op.name in _NO_SCORES:
        return None
    size = value.type.shape[1]
    if any(math.prod(given.type.shape) == size for given in graph.inputs):
        return None
    return Decision(index, 1)
