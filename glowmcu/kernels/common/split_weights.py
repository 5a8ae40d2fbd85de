"""Weights for two products in one multiplication: groups of taps whose sums fit 16 bits.

A group of taps, mostly four, has its sums in 16 bits when its weights' magnitudes add up to 255 at
most; what exceeds that is taken from the largest weights, and is for a kernel to add by itself.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ir.value_range import Int64Array

TAPS = 4
_MOST = 255


def group_count(taps: int, group_taps: int = TAPS) -> int:
    """Groups, of four taps each if nothing else is said."""
    return -(-taps // group_taps)


def padded_groups(weights: Array, multiple: int, group_taps: int = TAPS) -> Array:
    """(outputs, groups, taps) as int16, with zeros up to whole groups and a multiple of outputs."""
    outputs, taps = weights.shape
    groups = group_count(taps, group_taps)
    wide = np.zeros((-(-outputs // multiple) * multiple, groups * group_taps), np.int16)
    wide[:outputs, :taps] = weights
    return wide.reshape(-1, groups, group_taps)


def split_weights(weights: Array) -> tuple[Array, Array]:
    """What stays in the groups (outputs, groups, taps), and what is taken from them, the largest
    weights first.
    """
    kept = weights.copy()
    for _ in range(weights.shape[2]):
        excess = np.maximum(np.abs(kept).sum(axis=2) - _MOST, 0)
        largest = np.abs(kept).argmax(axis=2)[..., np.newaxis]
        weight = np.take_along_axis(kept, largest, axis=2)
        step = np.sign(weight) * np.minimum(np.abs(weight), excess[..., np.newaxis])
        np.put_along_axis(kept, largest, weight - step, axis=2)
    assert int(np.abs(kept).sum(axis=2).max(initial=0)) <= _MOST
    return kept, weights - kept


def extra_fields(upper: Int64Array, lower: Int64Array, weight: Array) -> Array:
    """Two numbers of 12 bits and a weight in a word each: what was taken, and where it belongs."""
    fields = (upper << 20) | (lower << 8) | (weight & 0xFF)
    return fields.astype(np.uint32).view(np.int32)
