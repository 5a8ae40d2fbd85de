"""Functions of one tensor: RELU and its relatives, HARD_SWISH, LOGISTIC, TANH, ELU, ABS, NEG, …"""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.activation import Abs, Clip, HardSwish, LeakyRelu, Neg, Relu, quantize_bound
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.real_functions import Ceil, Cos, Floor, Round, Sign, Sin, Sqrt, Square
from glowmcu.ops.transcendental import Elu, Exp, Gelu, Log, Logistic, Rsqrt, Tanh

_FUNCTIONS: dict[str, type[Operation]] = {
    "HARD_SWISH": HardSwish,
    "LOGISTIC": Logistic,
    "TANH": Tanh,
    "RSQRT": Rsqrt,
    "ELU": Elu,
    "EXP": Exp,
    "LOG": Log,
    "ABS": Abs,
    "NEG": Neg,
    "SQUARE": Square,
    "SIN": Sin,
    "COS": Cos,
    "FLOOR": Floor,
    "CEIL": Ceil,
    "ROUND": Round,
    "SIGN": Sign,
}
_QUANTIZED = (ElementType.I8, ElementType.UI8, ElementType.I16)
#: Real limits of the activations that rescale; None leaves the type's own.
_LIMITS: dict[str, tuple[float, float | None]] = {
    "RELU": (0.0, None),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}


def _expect_quantized(op: OperatorRecord, *types: TensorType) -> None:
    """Unsupported unless every tensor is int8, uint8 or int16 with one scale."""
    for type_ in types:
        if type_.element not in _QUANTIZED or type_.quantization is None:
            raise Unsupported(
                "GM105",
                f"{op.name} needs quantized int8, uint8 or int16, got {type_}",
                "quantize the model to int8 throughout",
            )


@importer(*_FUNCTIONS)
def import_function(state: Import, op: OperatorRecord) -> None:
    """One operand, no attributes."""
    state.emit(op, _FUNCTIONS[op.name](), [state.value(op, 0)])


@importer("SQRT")
def import_sqrt(state: Import, op: OperatorRecord) -> None:
    """Stored values: the next step towards 0, not the nearest: LiteRT's; TFLM has floats alone."""
    x = state.value(op, 0)
    state.emit(op, Sqrt(truncates=x.type.quantization is not None), [x])


@importer(*_LIMITS)
def import_relu(state: Import, op: OperatorRecord) -> None:
    """Rescaled to the output, and clamped there."""
    _add_relu(state, op, *_LIMITS[op.name])


def _add_relu(state: Import, op: OperatorRecord, low: float, high: float | None) -> None:
    x, declared = state.value(op, 0), state.output_type(op)
    if declared.element.is_float:
        state.emit(op, Relu((low, FLOAT_MAX if high is None else high)), [x])
        return
    _expect_quantized(op, x.type, declared)
    lowest, highest = declared.element.limits
    lowest = max(lowest, quantize_bound(low, declared))
    if high is not None:
        highest = min(highest, quantize_bound(high, declared))
    state.emit(op, Relu((lowest, highest), op.name != "RELU"), [x])


@importer("RELU6")
def import_relu6(state: Import, op: OperatorRecord) -> None:
    """Stored values clamped in the input's units, as TensorFlow Lite Micro does it, which takes
    them for the output's whatever scale that has; `round_as_asked` rescales them where LiteRT's
    bytes are asked for. Of uint8, which Micro does not have, rescaled as TensorFlow Lite does.
    """
    x = state.value(op, 0)
    if x.type.element in (ElementType.F32, ElementType.UI8):
        _add_relu(state, op, 0.0, 6.0)
        return
    _expect_quantized(op, x.type, state.output_type(op))
    highest = min(quantize_bound(6.0, x.type), x.type.element.limits[1])
    state.emit(op, Clip((x.type.zero_point, highest)), [x])


@importer("LEAKY_RELU")
def import_leaky_relu(state: Import, op: OperatorRecord) -> None:
    """The slope is a float32 attribute."""
    alpha = float(np.float32(op.options(tflite.LeakyReluOptions).Alpha()))
    state.emit(op, LeakyRelu(alpha), [state.value(op, 0)])


@importer("GELU")
def import_gelu(state: Import, op: OperatorRecord) -> None:
    """By erf, or by its tanh approximation."""
    approximate = False
    if op.options_table is not None:
        approximate = bool(op.options(tflite.GeluOptions).Approximate())
    state.emit(op, Gelu(approximate), [state.value(op, 0)])
