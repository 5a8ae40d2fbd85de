"""MEAN, SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_ALL and REDUCE_ANY."""

from __future__ import annotations

from glowmcu.frontend.tflite.axes import axes_operand
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.quantization import Dequantize, Quantize
from glowmcu.ops.reduction import (
    Mean,
    ReduceAll,
    ReduceAny,
    ReduceMax,
    ReduceMin,
    ReduceProd,
    Reduction,
    Sum,
)

_OPERATIONS: dict[str, type[Reduction]] = {
    "MEAN": Mean,
    "SUM": Sum,
    "REDUCE_PROD": ReduceProd,
    "REDUCE_MAX": ReduceMax,
    "REDUCE_MIN": ReduceMin,
    "REDUCE_ALL": ReduceAll,
    "REDUCE_ANY": ReduceAny,
}


@importer(*_OPERATIONS)
def import_reduction(state: Import, op: OperatorRecord) -> None:
    """The axes must be constant; negative ones count from the end. Products of stored numbers are
    the nearest to the real ones: LiteRT rounds after each factor.
    """
    x = state.value(op, 0)
    axes = axes_operand(state, op, 1, x.type.rank)
    operation = _OPERATIONS[op.name](axes, bool(op.options(tflite.ReducerOptions).KeepDims()))
    if op.name != "REDUCE_PROD" or x.type.quantization is None:
        state.emit(op, operation, [x])
        return
    real = TensorType(x.type.shape, ElementType.F32)
    numbers = state.emit_inner(op, Dequantize(), [x], real)
    state.emit(op, Quantize(), [state.emit_inner(op, operation, [numbers], real)])
