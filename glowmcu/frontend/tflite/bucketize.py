"""BUCKETIZE, which Keras' Discretization becomes: between which boundaries a number lies."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.cast import Cast
from glowmcu.ops.comparison import Less, LogicalNot
from glowmcu.ops.reduction import Sum
from glowmcu.ops.shape import Reshape

_REAL, _TRUE, _COUNT = (
    TensorType((), element) for element in (ElementType.F32, ElementType.BOOL, ElementType.I32)
)
_TAKEN = (ElementType.F32, ElementType.I32, ElementType.I64)


@importer("BUCKETIZE")
def import_bucketize(state: Import, op: OperatorRecord) -> None:
    """How many boundaries are not above an element; all of them for what is no number."""
    x = state.value(op, 0)
    if x.type.element not in _TAKEN or x.type.quantization is not None:
        raise Unsupported("GM105", f"bucketize: expected float32, int32 or int64, got {x.type}")
    found = op.options(tflite.BucketizeOptions).BoundariesAsNumpy()
    boundaries = np.asarray(found if isinstance(found, np.ndarray) else [], np.float32)
    if not boundaries.size or (np.diff(boundaries) < 0).any():
        raise Unsupported("GM106", "bucketize: expected boundaries in ascending order")
    if x.type.element is not ElementType.F32:
        x = state.emit_inner(op, Cast(), [x], _REAL)
    column = state.emit_inner(op, Reshape((*x.type.shape, 1)), [x], _REAL)
    bounds = state.add_constant(boundaries, "boundaries")
    below = state.emit_inner(op, Less(), [column, bounds], _TRUE)
    reached = state.emit_inner(op, LogicalNot(), [below], _TRUE)
    ones = state.emit_inner(op, Cast(), [reached], _COUNT)
    state.emit(op, Sum((x.type.rank,), False), [ones])
