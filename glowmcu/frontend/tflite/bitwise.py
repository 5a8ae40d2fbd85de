"""BITWISE_XOR, RIGHT_SHIFT."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer
from glowmcu.ir.operation import Operation
from glowmcu.ops.bitwise import BitwiseXor, ShiftRight

_OPERATIONS: dict[str, Operation] = {
    "BITWISE_XOR": BitwiseXor(),
    "RIGHT_SHIFT": ShiftRight(clamped=True),
}


@importer(*_OPERATIONS)
def import_bitwise(state: Import, op: OperatorRecord) -> None:
    """Two operands that broadcast, no attributes."""
    state.emit(op, _OPERATIONS[op.name], [state.value(op, 0), state.value(op, 1)])
