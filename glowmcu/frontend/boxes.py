"""Non-maximum suppression of both formats: corners of boxes in order, and thresholds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ops.detection import NonMaxSuppression
from glowmcu.ops.elementwise import Maximum, Minimum
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.slicing import Slice

Add = Callable[[Operation, Sequence[Value]], Value]


def halves(add: Add, boxes: Value) -> tuple[Value, Value]:
    """Of boxes (batches, boxes, 4) the first two numbers, and the last two."""
    batches, count, _ = boxes.type.shape
    first, second = (
        add(Slice((0, 0, begin), (batches, count, 2), (1, 1, 1)), [boxes]) for begin in (0, 2)
    )
    return first, second


def in_order(add: Add, first: Value, second: Value) -> Value:
    """Boxes of two opposite corners, any of four, with the least numbers in front."""
    ends = [add(Minimum(), [first, second]), add(Maximum(), [first, second])]
    return add(Concatenation(2), ends)


def suppression(
    most: int, score_above: float | None, overlap: float, overlap_stays: bool
) -> NonMaxSuppression:
    """Scores must be above a number, if there is one. An overlap of just `overlap` stays or not."""
    least = -math.inf
    if score_above is not None:
        least = float(np.nextafter(np.float32(score_above), np.float32(np.inf)))
    largest = np.float32(overlap)
    if not overlap_stays:
        largest = np.nextafter(largest, np.float32(-np.inf))
    return NonMaxSuppression(most, least, float(largest))
