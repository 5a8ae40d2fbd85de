"""How far a quantized graph's outputs are from float's, sample by sample: root mean square errors.

Where scores become probabilities at the end, scores are compared: in int8 probabilities, 1/256
apart, most samples look alike. A softmax takes no notice of what all scores have in common, and so
it does not count. Errors are no squares, and no divergence of probabilities: how many decisions
change goes with the size of the error, and a few samples that are far off would outvote the others.
"""

from __future__ import annotations

from dataclasses import replace

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


class OutputErrors:
    """Compares quantized graphs with `graph` on `samples`."""

    def __init__(self, graph: Graph, samples: Samples) -> None:
        self._endings = [_ending(graph, value) for value in graph.outputs]
        self._elements = [value.type.element for value in graph.outputs]
        self._wanted = _outputs_and_scores(graph, samples)

    def outputs(self) -> list[Array]:
        """What `graph` itself gives, in real numbers."""
        return self._wanted[: len(self._elements)]

    def of(self, graph: Graph, samples: Samples) -> tuple[list[Array], Doubles]:
        """Real outputs of a quantized graph, and errors as (outputs, samples); `samples` are as its
        inputs store them.
        """
        count = len(self._elements)
        got = _outputs_and_scores(graph, samples)
        rows = []
        for index, (ending, element) in enumerate(zip(self._endings, self._elements, strict=True)):
            other = _ending(graph, graph.outputs[index])
            if ending is not None and other is not None and _are_alike(ending, other):
                place = count + index
                rows.append(_between_scores(ending, self._wanted[place], got[place]))
            else:
                rows.append(_between_outputs(element, self._wanted[index], got[index]))
        return got[:count], np.stack(rows)


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


def _are_alike(one: Node, other: Node) -> bool:
    return one.op.name == other.op.name and one.output.type.shape == other.output.type.shape


def _between_scores(ending: Node, want: Array, got: Array) -> Doubles:
    difference = got.astype(np.float64) - want
    if ending.op.name != "logistic":
        difference -= difference.mean(-1, keepdims=True)
    return _root_mean_square(difference)


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
