"""TRANSPOSE and REVERSE_V2."""

from __future__ import annotations

from glowmcu.frontend.tflite.axes import axes_operand, integer_list, positive_axis
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer
from glowmcu.ops.transpose import Reverse, Transpose


@importer("TRANSPOSE")
def import_transpose(state: Import, op: OperatorRecord) -> None:
    """The permutation must be constant."""
    x = state.value(op, 0)
    axes = integer_list(state, op, 1, "its permutation")
    permutation = tuple(positive_axis(axis, x.type.rank, op) for axis in axes)
    state.emit(op, Transpose(permutation), [x])


@importer("REVERSE_V2")
def import_reverse(state: Import, op: OperatorRecord) -> None:
    """The axes must be constant."""
    x = state.value(op, 0)
    state.emit(op, Reverse(axes_operand(state, op, 1, x.type.rank)), [x])
