"""The last stage of a pipeline: scores become detections."""

from __future__ import annotations

import difflib

import numpy as np

from glowmcu.errors import ExitCode, error
from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ir.operation import OperationError
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.multirate.description import DecisionDescription
from glowmcu.multirate.stage_graphs import Window, held
from glowmcu.ops.decide import Decide

_ONE = TensorType((1,), ElementType.I32)


def decision_graph(
    window: Window, decision: DecisionDescription, labels: tuple[str, ...], file: str, name: str
) -> Graph:
    """From the last scores to a held `name`, i32[1]: a class, or -1. Raises GM151."""
    classes = window.type.shape[1]
    ignored = tuple(sorted({_class(item, labels, classes, file) for item in decision.ignore}))
    scores, wait = Value(window.type, "scores"), Value(_ONE, "results to wait")
    found, waits = Value(_ONE, name), Value(_ONE, "results to wait/next")
    op = Decide(decision.threshold, decision.distance, ignored)
    node = Node(op, (scores, wait), (found, waits), name, "pipeline")
    try:
        op.verify(node.signature)
    except OperationError as cause:
        raise error("GM151", str(cause), f"{file}, decision", _HINT, ExitCode.USAGE) from cause
    _expect_reachable(window.type, decision.threshold, file)
    state = State(wait, np.zeros(1, np.int32))
    graph = Graph(name, (scores, wait), (node,), (waits,), states=(state,))
    return held(graph, [(name, found)], initial=-1)


def decision_label_notes(decision: Graph, labels: tuple[str, ...]) -> tuple[str, ...]:
    """What to know where a decision is between another number of classes than there are labels."""
    classes = decision.inputs[0].type.shape[1]
    if len(labels) in (0, classes):
        return ()
    plural = "s" if classes > 1 else ""
    return (f"there are {len(labels)} labels, and the decision is over {classes} score{plural}",)


def _expect_reachable(scores: TensorType, threshold: float, file: str) -> None:
    """Raise GM151 if no stored score is as large as the threshold."""
    if scores.quantization is None:
        return
    most = (scores.element.limits[1] - scores.zero_point) * scores.scale
    if threshold > most:
        raise error(
            "GM151",
            f"a threshold of {threshold:g} is never reached: scores are at most {most:.6g}",
            f"{file}, decision",
            "it is a real number, as the mean of the last scores is",
            ExitCode.USAGE,
        )


_HINT = "docs/pipelines.md shows what a decision takes"


def _class(item: str | int, labels: tuple[str, ...], classes: int, file: str) -> int:
    if isinstance(item, int):
        if 0 <= item < classes:
            return item
        said = f"class {item} of {classes}"
        hint = f"give a label, or a number from 0 to {classes - 1}"
    elif item in labels[:classes]:
        return labels.index(item)
    elif item in labels:
        said = f"{item!r} is label {labels.index(item)}, and there are scores of {classes} classes"
        hint = "labels stand in the order of the scores, one for each"
    else:
        said = f"{item!r} is no label"
        near = difflib.get_close_matches(item, labels, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"labels: {', '.join(labels) or 'none'}"
    raise error("GM151", f"ignore: {said}", f"{file}, decision", hint, ExitCode.USAGE)
