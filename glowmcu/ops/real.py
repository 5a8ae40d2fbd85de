"""What operators on real numbers (float32) share."""

from __future__ import annotations

import math

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Signature
from glowmcu.ir.types import ElementType, TensorType

#: Stands for "no bound" in a clamp: no finite float32 exceeds it, and what is infinite stays so.
FLOAT_MAX = float(np.finfo(np.float32).max)
Clamp = tuple[float, float] | None


def verify_float(signature: Signature) -> None:
    """Raise OperationError unless every operand and result is float32."""
    for type_ in (*signature.inputs, *signature.outputs):
        if type_.element is not ElementType.F32:
            raise OperationError(f"expected f32 throughout, got {type_}")


def clamp_float(values: Array, clamp: Clamp) -> Array:
    """`values` as float32 within `clamp`; NaN stays NaN."""
    single = values.astype(np.float32, copy=False)
    if clamp is None:
        return single
    low, high = open_bounds(clamp)
    return np.clip(single, np.float32(low), np.float32(high))


def open_bounds(clamp: tuple[float, float]) -> tuple[float, float]:
    """The bounds of a clamp, infinite where there is none."""
    low, high = clamp
    return (-math.inf if low <= -FLOAT_MAX else low), (math.inf if high >= FLOAT_MAX else high)


def stored_clamp(clamp: Clamp, type_: TensorType) -> tuple[int, int]:
    """The clamp of an integer result in stored units; None leaves the type's full range."""
    return type_.element.limits if clamp is None else (int(clamp[0]), int(clamp[1]))


_erf = np.vectorize(math.erf, otypes=[np.float32])


def erf(x: Array) -> Array:
    """The error function of each element."""
    values: Array = _erf(np.asarray(x, np.float64)) if x.size else np.asarray(x, np.float32)
    return values
