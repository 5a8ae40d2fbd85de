"""TILE and BROADCAST_TO."""

from __future__ import annotations

from glowmcu.frontend.tflite.axes import integer_list
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer
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
