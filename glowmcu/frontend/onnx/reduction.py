"""ReduceSum, ReduceMean, ReduceMax, … and those that are one of them between other functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from glowmcu.frontend.onnx.axes import integers, positive_axis
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType
from glowmcu.ops.activation import Relu
from glowmcu.ops.elementwise import Add, Sub
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.real_functions import Sqrt
from glowmcu.ops.reduction import (
    Mean,
    ReduceAll,
    ReduceAny,
    ReduceMax,
    ReduceMin,
    ReduceProd,
    ReduceSumAbsolute,
    ReduceSumSquare,
    Reduction,
    Sum,
)
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transcendental import Exp, Log

#: The largest float but one: a bound that the largest would not be.
_LARGEST = float(np.nextafter(np.float32(FLOAT_MAX), np.float32(0)))
_OPERATIONS: dict[str, Callable[[tuple[int, ...], bool], Reduction]] = {
    "ReduceSum": Sum,
    "ReduceMean": Mean,
    "ReduceProd": ReduceProd,
    "ReduceMax": ReduceMax,
    "ReduceMin": ReduceMin,
    "ReduceL1": ReduceSumAbsolute,
    "ReduceSumSquare": ReduceSumSquare,
}
_OF_BOOLS = {"ReduceMax": ReduceAny, "ReduceMin": ReduceAll}


def _axes(state: Import, op: NodeRecord, x: Value) -> tuple[int, ...]:
    """All axes if none are given, unless `noop_with_empty_axes`."""
    axes = integers(state, op, 1, "axes", "its axes")
    if not axes:
        return () if op.flag("noop_with_empty_axes") else tuple(range(x.type.rank))
    return tuple(sorted({positive_axis(op, axis, x.type.rank) for axis in axes}))


def _keep_dims(op: NodeRecord) -> bool:
    return op.flag("keepdims", True)


@importer(*_OPERATIONS)
def import_reduction(state: Import, op: NodeRecord) -> None:
    """The axes must be known at compile time."""
    x = state.value(op, 0)
    kind = _OPERATIONS[op.kind]
    if x.type.element is ElementType.BOOL:
        kind = _OF_BOOLS.get(op.kind, kind)
    state.emit(op, kind(_axes(state, op, x), _keep_dims(op)), [x])


@importer("ReduceL2")
def import_l2(state: Import, op: NodeRecord) -> None:
    """The root of the sum of squares."""
    x = state.value(op, 0)
    squares = state.add(op, ReduceSumSquare(_axes(state, op, x), _keep_dims(op)), [x])
    state.emit(op, Sqrt(), [squares])


@importer("ReduceLogSum")
def import_log_sum(state: Import, op: NodeRecord) -> None:
    """The logarithm of the sum."""
    x = state.value(op, 0)
    state.emit(op, Log(), [state.add(op, Sum(_axes(state, op, x), _keep_dims(op)), [x])])


@importer("ReduceLogSumExp")
def import_log_sum_exp(state: Import, op: NodeRecord) -> None:
    """log(sum(exp(x - max))) + max: no power is above 1. Infinity less itself is none, so that a
    maximum that is infinite counts as finite there.
    """
    x = state.value(op, 0)
    axes = _axes(state, op, x)
    if not x.type.element.is_float:
        raise Unsupported("GM106", f"ReduceLogSumExp: expected f32, got {x.type}")
    largest = state.add(op, ReduceMax(axes, True), [x])
    largest = state.add(op, Relu((-_LARGEST, _LARGEST)), [largest])
    powers = state.add(op, Exp(), [state.add(op, Sub(), [x, largest])])
    total = state.add(op, Log(), [state.add(op, Sum(axes, True), [powers])])
    if _keep_dims(op):
        state.emit(op, Add(), [total, largest])
        return
    result = state.add(op, Add(), [total, largest])
    shape = tuple(n for axis, n in enumerate(x.type.shape) if axis not in axes)
    state.emit(op, Reshape(shape), [result])
