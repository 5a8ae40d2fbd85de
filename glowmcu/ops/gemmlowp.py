"""gemmlowp's fixed-point functions on numpy arrays: exp, 1/(1+x), logistic and tanh.

A number in Qm.(31-m) is an integer `raw` that means raw * 2^(m-31); `m` is its integer bits. Raw
values are int64 arrays in int32's range. Every intermediate rounding is part of the meaning.
Source: gemmlowp `fixedpoint/fixedpoint.h`.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ops.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    Int64Array,
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
    wrap_int32,
)

#: The product of Qm and Qn is in Q(m + n).
multiply = saturating_rounding_doubling_high_mul
#: 1 in Q0.31, as near as it can be held.
ONE_Q0 = INT32_MAX
_HALF_Q0 = 1 << 30
_48_OVER_17_Q2 = 1515870810
_MINUS_32_OVER_17_Q2 = -1010580540
_EXP_MINUS_EIGHTH_Q0 = 1895147668
_THIRD_Q0 = 715827883
#: (e, exp(-2^e) in Q0.31): the factors that bit e of the exponent contributes.
_EXP_OF_MINUS_POWER = (
    (-2, 1672461947),
    (-1, 1302514674),
    (0, 790015084),
    (1, 290630308),
    (2, 39332535),
    (3, 720401),
    (4, 242),
)


def rounding_half_sum(a: Array | int, b: Array | int) -> Int64Array:
    """(a + b) / 2, halves away from zero: `RoundingHalfSum`."""
    total = np.asarray(a, np.int64) + np.asarray(b, np.int64)
    return np.where(total >= 0, (total + 1) >> 1, -((1 - total) >> 1))


def saturating_multiply_by_pot(x: Array, exponent: int) -> Int64Array:
    """x * 2^exponent, rounded or saturated: `SaturatingRoundingMultiplyByPOT`."""
    wide = np.asarray(x, np.int64)
    if exponent < 0:
        return rounding_divide_by_pot(wide, -exponent)
    saturated: Int64Array = np.clip(wide << exponent, INT32_MIN, INT32_MAX)
    return saturated


def rescale(raw: Array, from_bits: int, to_bits: int) -> Int64Array:
    """The same number with other integer bits: `Rescale`."""
    return saturating_multiply_by_pot(raw, from_bits - to_bits)


def exp_on_negative_values(raw: Array, integer_bits: int) -> Int64Array:
    """exp(a) in Q0.31 for a <= 0 in Q(integer_bits)."""
    a = np.asarray(raw, np.int64)
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    inside = (a & (quarter - 1)) - quarter
    result = _exp_between_minus_quarter_and_0(rescale(inside, integer_bits, 0))
    remainder = inside - a
    for exponent, factor in _EXP_OF_MINUS_POWER:
        if integer_bits > exponent:
            is_set = (remainder & (1 << (fraction_bits + exponent))) != 0
            result = np.where(is_set, multiply(result, factor), result)
    if integer_bits > 5:
        result = np.where(a < -(1 << (fraction_bits + 5)), 0, result)
    return np.where(a == 0, ONE_Q0, result)


def _exp_between_minus_quarter_and_0(a: Int64Array) -> Int64Array:
    """exp(a) in Q0.31 for a in [-1/4, 0): Taylor's series around -1/8."""
    x = a + (1 << 28)
    x2 = multiply(x, x)
    x3 = multiply(x2, x)
    x4_over_4 = rounding_divide_by_pot(multiply(x2, x2), 2)
    tail = rounding_divide_by_pot(multiply(x4_over_4 + x3, _THIRD_Q0) + x2, 1)
    return multiply(x + tail, _EXP_MINUS_EIGHTH_Q0) + _EXP_MINUS_EIGHTH_Q0


def _newton_reciprocal(a: Array) -> Int64Array:
    """2 / (1 + a) in Q2.29 for a in [0, 1] in Q0.31: three Newton-Raphson steps."""
    half_denominator = rounding_half_sum(a, ONE_Q0)
    x = multiply(half_denominator, _MINUS_32_OVER_17_Q2) + _48_OVER_17_Q2
    for _ in range(3):
        rest = (1 << 29) - multiply(half_denominator, x)
        x = wrap_int32(x + rescale(multiply(x, rest), 4, 2))
    return x


def one_over_one_plus_x(a: Array) -> Int64Array:
    """1 / (1 + a) in Q0.31 for a in [0, 1] in Q0.31."""
    return rescale(_newton_reciprocal(a), 1, 0)


def one_minus_x_over_one_plus_x(a: Array) -> Int64Array:
    """(1 - a) / (1 + a) in Q0.31 for a in [0, 1] in Q0.31."""
    return rescale(_newton_reciprocal(a) - (1 << 29), 2, 0)


def logistic(raw: Array, integer_bits: int) -> Int64Array:
    """1 / (1 + exp(-a)) in Q0.31 for `a` in Q(integer_bits)."""
    a = np.asarray(raw, np.int64)
    # -INT32_MIN wraps to itself in the reference; only INT32_MIN is concerned.
    magnitude = wrap_int32(np.where(a > 0, a, -a))
    positive = one_over_one_plus_x(exp_on_negative_values(wrap_int32(-magnitude), integer_bits))
    result = np.where(a > 0, positive, ONE_Q0 - positive)
    return np.where(a == 0, _HALF_Q0, result)


def tanh(raw: Array, integer_bits: int) -> Int64Array:
    """tanh(a) in Q0.31 for `a` in Q(integer_bits)."""
    a = np.asarray(raw, np.int64)
    negative = np.where(a < 0, a, -a)
    # 2a is the same raw value with one integer bit more.
    magnitude = one_minus_x_over_one_plus_x(exp_on_negative_values(negative, integer_bits + 1))
    result = np.where(a < 0, -magnitude, magnitude)
    return np.where(a == 0, 0, result)
