"""Equal, Greater, Less and their relatives, And, Or, Xor, Not, Where, IsNaN, IsInf."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.elementwise import pair
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType
from glowmcu.ops.activation import Abs
from glowmcu.ops.comparison import (
    Equal,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    LogicalXor,
    NotEqual,
    Select,
)

_PAIRS: dict[str, type[Operation]] = {
    "Equal": Equal,
    "Greater": Greater,
    "GreaterOrEqual": GreaterEqual,
    "Less": Less,
    "LessOrEqual": LessEqual,
    "And": LogicalAnd,
    "Or": LogicalOr,
    "Xor": LogicalXor,
}


@importer(*_PAIRS)
def import_pair(state: Import, op: NodeRecord) -> None:
    """Two operands that broadcast, a bool result."""
    state.emit(op, _PAIRS[op.kind](), list(pair(state, op)), ElementType.BOOL)


@importer("Not")
def import_not(state: Import, op: NodeRecord) -> None:
    """One operand."""
    state.emit(op, LogicalNot(), [state.value(op, 0)])


@importer("Where")
def import_where(state: Import, op: NodeRecord) -> None:
    """Condition, then, else."""
    operands = [state.value(op, position) for position in range(3)]
    state.emit(op, Select(), operands, operands[1].type.element)


@importer("IsNaN")
def import_is_nan(state: Import, op: NodeRecord) -> None:
    """Only what is not a number differs from itself."""
    x = state.value(op, 0)
    state.emit(op, NotEqual(), [x, x], ElementType.BOOL)


@importer("IsInf")
def import_is_inf(state: Import, op: NodeRecord) -> None:
    """Infinities of the signs that are asked for."""
    x = state.value(op, 0)
    positive, negative = op.flag("detect_positive", True), op.flag("detect_negative", True)
    if positive and negative:
        x = state.add(op, Abs(), [x])
    # Nothing equals what is not a number.
    wanted = np.inf if positive else (-np.inf if negative else np.nan)
    bound = state.add_constant(np.array(wanted, np.float32), "infinity")
    state.emit(op, Equal(), [x, bound], ElementType.BOOL)
