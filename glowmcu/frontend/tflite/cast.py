"""CAST."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer
from glowmcu.ops.cast import Cast


@importer("CAST")
def import_cast(state: Import, op: OperatorRecord) -> None:
    """The tensors' types say from what to what; the options repeat it."""
    state.emit(op, Cast(), [state.value(op, 0)])
