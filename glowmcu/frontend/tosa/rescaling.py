"""RESCALE: what TOSA says it does, and when that is TensorFlow Lite's fixed point.

A factor multiplier * 2^(shift - 31) of ours is TOSA's multiplier with a shift of 31 - shift. With
s for that, TFLite rounds twice: h = floor((v m + 2^30) / 2^31), then h / 2^(s - 31) to the nearest,
halves away from zero. Nested floors are one floor, so for h >= 0 this is
floor((v m + 2^30 + 2^(s - 1)) / 2^s), and for h < 0, where a half goes down,
floor((v m - 2^30 + 2^(s - 1)) / 2^s): DOUBLE_ROUND, word for word. Where v < 0 but h = 0, v m is at
least -2^30 and the last form gives 0, too. For s <= 31 there is one rounding in both. What is left
to check is TOSA's own limits: 2 <= s <= 62 and -2^(s - 1) <= v < 2^(s - 1).
Source: TOSA 1.0 specification, `apply_scale_32`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.operation import Array, Rounding
from glowmcu.lazy_dataclass import dataclass

_LEAST_SHIFT, _MOST_SHIFT = 2, 62
DOUBLE, SINGLE = "DOUBLE_ROUND", "SINGLE_ROUND"


@dataclass(frozen=True, eq=False)
class Factors:
    """TOSA's constants: int32 multipliers, int8 shifts, both of one element or one a channel."""

    multipliers: Array
    shifts: Array
    rounding: str

    @property
    def per_channel(self) -> bool:
        return self.multipliers.size > 1


def factors_of(
    multipliers: npt.ArrayLike,
    shifts: npt.ArrayLike,
    rounding: Rounding,
    largest: npt.ArrayLike,
) -> Factors:
    """RESCALE's constants for factors of ours that are applied to |v| <= `largest` (a channel).

    Raises Unsupported GM155 where TOSA leaves the result open.
    """
    multiplier = np.atleast_1d(np.asarray(multipliers, np.int64))
    left = np.atleast_1d(np.asarray(shifts, np.int64))
    if rounding is Rounding.SINGLE:
        left = np.minimum(left, 30)
    # A factor of 0 gives 0 with any shift, and the largest leaves values most room.
    shift = np.where(multiplier == 0, _MOST_SHIFT, 31 - left)
    most = np.broadcast_to(np.asarray(largest, np.int64), shift.shape)
    if (shift < _LEAST_SHIFT).any() or (shift > _MOST_SHIFT).any():
        raise Unsupported(
            "GM155",
            f"a factor needs a RESCALE with shift {int(shift.min())} to {int(shift.max())}; TOSA "
            f"has {_LEAST_SHIFT} to {_MOST_SHIFT}",
            "the scale of the result is far below that of the operands: quantize it again",
        )
    limit = np.int64(1) << (shift - 1)
    if (most >= limit).any():
        place = int(np.argmax(most >= limit))
        raise Unsupported(
            "GM155",
            f"values up to {int(most[place])} meet a RESCALE with shift {int(shift[place])}, which "
            f"TOSA defines below {int(limit[place])}",
            "the scale of the result is far below that of the operands: quantize it again",
        )
    is_double = rounding is not Rounding.SINGLE and bool((shift > 31).any())
    return Factors(
        multiplier.astype(np.int32), shift.astype(np.int8), DOUBLE if is_double else SINGLE
    )


def apply(values: Array, factors: Factors) -> Array:
    """`apply_scale_32` on int64 in int32's range; the last axis is the channel."""
    wide = np.asarray(values, np.int64)
    shift = factors.shifts.astype(np.int64)
    total = wide * factors.multipliers.astype(np.int64) + (np.int64(1) << (shift - 1))
    if factors.rounding == DOUBLE:
        total += np.where(shift > 31, np.where(wide >= 0, 1 << 30, -(1 << 30)), 0)
    scaled: Array = total >> shift
    return scaled


def is_defined(largest: int, factors: Factors) -> bool:
    """Whether TOSA defines the result for all |v| <= `largest`."""
    shift = factors.shifts.astype(np.int64)
    in_range = bool(((shift >= _LEAST_SHIFT) & (shift <= _MOST_SHIFT)).all())
    return in_range and bool((largest < (np.int64(1) << (shift - 1))).all())
