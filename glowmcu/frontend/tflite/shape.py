"""RESHAPE."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer
from glowmcu.ops.shape import Reshape


@importer("RESHAPE")
def import_reshape(state: Import, op: OperatorRecord) -> None:
    """The declared result says the new shape, whether it came as an option or as an operand."""
    x = state.value(op, 0)
    shape = state.output_type(op).shape
    state.emit(op, Reshape(shape), [x])
