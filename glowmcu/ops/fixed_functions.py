"""TensorFlow Lite's own fixed-point functions: reciprocal, logarithm, inverse square root.

Numbers in Qm.(31-m) as in `gemmlowp`. Source: TensorFlow Lite `kernels/internal/common.h`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ops.fixed_point import INT32_MAX, INT32_MIN, Int64Array, wrap_int32
from glowmcu.ops.gemmlowp import multiply, one_over_one_plus_x, rescale, rounding_half_sum

_SQRT_HALF_Q0 = 1518500250
_FOURTH_ROOT_HALF_Q0 = 1805811301
_LOG_2_Q0 = 1488522236
#: Coefficients of the rational approximation of log around 2^(-1/4).
_ALPHA_N_Q0 = 117049297
_ALPHA_D_Q0 = 127690142
_ALPHA_I_Q0 = 1057819769
_ALPHA_F_Q0 = 638450708


def count_leading_zeros(x: Array) -> Int64Array:
    """Zeros in front of the highest bit of a positive int32."""
    # frexp is exact here: doubles hold every int32.
    return 32 - np.frexp(np.asarray(x, np.float64))[1].astype(np.int64)


def reciprocal(x: Array, integer_bits: int) -> tuple[Int64Array, Int64Array]:
    """`(scale, bits)` with 1/x = scale * 2^-bits, scale in Q0.31: `GetReciprocal`."""
    wide = np.asarray(x, np.int64)
    headroom = count_leading_zeros(wide)
    fraction = (wide << headroom) - 2**31
    return one_over_one_plus_x(fraction), integer_bits - headroom


def log_of_at_least_one(raw: Array, integer_bits: int, result_bits: int) -> Int64Array:
    """log(x) in Q(result_bits) for x >= 1: `log_x_for_x_greater_than_or_equal_to_1`."""
    z_a = np.asarray(raw, np.int64)
    accumulator_bits = result_bits + 1
    unit = 1 << (31 - accumulator_bits)
    headroom = count_leading_zeros(z_a)
    r_a = multiply(np.minimum(z_a << (headroom - 1), INT32_MAX), _SQRT_HALF_Q0) * 2
    power_a = (integer_bits - headroom) * unit + unit // 4
    headroom_b = count_leading_zeros(multiply(z_a, _SQRT_HALF_Q0)) - 1
    r_b = z_a << headroom_b
    power_b = (integer_bits - headroom_b) * unit - unit // 4
    r = np.minimum(np.minimum(r_a, r_b), INT32_MAX)
    power = np.maximum(power_a, power_b)
    q = 2 * (r - _FOURTH_ROOT_HALF_Q0)
    q_squared = multiply(q, q)
    numerator = multiply(q, r) + multiply(multiply(q, q_squared), _ALPHA_N_Q0)
    slope = _ALPHA_I_Q0 + q + multiply(q_squared, _ALPHA_D_Q0)
    p = rounding_half_sum(r, _FOURTH_ROOT_HALF_Q0)
    denominator = multiply(p, slope) + multiply(q, _ALPHA_F_Q0)
    fraction = multiply(
        rescale(numerator, 0, accumulator_bits), one_over_one_plus_x(wrap_int32(denominator))
    )
    return rescale(multiply(power, _LOG_2_Q0) + fraction, accumulator_bits, result_bits)


@lru_cache(maxsize=1 << 14)
def inverse_sqrt(value: int) -> tuple[int, int]:
    """`(multiplier, shift)` with 1/sqrt(value) = multiplier * 2^(shift - 31).

    `GetInvSqrtQuantizedMultiplierExp`; 0 counts as 1.
    """
    if value <= 1:
        return INT32_MAX, 0
    right = 11
    while value >= 1 << 29:
        value //= 4
        right += 1
    pairs = (31 - value.bit_length()) // 2 - 1
    right -= pairs
    q3 = (value << (2 * pairs)) >> 1
    half = (q3 >> 1) + (q3 & 1)
    x = 1 << 28
    for _ in range(5):
        cube = _saturated(_multiply(_multiply(x, x), x) << 6)
        x = _saturated((_multiply((1 << 28) + (1 << 27), x) - _multiply(half, cube)) << 3)
    x = _multiply(x, _SQRT_HALF_Q0)
    return (x << -right, 0) if right < 0 else (x, -right)


def _multiply(a: int, b: int) -> int:
    return min((a * b + (1 << 30)) >> 31, INT32_MAX)


def _saturated(x: int) -> int:
    return min(max(x, INT32_MIN), INT32_MAX)
