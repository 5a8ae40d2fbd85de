"""TensorFlow Lite's fixed-point arithmetic on numpy arrays, widened to int64.

A real scale r becomes multiplier * 2^(shift - 31) with multiplier in [2^30, 2^31).
Source: TensorFlow Lite `kernels/internal/{common,quantization_util}.cc`, gemmlowp `fixedpoint.h`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array, Rounding
from glowmcu.lazy_dataclass import dataclass

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
#: Numbers that are multiplied together.
_AT_ONCE = 1 << 14


def round_half_away(value: float) -> int:
    """Nearest integer, halves away from zero: C's `round`."""
    return math.floor(value + 0.5) if value >= 0 else math.ceil(value - 0.5)


def quantize_multiplier(real: float) -> tuple[int, int]:
    """`(multiplier, shift)` of a real scale >= 0, as `QuantizeMultiplier` rounds it."""
    fraction, shift = math.frexp(real)
    multiplier = round_half_away(fraction * 2**31)
    if multiplier == 2**31:
        multiplier //= 2
        shift += 1
    if shift < -31:
        return 0, 0
    return multiplier, shift


def wrap_int32(values: Array) -> Int64Array:
    """The values modulo 2^32, as int64 in int32's range."""
    wide = np.asarray(values, np.int64)
    wrapped: Int64Array = ((wide + 2**31) & 0xFFFFFFFF) - 2**31
    return wrapped


def saturating_rounding_doubling_high_mul(a: Array, b: Array | int) -> Int64Array:
    """round(a * b / 2^31), halves up, saturated: `SaturatingRoundingDoublingHighMul`."""
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    rounded: Int64Array = np.minimum((product + 2**30) >> 31, INT32_MAX)
    return rounded


def rounding_divide_by_pot(x: Array, exponent: Array | int) -> Int64Array:
    """round(x / 2^exponent), halves away from zero: `RoundingDivideByPOT`."""
    wide = np.asarray(x, np.int64)
    shift = np.asarray(exponent, np.int64)
    mask = (np.int64(1) << shift) - 1
    threshold = (mask >> 1) + (wide < 0)
    rounded: Int64Array = (wide >> shift) + ((wide & mask) > threshold)
    return rounded


def multiply_by_quantized_multiplier(
    x: Array, multiplier: Array | int, shift: Array | int, rounding: Rounding
) -> Int64Array:
    """x * multiplier * 2^(shift - 31) for int32 `x`; result as int64 in int32's range."""
    return _in_parts(_multiply, x, multiplier, shift, rounding)


def _in_parts(
    multiply: Callable[[Array, Array | int, Array | int, Rounding], Int64Array],
    x: Array,
    multiplier: Array | int,
    shift: Array | int,
    rounding: Rounding,
) -> Int64Array:
    """Some rows of `x` at a time: what is made on the way takes eight bytes for each number."""
    x, columns = np.asarray(x), np.shape(x)[-1:]
    in_rows = all(np.shape(each) in ((), (1,), columns) for each in (multiplier, shift))
    if x.size <= _AT_ONCE or not in_rows:
        return multiply(x, multiplier, shift, rounding)
    rows = x.reshape(-1, x.shape[-1])
    result = np.empty(rows.shape, np.int64)
    step = max(1, _AT_ONCE // x.shape[-1])
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        result[part] = multiply(rows[part], multiplier, shift, rounding)
    return result.reshape(x.shape)


def _multiply(
    x: Array, multiplier: Array | int, shift: Array | int, rounding: Rounding
) -> Int64Array:
    shift = np.asarray(shift, np.int64)
    if rounding is Rounding.SINGLE:
        total = 31 - np.minimum(shift, 30)
        product = np.asarray(x, np.int64) * np.asarray(multiplier, np.int64)
        return wrap_int32((product + (np.int64(1) << (total - 1))) >> total)
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    shifted = wrap_int32(np.asarray(x, np.int64) << left)
    return rounding_divide_by_pot(saturating_rounding_doubling_high_mul(shifted, multiplier), right)


def _multiply_wrapped(
    x: Array, multiplier: Array | int, shift: Array | int, rounding: Rounding
) -> Int64Array:
    return _multiply(wrap_int32(x), multiplier, shift, rounding)


def rises(
    most: Array | int, multiplier: Array | int, shift: Array | int, rounding: Rounding
) -> npt.NDArray[np.bool_]:
    """Whether nothing wraps for |x| <= `most`, so that results rise with x."""
    largest = np.asarray(most, np.float64)
    left = np.asarray(shift, np.float64)
    if rounding is Rounding.SINGLE:
        product = largest * np.asarray(multiplier, np.float64) * 2.0 ** (np.minimum(left, 30) - 31)
        return np.asarray((largest < 2.0**31) & (product < 2.0**31 - 2))
    return np.asarray(largest * 2.0 ** np.maximum(left, 0) < 2.0**31)


def exact_float(weights: Array, inputs: npt.DTypeLike) -> type[np.float32] | type[np.float64]:
    """The float type that holds every partial sum of weights (a row an output) times inputs less
    their zero point exactly: below 2^24 the fast one, below 2^53 the other.
    """
    rows = weights.reshape(len(weights), -1)
    step, largest = max(1, _AT_ONCE // max(rows.shape[1], 1)), 0
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        sizes = np.maximum(part, 0).sum(axis=1, dtype=np.int64)
        sizes -= np.minimum(part, 0).sum(axis=1, dtype=np.int64)
        largest = max(largest, int(sizes.max(initial=0)))
    info = np.iinfo(inputs)
    most = largest * (int(info.max) - int(info.min))
    return np.float32 if most < 2**24 else np.float64


@dataclass(frozen=True, eq=False)
class Requantization:
    """int32 accumulators to the output's scale: one multiplier and shift, or one a channel."""

    multipliers: Int32Array
    shifts: Int32Array

    def apply(self, accumulators: Array, rounding: Rounding) -> Int64Array:
        """Rescale accumulators whose last axis is the channel (or any shape for a single pair).

        They are int32: what exceeds that wraps.
        """
        return _in_parts(_multiply_wrapped, accumulators, self.multipliers, self.shifts, rounding)

    def apply_to_range(
        self, low: Int64Array, high: Int64Array, rounding: Rounding
    ) -> tuple[Int64Array, Int64Array]:
        """Least and greatest result for accumulators in `[low, high]`: int32's where some wrap."""
        safe = self._rises(np.maximum(np.abs(low), np.abs(high)), rounding)
        least, most = self.apply(low, rounding), self.apply(high, rounding)
        return np.where(safe, least, INT32_MIN), np.where(safe, most, INT32_MAX)

    def _rises(self, most: Int64Array, rounding: Rounding) -> npt.NDArray[np.bool_]:
        return rises(most, self.multipliers, self.shifts, rounding)


def requantization(scales: npt.ArrayLike) -> Requantization:
    """Constants for real scales >= 0, `input * weights / output`, one a channel: as
    `quantize_multiplier` has them.
    """
    real = np.asarray(scales, np.float64)
    assert np.isfinite(real).all(), "scales are checked where they enter"
    fractions, shifts = np.frexp(real)
    multipliers = np.floor(fractions * 2**31 + 0.5).astype(np.int64)
    is_next = multipliers == 2**31
    multipliers, shifts = np.where(is_next, 2**30, multipliers), shifts + is_next
    gone = shifts < -31
    return Requantization(
        np.where(gone, 0, multipliers).astype(np.int32), np.where(gone, 0, shifts).astype(np.int32)
    )


def saturate(values: Array, lowest: int, highest: int, dtype: npt.DTypeLike) -> Array:
    """Clamp to `[lowest, highest]` and store as `dtype`."""
    return np.clip(values, lowest, highest).astype(dtype)
