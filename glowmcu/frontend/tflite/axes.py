"""Axes as TFLite writes them: counted from the end where negative, one or a list."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported


def positive_axis(axis: int, rank: int, op: OperatorRecord) -> int:
    """`axis` in `[0, rank)`; GM106 when it is outside."""
    if not -rank <= axis < rank:
        raise Unsupported("GM106", f"{op.name.lower()}: axis {axis} is outside rank {rank}")
    return axis % rank


def axis_operand(state: Import, op: OperatorRecord, position: int, rank: int) -> int:
    """A constant operand that holds one axis."""
    axes = integer_list(state, op, position, "its axis")
    if len(axes) != 1:
        raise Unsupported("GM106", f"{op.name.lower()}: expected one axis, got {len(axes)}")
    return positive_axis(axes[0], rank, op)


def axes_operand(state: Import, op: OperatorRecord, position: int, rank: int) -> tuple[int, ...]:
    """A constant operand that holds a list of axes; sorted, each once."""
    axes = integer_list(state, op, position, "its axes")
    return tuple(sorted({positive_axis(axis, rank, op) for axis in axes}))


def integer_list(state: Import, op: OperatorRecord, position: int, what: str) -> tuple[int, ...]:
    """A constant operand of integers, flattened."""
    data = state.constant(op, position, what)
    if data.dtype.kind not in "iu":
        raise Unsupported("GM106", f"{op.name.lower()}: {what} must be integers, got {data.dtype}")
    return tuple(int(item) for item in data.reshape(-1))
