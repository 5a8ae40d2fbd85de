"""EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, LOGICAL_*, SELECT, SELECT_V2."""

from __future__ import annotations

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.ir.operation import Operation
from glowmcu.ops.comparison import (
    Equal,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    NotEqual,
    Select,
)

_OPERATIONS: dict[str, type[Operation]] = {
    "EQUAL": Equal,
    "NOT_EQUAL": NotEqual,
    "GREATER": Greater,
    "GREATER_EQUAL": GreaterEqual,
    "LESS": Less,
    "LESS_EQUAL": LessEqual,
    "LOGICAL_AND": LogicalAnd,
    "LOGICAL_OR": LogicalOr,
    "LOGICAL_NOT": LogicalNot,
}


@importer(*_OPERATIONS)
def import_comparison(state: Import, op: OperatorRecord) -> None:
    """Operands that broadcast, no attributes."""
    operands = [state.value(op, position) for position in range(len(op.inputs))]
    state.emit(op, _OPERATIONS[op.name](), operands)


@importer("SELECT", "SELECT_V2")
def import_select(state: Import, op: OperatorRecord) -> None:
    """Condition, then, else; SELECT's old rule for a condition of rank 1 is not broadcasting."""
    operands = [state.value(op, position) for position in range(3)]
    shapes = {value.type.shape for value in operands}
    if op.name == "SELECT" and len(shapes) > 1 and operands[0].type.rank == 1:
        raise Unsupported(
            "GM106",
            "SELECT with a condition of rank 1 that picks whole rows is not supported",
            "export the model with SELECT_V2, which broadcasts",
        )
    state.emit(op, Select(), operands)
