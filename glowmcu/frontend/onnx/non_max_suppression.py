"""NonMaxSuppression: rows of batch, class and box, as many as there may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.frontend.boxes import halves, in_order, suppression
from glowmcu.frontend.onnx.axes import required_integers
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType
from glowmcu.ops.cast import Cast
from glowmcu.ops.elementwise import Add, Mul, Sub

_OVERLAP, _SCORE = 3, 4


@importer("NonMaxSuppression")
def import_non_max_suppression(state: Import, op: NodeRecord) -> None:
    """How many boxes of a class stay at most and thresholds must be known at compile time. There
    are rows for all that may stay; those behind the last one are -1, -1, -1, where an application
    stops. By these Gather takes the last box, as a note says; what depends on how many boxes stay
    (Shape, TopK, a maximum of them) is refused.
    """
    boxes, scores = state.value(op, 0), state.value(op, 1)
    most = required_integers(state, op, 2, "", "how many boxes stay")
    if boxes.type.shape[2:] != (4,) or scores.type.rank != 3 or len(most) != 1:
        raise Unsupported("GM106", f"{op.kind}: boxes {boxes.type}, scores {scores.type}")

    def add(operation: Operation, values: Sequence[Value]) -> Value:
        return state.add(op, operation, values)

    first, second = halves(add, boxes)
    if op.flag("center_point_box"):
        half = add(Mul(), [second, state.add_constant(np.array(0.5, np.float32), "half")])
        first, second = add(Sub(), [first, half]), add(Add(), [first, half])
    overlap = _number(state, op, _OVERLAP) if state.has(op, _OVERLAP) else 0.0
    score = _number(state, op, _SCORE) if state.has(op, _SCORE) else None
    stay = min(most[0], boxes.type.shape[1])
    operation = suppression(stay, score, overlap, overlap_stays=True)
    names = tuple(f"{op.outputs[0]}/{what}" for what in ("rows", "count"))
    whole = (ElementType.I32, ElementType.I32)
    rows, _ = state.add_all(
        replace(op, outputs=names), operation, [in_order(add, first, second), scores],
        elements=whole,
    )  # fmt: skip
    state.emit(op, Cast(), [rows], ElementType.I64)
    state.selected[op.outputs[0]] = frozenset(rows.type.shape[:1])


def _number(state: Import, op: NodeRecord, position: int) -> float:
    data = state.constant(op, position, "its thresholds")
    if data.size != 1:
        raise Unsupported("GM106", f"{op.kind}: operand {position} is {data.size} numbers")
    return float(data.reshape(-1)[0])
