"""REVERSE_SEQUENCE: elements taken in another order, by positions that the lengths say."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tflite.axes import positive_axis
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.cast import Cast
from glowmcu.ops.comparison import Less, Select
from glowmcu.ops.elementwise import Sub
from glowmcu.ops.gather import Gather
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose

_INTEGERS = (ElementType.I32, ElementType.I64)


@importer("REVERSE_SEQUENCE")
def import_reverse_sequence(state: Import, op: OperatorRecord) -> None:
    """The first elements of every sequence in opposite order; lengths known or computed."""
    options = op.options(tflite.ReverseSequenceOptions)
    x, lengths = state.value(op, 0), state.value(op, 1)
    time = positive_axis(options.SeqDim(), x.type.rank, op)
    batch = positive_axis(options.BatchDim(), x.type.rank, op)
    if batch == time:
        raise Unsupported("GM106", f"reverse_sequence: axis {time} is time and batch at once")
    if lengths.type.shape != (x.type.shape[batch],) or lengths.type.element not in _INTEGERS:
        raise Unsupported(
            "GM106",
            f"reverse_sequence: expected {x.type.shape[batch]} lengths of int32 or int64, "
            f"got {lengths.type}",
        )
    steps = x.type.shape[time]
    is_known = state.known(op, 1)
    order = _known_order(state, op, steps) if is_known else _order(state, op, lengths, steps)
    others = [axis for axis in range(x.type.rank) if axis not in (batch, time)]
    permutation = (batch, time, *others)
    if permutation == tuple(range(x.type.rank)):
        state.emit(op, Gather(1, 1), [x, order])
        return
    turned = state.emit_inner(op, Transpose(permutation), [x], x.type)
    found = state.emit_inner(op, Gather(1, 1), [turned, order], x.type)
    state.emit(op, Transpose(permutation).inverse, [found])


def _known_order(state: Import, op: OperatorRecord, steps: int) -> Value:
    """For every sequence the position that each place takes its element from."""
    lengths = state.constant(op, 1, "the lengths of its sequences")
    outside = lengths[(lengths < 0) | (lengths > steps)]
    if outside.size:
        raise Unsupported(
            "GM106", f"reverse_sequence: a length of {outside[0]} in an axis of {steps}"
        )
    state.builder.afford((lengths.size, steps), 16, "a constant")
    places, ends = np.arange(steps), lengths[:, np.newaxis]
    order = np.where(places < ends, ends - 1 - places, places)
    return state.add_constant(order.astype(np.int32), "order")


def _order(state: Import, op: OperatorRecord, lengths: Value, steps: int) -> Value:
    """The same by lengths that are computed. A length beyond the axis takes its last element for
    those that are not there; TensorFlow Lite refuses to run.
    """
    count, truth = TensorType((), ElementType.I32), TensorType((), ElementType.BOOL)
    if lengths.type.element is ElementType.I64:
        lengths = state.emit_inner(op, Cast(), [lengths], count)
    places = state.add_constant(np.arange(steps, dtype=np.int32)[np.newaxis], "places")
    last = state.add_constant(np.ones((1, 1), np.int32), "one")
    ends = state.emit_inner(op, Reshape((lengths.type.shape[0], 1)), [lengths], count)
    is_before = state.emit_inner(op, Less(), [places, ends], truth)
    lasts = state.emit_inner(op, Sub(), [ends, last], count)
    mirrored = state.emit_inner(op, Sub(), [lasts, places], count)
    return state.emit_inner(op, Select(), [is_before, mirrored, places], count)
