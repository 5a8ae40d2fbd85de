"""Rows of stored integers with mean 0 and variance 1, in 64 bits at most.

With d = x - zero point, n elements a row and S = sum(d), the result is e / sqrt(V + E), where
e = n * d - S and V = n * sum(d^2) - S^2 are exact: no mean is ever rounded. E is epsilon in the
units of V. Both are scaled by 2^k so that the root keeps its bits. TensorFlow Lite has no such
operator: this is all that there is of a meaning.

Errors beyond the nearest stored value: 2^-f steps of the result for the fraction that is cut off,
with f >= 4, and 2^-25 of the result for the root: together below 0.6 steps.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array, OperationError
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.fixed_point import Int64Array, saturate

UInt64Array = npt.NDArray[np.uint64]

#: Longest row: then e is an int32, and V stays below 2^60.
LONGEST_ROW = 2**15
#: 1 / sqrt(a) in [1/4, 1) is near FIRST - a * (SECOND - a * THIRD), Q3.29; then come these steps.
FIRST, SECOND, THIRD = 1433905028, 1763838735, 879711978
NEWTON_STEPS = 3
#: Bits of the numbers that are squared, by element type.
_MAGNITUDE_BITS = {ElementType.I8: 8, ElementType.I16: 15}
_LEAST_FRACTION, _MOST_FRACTION = 4, 8


@dataclass(frozen=True)
class RowScale:
    """Constants of one normalization.

    E = epsilon_mantissa * 2^epsilon_shift, added to V * 2^variance_shift. A quotient has
    `quotient_bits` of a fraction; times `factor` its upper half has `fraction` bits behind the
    result's step. `addend` holds the zero point, a half, and half of what is cut off.
    """

    epsilon_mantissa: int
    epsilon_shift: int
    variance_shift: int
    quotient_bits: int
    factor: int
    addend: int
    fraction: int

    @property
    def base_shift(self) -> int:
        """To the left, of e, for a sum of squares that is not shifted at all."""
        return self.variance_shift // 2 + self.quotient_bits - 29


def row_scale(epsilon: float, x: TensorType, out: TensorType) -> RowScale:
    """For rows of `x`. Raises OperationError for types and scales that cannot be expressed."""
    depth = x.shape[-1]
    _verify_types(x, out)
    if depth > LONGEST_ROW:
        raise OperationError(f"a last axis of {depth} exceeds {LONGEST_ROW}")
    if not 0 <= epsilon < math.inf:
        raise OperationError(f"epsilon {epsilon} must be finite and not below 0")
    largest = 2 * (depth - 1).bit_length() + 2 * _MAGNITUDE_BITS[x.element]
    epsilon_units = epsilon * (depth / x.scale) ** 2
    epsilon_bits = math.frexp(epsilon_units)[1]
    variance_shift = min((61 - max(largest, epsilon_bits)) // 2 * 2, 46)
    if variance_shift < 0:
        raise OperationError(f"epsilon {epsilon} hides all that an input scale {x.scale} stores")
    mantissa, shift = _mantissa(epsilon_units * 2.0**variance_shift)
    quotient_bits = math.floor(27.9 - math.log2(depth) / 2)
    steps = 1.0 / out.scale
    fraction = min(quotient_bits - 1 - math.frexp(steps)[1], _MOST_FRACTION)
    if fraction < _LEAST_FRACTION:
        raise OperationError(f"an output scale of {out.scale} is too small for rows of {depth}")
    return RowScale(
        mantissa, shift, variance_shift, quotient_bits,
        factor=round(math.ldexp(steps, 32 - quotient_bits + fraction)),
        addend=(out.zero_point << fraction) + (1 << (fraction - 1)) + 1,
        fraction=fraction,
    )  # fmt: skip


def _verify_types(x: TensorType, out: TensorType) -> None:
    for type_ in (x, out):
        quantization = type_.quantization
        if type_.element not in _MAGNITUDE_BITS or quantization is None or quantization.per_channel:
            raise OperationError(f"expected i8 or i16 with one scale, got {type_}")
        if type_.element is ElementType.I16 and type_.zero_point:
            raise OperationError(f"i16 needs zero point 0, got {type_}")


def _mantissa(value: float) -> tuple[int, int]:
    """`value` rounded, as 31 bits and a shift to the left; at least 1, so that no root is of 0."""
    shift = max(math.frexp(value)[1] - 30, 0)
    return max(round(value / 2.0**shift), 1), shift


def normalized(x: Array, zero_point: int, center: bool, scale: RowScale, out: TensorType) -> Array:
    """Stored results of the stored rows `x`."""
    depth = x.shape[-1]
    offsets = x.astype(np.int64) - zero_point
    sums = offsets.sum(-1, keepdims=True) * int(center)
    variances = depth * (offsets * offsets).sum(-1, keepdims=True) - sums * sums
    epsilon = np.uint64(scale.epsilon_mantissa << scale.epsilon_shift)
    total = (variances.astype(np.uint64) << np.uint64(scale.variance_shift)) + epsilon
    roots, pairs = inverse_root(total)
    left = np.minimum(pairs + scale.base_shift, 31)
    differences = depth * offsets - sums
    # Without a difference from the mean a shift may be large, and gives 0 all the same.
    shifted = (differences << np.maximum(left, 0)) >> np.maximum(-left, 0)
    quotients = (shifted * roots) >> 32
    results = (((quotients * scale.factor) >> 32) + scale.addend) >> scale.fraction
    return saturate(results, *out.element.limits, dtype=out.element.numpy)


def inverse_root(total: UInt64Array) -> tuple[Int64Array, Int64Array]:
    """`(root, pairs)` with 1 / sqrt(total) = root * 2^(pairs - 61), for 1 <= total < 2^63.

    `root` is in (2^29, 2^30], true to 2^-25 of it.
    """
    pairs = (64 - _bit_length(total)) // 2
    upper = (total << (2 * pairs).astype(np.uint64)) >> np.uint64(32)
    half = np.uint64(32)
    inner = np.uint64(SECOND) - ((upper * np.uint64(THIRD)) >> half)
    root = np.uint64(FIRST) - ((upper * inner) >> half)
    for _ in range(NEWTON_STEPS):
        square = (root * root) >> np.uint64(29)
        rest = np.uint64(3 << 29) - ((square * upper) >> half)
        root = (root * rest) >> np.uint64(30)
    return root.astype(np.int64), pairs


def _bit_length(values: UInt64Array) -> Int64Array:
    upper, lower = values >> np.uint64(32), values & np.uint64(0xFFFFFFFF)
    halves = (np.frexp(half.astype(np.float64))[1].astype(np.int64) for half in (upper, lower))
    high, low = halves
    return np.where(high > 0, high + 32, low)
