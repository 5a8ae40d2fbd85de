"""ADD, SUB, MUL, DIV, POW, FLOOR_DIV, FLOOR_MOD, SQUARED_DIFFERENCE, MAXIMUM, MINIMUM, PRELU."""

from __future__ import annotations

from glowmcu.frontend.tflite.activation_range import fused_clamp
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ops.division import Div, FloorDiv, FloorMod, Pow
from glowmcu.ops.elementwise import (
    Add,
    Maximum,
    Minimum,
    Mul,
    Prelu,
    SquaredDifference,
    Sub,
)

_ARITHMETIC = {
    "ADD": (Add, tflite.AddOptions),
    "SUB": (Sub, tflite.SubOptions),
    "MUL": (Mul, tflite.MulOptions),
    "DIV": (Div, tflite.DivOptions),
}
_PLAIN = {
    "SQUARED_DIFFERENCE": SquaredDifference,
    "MAXIMUM": Maximum,
    "MINIMUM": Minimum,
    "PRELU": Prelu,
    "POW": Pow,
    "FLOOR_DIV": FloorDiv,
    "FLOOR_MOD": FloorMod,
}


@importer(*_ARITHMETIC)
def import_arithmetic(state: Import, op: OperatorRecord) -> None:
    """Two operands that broadcast, and a fused activation."""
    operation, table = _ARITHMETIC[op.name]
    activation = tflite.ActivationFunctionType.NONE
    if op.options_table is not None:
        activation = op.options(table).FusedActivationFunction()
    clamp = fused_clamp(activation, state.output_type(op))
    state.emit(op, operation(clamp), [state.value(op, 0), state.value(op, 1)])


@importer(*_PLAIN)
def import_plain(state: Import, op: OperatorRecord) -> None:
    """Two operands that broadcast, no attributes."""
    state.emit(op, _PLAIN[op.name](), [state.value(op, 0), state.value(op, 1)])
