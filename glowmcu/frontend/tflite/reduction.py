"""MEAN, SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_ALL and REDUCE_ANY."""

from __future__ import annotations

from glowmcu.frontend.tflite.axes import axes_operand
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, importer
from glowmcu.frontend.tflite.schema import tflite
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
    """The axes must be constant; negative ones count from the end."""
    x = state.value(op, 0)
    axes = axes_operand(state, op, 1, x.type.rank)
    keep_dims = bool(op.options(tflite.ReducerOptions).KeepDims())
    state.emit(op, _OPERATIONS[op.name](axes, keep_dims), [x])
