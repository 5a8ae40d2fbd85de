"""DYNAMIC_UPDATE_SLICE."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer
from glowmcu.frontend.tflite.operands import operands
from glowmcu.ops.update_slice import DynamicUpdateSlice


@importer("DYNAMIC_UPDATE_SLICE")
def import_update_slice(state: Import, op: OperatorRecord) -> None:
    """A tensor, a part of it, and where that starts, known or computed; it stays inside."""
    state.emit(op, DynamicUpdateSlice(), operands(state, op, 3))
