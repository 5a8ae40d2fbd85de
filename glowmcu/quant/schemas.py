"""From a real range to scale and zero point: Glow's four schemas.

real = scale * (stored - zero_point). Real 0 is always stored exactly: padding, ReLU and zero
weights depend on it. int8 activations span -128..127, symmetric ones and weights -127..127.
Source: Glow `lib/Quantization/Base/Base.cpp` (`chooseQuantizationParams`), TensorFlow Lite's
quantization specification.
"""

from __future__ import annotations

import math
from enum import Enum

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, Quantization

INT8_MIN, INT8_MAX = -128, 127
#: Weights of four bits are -7..7, as those of eight are -127..127.
INT4_MAX = 7
#: Scales below this make requantization constants leave their range.
SMALLEST_SCALE = 2.0**-60


class Schema(Enum):
    """How a range becomes integers."""

    #: Both ends of the range are used: the finest steps.
    ASYMMETRIC = "asymmetric"
    #: Zero point 0: kernels need no correction by it.
    SYMMETRIC = "symmetric"
    #: Symmetric, but a range without negative numbers takes all 256 steps (zero point -128).
    SYMMETRIC_WITH_UINT8 = "symmetric_with_uint8"
    #: Symmetric, scales are powers of two: requantization is a shift.
    SYMMETRIC_WITH_POWER2_SCALE = "symmetric_with_power2_scale"


def choose_parameters(low: float, high: float, schema: Schema) -> Quantization:
    """int8 scale and zero point for real numbers from `low` to `high`, widened to hold 0."""
    low, high = min(low, 0.0), max(high, 0.0)
    if schema is Schema.ASYMMETRIC:
        return _asymmetric(low, high)
    if schema is Schema.SYMMETRIC_WITH_UINT8 and low == 0.0:
        return _asymmetric(low, high)
    scale = max(-low, high) / INT8_MAX
    if schema is Schema.SYMMETRIC_WITH_POWER2_SCALE:
        scale = power_of_two_above(usable_scale(scale))
    return Quantization((usable_scale(scale),), (0,))


def _asymmetric(low: float, high: float) -> Quantization:
    """The zero point is rounded, and the range moves along by up to half a step."""
    scale = usable_scale((high - low) / (INT8_MAX - INT8_MIN))
    zero_point = min(max(round(INT8_MIN - low / scale), INT8_MIN), INT8_MAX)
    return Quantization((scale,), (zero_point,))


def usable_scale(scale: float) -> float:
    """`scale` as a float32; 1 for tensors of nothing but zeros, which any scale stores."""
    return float(np.float32(scale)) if scale > SMALLEST_SCALE else 1.0


def power_of_two_above(scale: float) -> float:
    """The least power of two that is not below `scale`."""
    fraction, exponent = math.frexp(scale)
    return math.ldexp(1.0, exponent - 1 if fraction == 0.5 else exponent)


def quantize_array(
    values: Array, quantization: Quantization, element: ElementType = ElementType.I8
) -> Array:
    """float32 to `element` as the QUANTIZE operator does it: halves away from zero, saturated."""
    with np.errstate(over="ignore"):  # a mask of -3.4e38 is saturated, too
        quotients = (values / np.float32(quantization.scales[0])).astype(np.float64)
    whole = np.trunc(quotients + np.copysign(0.5, quotients)) + quantization.zero_points[0]
    stored: Array = np.clip(whole, *element.limits).astype(element.numpy)
    return stored
