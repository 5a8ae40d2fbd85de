"""ATAN2."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer
from glowmcu.ops.angle import Atan2


@importer("ATAN2")
def import_atan2(state: Import, op: OperatorRecord) -> None:
    """The angle of (x, y): y comes first. float32 alone."""
    state.emit(op, Atan2(), [state.value(op, 0), state.value(op, 1)])
