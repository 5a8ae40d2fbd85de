"""What ONNX-ML's operators make of scores at their end: `post_transform`.

Source: onnxruntime's `ml_common.h`, by whose formulas PROBIT and SOFTMAX_ZERO go.
"""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType
from glowmcu.ops.activation import Abs, Neg
from glowmcu.ops.comparison import Greater, Less, Select
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.real_functions import Sqrt
from glowmcu.ops.reduction import ReduceMax, Sum
from glowmcu.ops.transcendental import Exp, Log, Logistic

TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT")
#: Sizes below which SOFTMAX_ZERO takes a score for 0.
_ZERO = 1e-7


def real(state: Import, value: float, name: str = "constant") -> Value:
    """A float32 constant of no axes."""
    return state.add_constant(np.array(value, np.float32), name)


def transform_name(op: NodeRecord) -> str:
    """The attribute `post_transform`. Raises Unsupported for an unknown one."""
    name = op.text("post_transform", "NONE")
    if name not in TRANSFORMS:
        known = ", ".join(TRANSFORMS)
        raise Unsupported("GM105", f"{op.kind}: post_transform {name[:40]} is none of {known}")
    return name


def transformed(state: Import, op: NodeRecord, scores: Value, name: str) -> Value:
    """`scores` (N, classes) after the transform `name`."""
    if name == "SOFTMAX_ZERO":
        return _softmax_zero(state, op, scores)
    if name == "PROBIT":
        return _probit(state, op, scores)
    simple: dict[str, Operation] = {"LOGISTIC": Logistic(), "SOFTMAX": Softmax()}
    return state.add(op, simple[name], [scores]) if name in simple else scores


def _softmax_zero(state: Import, op: NodeRecord, x: Value) -> Value:
    """Softmax over the scores that are not 0; those stay it."""
    axis = x.type.rank - 1
    largest = state.add(op, ReduceMax((axis,), True), [x])
    power = state.add(op, Exp(), [state.add(op, Sub(), [x, largest])])
    size = state.add(op, Abs(), [x])
    counts = state.add(op, Greater(), [size, real(state, _ZERO, "zero")], ElementType.BOOL)
    total = state.add(
        op,
        Sum((axis,), True),
        [state.add(op, Select(), [counts, power, real(state, 0.0)], x.type.element)],
    )
    small = state.add(op, Mul(), [x, state.add(op, Exp(), [state.add(op, Neg(), [largest])])])
    chosen = state.add(op, Select(), [counts, power, small], x.type.element)
    return state.add(op, Div(), [chosen, total])


def _probit(state: Import, op: NodeRecord, x: Value) -> Value:
    """The quantile of the normal distribution, by an approximation of the error function."""
    one, half = real(state, 1.0, "one"), real(state, 0.5, "half")
    x = state.add(op, Sub(), [state.add(op, Mul(), [x, real(state, 2.0, "two")]), one])
    product = state.add(op, Mul(), [state.add(op, Sub(), [one, x]), state.add(op, Add(), [one, x])])
    log = state.add(op, Log(), [product])
    first = state.add(
        op, Add(), [state.add(op, Mul(), [log, half]), real(state, 2 / (3.14159 * 0.147), "c")]
    )
    second = state.add(op, Mul(), [log, real(state, 1 / 0.147, "d")])
    square = state.add(op, Sub(), [state.add(op, Mul(), [first, first]), second])
    inner = state.add(op, Sub(), [state.add(op, Sqrt(), [square]), first])
    size = state.add(op, Mul(), [state.add(op, Sqrt(), [inner]), real(state, 2**0.5, "root")])
    below = state.add(op, Less(), [x, real(state, 0.0, "zero")], ElementType.BOOL)
    negative = state.add(op, Neg(), [size])
    return state.add(op, Select(), [below, negative, size], x.type.element)
