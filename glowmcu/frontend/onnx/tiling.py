"""Expand and Tile."""

from __future__ import annotations

from glowmcu.frontend.onnx.axes import required_integers
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.operation import OperationError
from glowmcu.ops.broadcasting import broadcast_shape
from glowmcu.ops.tiling import BroadcastTo, Tile


@importer("Expand")
def import_expand(state: Import, op: NodeRecord) -> None:
    """To the shape that the operand's and the given one have in common."""
    x = state.value(op, 0)
    wanted = required_integers(state, op, 1, "shape", "its shape")
    try:
        shape = broadcast_shape([x.type.shape, wanted])
    except OperationError as cause:
        raise Unsupported("GM106", f"Expand: {cause}") from cause
    state.emit(op, BroadcastTo(shape), [x])


@importer("Tile")
def import_tile(state: Import, op: NodeRecord) -> None:
    """The repeats must be known at compile time."""
    repeats = required_integers(state, op, 1, "repeats", "its repeats")
    state.emit(op, Tile(repeats), [state.value(op, 0)])
