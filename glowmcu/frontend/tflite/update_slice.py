"""DYNAMIC_UPDATE_SLICE."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.ops.update_slice import DynamicUpdateSlice


@importer("DYNAMIC_UPDATE_SLICE")
def import_update_slice(state: Import, op: OperatorRecord) -> None:
    """A tensor, a part of it, and where that starts, known or computed; it stays inside."""
    if len(op.inputs) != 3 or len(op.outputs) != 1:
        raise Unsupported(
            "GM106",
            f"dynamic_update_slice: {len(op.inputs)} operands and {len(op.outputs)} results; "
            "expected 3 and 1",
        )
    state.emit(op, DynamicUpdateSlice(), [state.value(op, position) for position in range(3)])
