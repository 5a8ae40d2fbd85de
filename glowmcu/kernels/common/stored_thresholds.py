"""Thresholds on what features are stored as: integers of that type.

`x <= t` of the real numbers is `q <= q'` of stored ones, for they grow with each other; q' is the
largest that stands for t or less. The bits of float32 are ordered likewise once the negative ones
are turned over: a core compares words, and no float.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ir.types import TensorType
from glowmcu.ops.trees import real_features

#: Behind the bits of the least float32, turned over: what is not a number comes before or behind.
LEAST_KEY = 0x007FFFFF


def stored_thresholds(thresholds: Array, type_: TensorType) -> Array:
    """Integers: the largest stored value that is at most the threshold; one less than all of them
    where there is none. Of float32 the keys of `float_keys`.
    """
    if type_.element.is_float:
        return float_keys(thresholds).astype(np.int64)
    lowest, highest = type_.element.limits
    if type_.element.size_bytes <= 2:
        stored = np.arange(lowest, highest + 1).astype(type_.element.numpy)
        real = real_features(stored, type_)
        return np.searchsorted(real, thresholds, side="right") + np.int64(lowest - 1)
    found = [_largest_integer(float(t), lowest, highest) for t in thresholds]
    # One less than all of 64 bits is an integer of Python's.
    return np.array(found, object if min(found, default=0) < lowest == -(2**63) else np.int64)


def _largest_integer(threshold: float, lowest: int, highest: int) -> int:
    """The largest integer that is at most the threshold when it is rounded to float32."""
    low, high = lowest - 1, highest
    while low < high:
        middle = (low + high + 1) // 2
        if float(np.float32(middle)) <= threshold:
            low = middle
        else:
            high = middle - 1
    return low


def float_keys(values: Array) -> Array:
    """uint32 in the order of float32, -infinity first; what is not a number behind infinity."""
    bits = values.astype(np.float32).view(np.uint32)
    turned = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)).astype(np.uint32)
    return turned - np.uint32(LEAST_KEY)


def real_of_key(key: int) -> float:
    """The number that has this key among `float_keys`, or an infinity."""
    bits = np.uint32((key + LEAST_KEY) & 0xFFFFFFFF)
    bits ^= np.uint32(0x80000000 if bits >> 31 else 0xFFFFFFFF)
    return float(bits.view(np.float32))
