"""ADD, SUB, MUL, DIV, POW, FLOOR_DIV, FLOOR_MOD, SQUARED_DIFFERENCE, MAXIMUM, MINIMUM, PRELU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from glowmcu.frontend.tflite.activation_range import fused_clamp
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array, Operation, OperationError
from glowmcu.ir.types import TensorType
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
_PLAIN: dict[str, Callable[[], Operation]] = {
    "SQUARED_DIFFERENCE": SquaredDifference,
    "MAXIMUM": partial(Maximum, keeps_nan=False),
    "MINIMUM": partial(Minimum, keeps_nan=False),
    "PRELU": Prelu,
    "POW": Pow,
    "FLOOR_DIV": FloorDiv,
    "FLOOR_MOD": FloorMod,
    "STABLEHLO_ADD": Add,
    "STABLEHLO_MAXIMUM": Maximum,
    "STABLEHLO_MINIMUM": Minimum,
    "STABLEHLO_MULTIPLY": Mul,
}


@importer(*_ARITHMETIC)
def import_arithmetic(state: Import, op: OperatorRecord) -> None:
    """Two operands that broadcast, and a fused activation."""
    operation, table = _ARITHMETIC[op.name]
    activation = tflite.ActivationFunctionType.NONE
    if op.options_table is not None:
        activation = op.options(table).FusedActivationFunction()
    clamp = fused_clamp(activation, state.output_type(op))
    operands = [state.value(op, 0), state.value(op, 1)]
    try:
        state.emit(op, operation(clamp), operands)
    except Unsupported:
        # A scale that is too small to store products is no matter where all of them are 0.
        if op.name != "MUL" or not any(_is_zero(state, value) for value in operands):
            raise
        zeros = _zeros(state.output_type(op), operands, clamp)
        if zeros is None or not state.fits(op, zeros.shape):
            raise
        state.bind(op, zeros)


def _is_zero(state: Import, value: Value) -> bool:
    """Whether all of a quantized constant is 0, as the first state of an unrolled LSTM is.

    Converters give it, and products with it, scales so small that no product could be stored.
    """
    quantization = value.type.quantization
    if quantization is None or quantization.per_channel or value not in state.builder.known:
        return False
    return bool((state.builder.known[value] == quantization.zero_points[0]).all())


def _zeros(
    declared: TensorType, operands: Sequence[Value], clamp: tuple[float, float] | None
) -> Array | None:
    """A product with 0, of the type `declared`: its zero point, within the activation's bounds.
    None for operands that do not go together.
    """
    types = [value.type for value in operands]
    if declared.quantization is None or any(t.element is not declared.element for t in types):
        return None
    try:
        (shape,) = Mul().infer(types)
    except OperationError:
        return None
    stored = np.clip(declared.zero_point, *(clamp or declared.element.limits))
    return np.full(shape, stored, declared.element.numpy)


@importer(*_PLAIN)
def import_plain(state: Import, op: OperatorRecord) -> None:
    """Two operands that broadcast, no attributes."""
    state.emit(op, _PLAIN[op.name](), [state.value(op, 0), state.value(op, 1)])
