"""TILE, BROADCAST_TO and BROADCAST_ARGS."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tflite.axes import integer_list
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.comparison import Equal, Select
from glowmcu.ops.padding import Pad
from glowmcu.ops.tiling import BroadcastTo, Tile


@importer("TILE")
def import_tile(state: Import, op: OperatorRecord) -> None:
    """The multiples must be constant."""
    multiples = integer_list(state, op, 1, "its multiples")
    state.emit(op, Tile(multiples), [state.value(op, 0)])


@importer("BROADCAST_TO")
def import_broadcast_to(state: Import, op: OperatorRecord) -> None:
    """The shape must be constant."""
    shape = integer_list(state, op, 1, "its shape")
    state.emit(op, BroadcastTo(shape), [state.value(op, 0)])


@importer("BROADCAST_ARGS")
def import_broadcast_args(state: Import, op: OperatorRecord) -> None:
    """The shape that two shapes broadcast to: int32 or int64, known or computed.

    Sizes that do not fit are refused if they are known. TensorFlow Lite Micro stops the program
    over computed ones; here the first operand's stands.
    """
    a, b = (_sizes(state, op, position) for position in (0, 1))
    if a.type.element is not b.type.element:
        raise Unsupported("GM106", f"broadcast_args: one type for both, got {a.type}; {b.type}")
    length = max(a.type.shape[0], b.type.shape[0])
    a, b = (_with_ones_in_front(state, op, sizes, length) for sizes in (a, b))
    if state.is_known(a) and state.is_known(b):
        _expect_fit(state, a, b)
    one = state.add_constant(np.ones((), a.type.element.numpy), "one")
    is_one = state.emit_inner(op, Equal(), [a, one], TensorType((), ElementType.BOOL))
    state.emit(op, Select(), [is_one, b, a])


def _sizes(state: Import, op: OperatorRecord, position: int) -> Value:
    sizes = state.value(op, position)
    if sizes.type.element not in (ElementType.I32, ElementType.I64) or sizes.type.rank != 1:
        raise Unsupported(
            "GM106", f"broadcast_args: expected a vector of int32 or int64, got {sizes.type}"
        )
    return sizes


def _with_ones_in_front(state: Import, op: OperatorRecord, sizes: Value, length: int) -> Value:
    missing = length - sizes.type.shape[0]
    if missing == 0:
        return sizes
    if missing == length:
        return state.add_constant(np.ones(length, sizes.type.element.numpy), "ones")
    return state.emit_inner(op, Pad(((missing, 0),), 1), [sizes], sizes.type)


def _expect_fit(state: Import, a: Value, b: Value) -> None:
    first, second = (state.builder.known[sizes] for sizes in (a, b))
    if ((first != second) & (first != 1) & (second != 1)).any():
        raise Unsupported(
            "GM106",
            f"broadcast_args: {first.tolist()} and {second.tolist()} do not broadcast: "
            "sizes must be equal or 1",
        )
