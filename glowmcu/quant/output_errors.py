"""How far a quantized graph's outputs are from float's, sample by sample: root mean square errors.

Where scores become probabilities at the end, scores are compared: in int8 probabilities, 1/256
apart, most samples look alike. A softmax takes no notice of what all scores have in common, and so
it does not count. Errors are no squares, and no divergence of probabilities: how many decisions
change goes with the size of the error, and a few samples that are far off would outvote the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.quant.real_outputs import real_outputs
from glowmcu.quant.samples import Samples

Doubles = npt.NDArray[np.float64]
#: What moves, stores or names numbers and leaves them what they are.
_TRANSPARENT = ("reshape", "transpose", "copy", "quantize", "dequantize", "requantize")
_CLASSES = ("softmax", "log_softmax", "logistic")


@dataclass(frozen=True, eq=False)
class RealOutputs:
    """What a graph gives for many samples, `(samples, *shape)` an output, in real numbers.

    `scores` are those that an output's probabilities are made of, without what a softmax takes no
    notice of, and other outputs themselves; NaN where a quantized graph has none. Empty if no
    output is made of scores.
    """

    outputs: list[Array]
    scores: list[Array]


def joined(parts: Sequence[RealOutputs]) -> RealOutputs:
    """Outputs of samples behind each other."""
    outputs = zip(*(part.outputs for part in parts), strict=True)
    scores = zip(*(part.scores for part in parts), strict=True)
    return RealOutputs(
        [np.concatenate(arrays) for arrays in outputs], [np.concatenate(found) for found in scores]
    )


class OutputErrors:
    """Compares quantized graphs with `graph` on `samples`."""

    def __init__(self, graph: Graph, samples: Samples) -> None:
        self._endings = [_ending(graph, value) for value in graph.outputs]
        self._elements = [value.type.element for value in graph.outputs]
        self._wanted = _outputs_and_scores(graph, samples)

    def outputs(self) -> RealOutputs:
        """What `graph` itself gives."""
        count = len(self._elements)
        return RealOutputs(self._wanted[:count], self._scores(self._wanted, self._endings))

    def of(self, graph: Graph, samples: Samples) -> tuple[RealOutputs, Doubles]:
        """Real outputs of a quantized graph, and errors as (outputs, samples); `samples` are as its
        inputs store them.
        """
        count = len(self._elements)
        got = _outputs_and_scores(graph, samples)
        others = [_ending(graph, value) for value in graph.outputs]
        rows = []
        for index, (ending, element) in enumerate(zip(self._endings, self._elements, strict=True)):
            if ending is not None and _are_alike(ending, others[index]):
                place = count + index
                rows.append(_between_scores(ending, self._wanted[place], got[place]))
            else:
                rows.append(_between_outputs(element, self._wanted[index], got[index]))
        return RealOutputs(got[:count], self._scores(got, others)), np.stack(rows)

    def _scores(self, values: list[Array], endings: list[Node | None]) -> list[Array]:
        if not any(self._endings):
            return []
        count = len(self._elements)
        found = []
        for index, (wanted, ending) in enumerate(zip(self._endings, endings, strict=True)):
            if wanted is None:
                found.append(values[index])
            elif _are_alike(wanted, ending):
                found.append(_without_common(wanted, values[count + index]))
            else:
                found.append(np.full_like(self._wanted[count + index], np.nan))
        return found


def _outputs_and_scores(graph: Graph, samples: Samples) -> list[Array]:
    """All outputs, then for each the scores that it is made of, or itself."""
    scores: list[Value] = []
    for value in graph.outputs:
        ending = _ending(graph, value)
        scores.append(value if ending is None else ending.inputs[0])
    return real_outputs(replace(graph, outputs=(*graph.outputs, *scores)), samples)


def _ending(graph: Graph, value: Value) -> Node | None:
    """The node that makes probabilities of scores at the end; None if there is none."""
    node = graph.producers.get(value)
    while node is not None and node.op.name in _TRANSPARENT:
        node = graph.producers.get(node.inputs[0])
    return node if node is not None and node.op.name in _CLASSES else None


def _are_alike(one: Node, other: Node | None) -> bool:
    return (
        other is not None
        and one.op.name == other.op.name
        and one.output.type.shape == other.output.type.shape
    )


def _without_common(ending: Node, scores: Array) -> Array:
    """Scores without what they have in common, if that does not change what is made of them."""
    if ending.op.name == "logistic":
        return scores
    return np.asarray(scores - scores.mean(-1, keepdims=True))


def _between_scores(ending: Node, want: Array, got: Array) -> Doubles:
    return _root_mean_square(_without_common(ending, got.astype(np.float64) - want))


def _between_outputs(element: ElementType, want: Array, got: Array) -> Doubles:
    """Of integers, the share that differs."""
    if element is not ElementType.F32:
        differs: Doubles = (want != got).reshape(len(want), -1).mean(axis=1)
        return differs
    return _root_mean_square(got.astype(np.float64) - want)


def _root_mean_square(values: Doubles) -> Doubles:
    """Of each sample."""
    found: Doubles = np.sqrt(np.square(values).reshape(len(values), -1).mean(axis=1))
    return found
