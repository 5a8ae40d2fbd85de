"""SEGMENT_SUM and its relatives: rows that share a number become one, by scattering them."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tflite.axes import integer_list
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.gather import expect_inside, short_places
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType, Shape
from glowmcu.ops.elementwise import Add, Maximum
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.scatter import Combine, ScatterNd
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice

_COMBINED = {
    "UNSORTED_SEGMENT_SUM": Combine.ADD,
    "UNSORTED_SEGMENT_PROD": Combine.MUL,
    "UNSORTED_SEGMENT_MAX": Combine.MAX,
    "UNSORTED_SEGMENT_MIN": Combine.MIN,
}


@importer("SEGMENT_SUM")
def import_segment_sum(state: Import, op: OperatorRecord) -> None:
    """The numbers must be constant: they say how many sums there are."""
    x, numbers = state.value(op, 0), integer_list(state, op, 1, "its segments")
    _expect_rows(op, x, (len(numbers),))
    if not numbers or min(numbers) < 0:
        raise Unsupported("GM106", f"segment_sum: numbers {list(numbers)}")
    shape = (max(numbers) + 1, *x.type.shape[1:])
    base = _filled(state, x, shape, Combine.ADD)
    places = state.add_constant(np.array(numbers, np.int32)[:, np.newaxis], "places")
    state.emit(op, ScatterNd(Combine.ADD), [base, places, x])


@importer(*_COMBINED)
def import_unsorted_segments(state: Import, op: OperatorRecord) -> None:
    """How many there are must be constant. Rows of negative numbers count nowhere."""
    x, numbers = state.value(op, 0), short_places(state, op)
    counts = integer_list(state, op, 2, "how many segments there are")
    _expect_rows(op, x, numbers.type.shape)
    if len(counts) != 1 or counts[0] < 1:
        raise Unsupported("GM106", f"{op.name}: {list(counts)} segments")
    combine, inner = _COMBINED[op.name], x.type.shape[numbers.type.rank :]
    places = state.emit_inner(op, Reshape((*numbers.type.shape, 1)), [numbers], numbers.type)
    if state.known(op, 1) and (state.constant(op, 1, "its segments") >= 0).all():
        expect_inside(state, op, (counts[0],))
        base = _filled(state, x, (counts[0], *inner), combine)
        state.emit(op, ScatterNd(combine), [base, places, x])
        return
    # One more segment in front takes them.
    one, none = (state.add_constant(np.array(n, np.int32), "number") for n in (1, 0))
    places = state.emit_inner(op, Add(), [places, one], numbers.type)
    places = state.emit_inner(op, Maximum(), [places, none], numbers.type)
    base = _filled(state, x, (counts[0] + 1, *inner), combine)
    rows = state.emit_inner(op, ScatterNd(combine), [base, places, x], x.type)
    rank = rows.type.rank
    begin, steps = (1, *(0,) * (rank - 1)), (1,) * rank
    state.emit(op, Slice(begin, (counts[0], *inner), steps), [rows])


def _expect_rows(op: OperatorRecord, x: Value, shape: Shape) -> None:
    """GM106 unless there is a number for each row of real numbers or plain integers."""
    plain = ElementType.F32, ElementType.I32, ElementType.I64
    is_plain = x.type.element in plain and x.type.quantization is None
    if not is_plain or not shape or x.type.shape[: len(shape)] != shape:
        raise Unsupported("GM106", f"{op.name}: {x.type}, and {list(shape)} numbers of segments")


def _filled(state: Import, x: Value, shape: Shape, combine: Combine) -> Value:
    """What a segment without rows holds."""
    element = x.type.element
    least, most = (-FLOAT_MAX, FLOAT_MAX) if element.is_float else element.limits
    neutral = {Combine.ADD: 0, Combine.MUL: 1, Combine.MAX: least, Combine.MIN: most}
    state.builder.afford(shape, element.size_bytes, "a constant")
    return state.add_constant(np.full(shape, neutral[combine], element.numpy), "segments")
