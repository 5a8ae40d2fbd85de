"""Weights for products of two pixels, four outputs at a time: what glowmcu_pair_sums_riscv.h reads.

What `common/split_weights.py` takes from the weights of a group is listed as extras.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.kernels.common.split_weights import (
    TAPS,
    extra_fields,
    group_count,
    padded_groups,
    split_weights,
)
from glowmcu.kernels.kernel import ConstantArray
from glowmcu.lazy_dataclass import dataclass

#: What an extra's bit fields hold.
MOST_TAPS = 4096
MOST_OUTPUTS = 4096


@dataclass(frozen=True, eq=False)
class PairWeights:
    """`weights` are int8 (output fours, groups, outputs, taps); `extras` are bit fields."""

    weights: Array
    extras: Array

    @property
    def size_bytes(self) -> int:
        return int(self.weights.nbytes + self.extras.nbytes)


def fits(taps: int, outputs: int) -> bool:
    """Whether extras can name every tap and output."""
    return taps <= MOST_TAPS and outputs <= MOST_OUTPUTS


def scratch_bytes(taps: int, outputs: int) -> int:
    """A stream, and sums of two pixels."""
    return 4 * TAPS * group_count(taps) + 8 * TAPS * -(-outputs // 4)


def pack_pairs(weights: Array) -> PairWeights:
    """Pack int8 weights (outputs, taps)."""
    kept, taken = split_weights(padded_groups(weights, 4))
    eights = len(kept) // 8 * 8
    parts = [
        some.reshape(-1, count, *kept.shape[1:]).transpose(0, 2, 1, 3).ravel()
        for some, count in ((kept[:eights], 8), (kept[eights:], 4))
    ]
    output, group, tap = np.nonzero(taken)
    extras = extra_fields(TAPS * group + tap, output, taken[output, group, tap])
    return PairWeights(np.concatenate(parts).astype(np.int8), extras)


def extras_array(packed: PairWeights) -> ConstantArray | None:
    """The constant `extras`, if there are any."""
    if not packed.extras.size:
        return None
    return ConstantArray("extras", packed.extras, "word << 20 | output << 8 | w")
