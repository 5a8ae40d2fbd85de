"""Multipliers that round as a real scale: round(sum * scale) in float64, halves away from zero.

LiteRT's reference kernel of fully connected layers computes int8 results so. With single rounding,
(sum * multiplier + half) >> total, halves go up: a multiplier that is greater by next to nothing
sends them away from zero on both sides. Which one does is found from all sums where a result
changes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import OperationError
from glowmcu.ops.fixed_point import Requantization, requantization

#: Results that reach no zero point's int8 range any more.
_MOST_RESULT = 256


def real_requantization(scales: npt.ArrayLike) -> Requantization:
    """For single rounding: equal to the real scales for every int32 sum whose result is within
    +-256. Raises OperationError if no multiplier of 31 bits is.
    """
    plain = requantization(scales)
    real = np.atleast_1d(np.asarray(scales, np.float64))
    known: dict[float, int] = {}
    multipliers = plain.multipliers.copy().reshape(-1)
    for place, scale in enumerate(real.tolist()):
        if multipliers[place] == 0:
            continue
        if scale not in known:
            shift = int(plain.shifts.reshape(-1)[place])
            known[scale] = _multiplier(scale, int(multipliers[place]), 31 - shift)
        multipliers[place] = known[scale]
    return Requantization(multipliers.reshape(plain.multipliers.shape), plain.shifts)


def _multiplier(scale: float, plain: int, total: int) -> int:
    """The one nearest to `plain`, for sums shifted right by `total`."""
    steps = np.arange(_MOST_RESULT + 1)
    first = _first_sums(scale, (steps + 0.5).astype(np.float64))
    reached = first < 2**31
    least, most = 2**30, 2**31 - 1
    for step, sum_ in zip(steps[reached].tolist(), first[reached].tolist(), strict=True):
        half = (2 * step + 1) << (total - 1)
        least = max(least, half // sum_ + 1)
        if sum_ > 1:
            most = min(most, -(-half // (sum_ - 1)) - 1)
    if least > most:
        raise OperationError(
            f"no multiplier of 31 bits rounds sums as LiteRT does with the scale {scale!r}"
        )
    return min(max(plain, least), most)


def _first_sums(scale: float, halves: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The least whole numbers whose product with `scale`, in float64, reaches each of `halves`."""
    found = np.ceil(halves / scale)
    found = np.where((found - 1) * scale >= halves, found - 1, found)
    return np.where(found * scale >= halves, found, found + 1)
