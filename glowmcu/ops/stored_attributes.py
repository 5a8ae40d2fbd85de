"""Attributes that are real numbers in a float operator and stored units in an int8 one.

By convention of `glowmcu.ops` these are the fields `clamp` (a fused activation, of the result) and
`value` (what padding is filled with).
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from glowmcu.ir.operation import Operation
from glowmcu.ir.types import TensorType
from glowmcu.ops.fixed_point import round_half_away


def with_stored_attributes(op: Operation, result: TensorType) -> Operation:
    """`op` as it is on the integers of `result`."""
    names = {field.name for field in fields(op)}
    changed: Any = op
    if "clamp" in names and changed.clamp is not None:
        low, high = changed.clamp
        clamp = stored_bound(low, result), stored_bound(high, result)
        # What clamps to the type's own limits, saturation does in any case.
        optional = clamp if _needs_clamp(op) else None
        changed = replace(changed, clamp=optional if clamp == result.element.limits else clamp)
    if "value" in names:
        changed = replace(changed, value=stored_bound(float(changed.value), result))
    found: Operation = changed
    return found


def stored_bound(real: float, type_: TensorType) -> int:
    """zero_point + round(real / scale) within the type's limits; computed in float32 as TensorFlow
    Lite does (`CalculateActivationRangeQuantized`).
    """
    lowest, highest = type_.element.limits
    with np.errstate(over="ignore"):
        quotient = float(np.float32(real) / np.float32(type_.scale))
    if not abs(quotient) < 2.0**24:
        return lowest if quotient < 0 else highest
    return min(max(type_.zero_point + round_half_away(quotient), lowest), highest)


def _needs_clamp(op: Operation) -> bool:
    """Whether None is no value of the operator's `clamp`."""
    return all(field.default is not None for field in fields(op) if field.name == "clamp")
