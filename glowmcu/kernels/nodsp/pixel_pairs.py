"""Weights for two products in one multiplication, of two pixels or of two outputs.

What `glowmcu_pair_sums_nodsp.h`, `glowmcu_output_pairs_nodsp.h` and
`glowmcu_direct_pixels_nodsp.h` read.

What `common/split_weights.py` takes from the weights of a group is listed as extras.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.kernels.common.split_weights import (
    TAPS,
    extra_fields,
    group_count,
    padded_groups,
    split_weights,
)
from glowmcu.lazy_dataclass import dataclass

GROUP_WORDS = 5
#: What an extra's bit fields hold.
MOST_WORDS = 4096
MOST_OUTPUTS = 4096
#: Weights that are packed together.
_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class PairWeights:
    """`stream` is uint8 (output pairs, groups, taps, 2) or words (output fours, groups, taps);
    `extras` are bit fields.
    """

    stream: Array
    extras: Array

    @property
    def size_bytes(self) -> int:
        return int(self.stream.nbytes + self.extras.nbytes)


def stream_bytes(taps: int) -> int:
    """A stream in scratch."""
    return 4 * GROUP_WORDS * group_count(taps)


def fits(taps: int, outputs: int) -> bool:
    """Whether extras can name every tap and output."""
    return GROUP_WORDS * group_count(taps) <= MOST_WORDS and outputs <= MOST_OUTPUTS


def pack_pairs(weights: Array) -> PairWeights:
    """Pack int8 weights (outputs, taps) for products of two pixels."""

    def packed(start: int, some: Array) -> tuple[Array, Array]:
        kept, taken = split_weights(padded_groups(some, 2))
        pairs = kept.reshape(-1, 2, *kept.shape[1:]).transpose(0, 2, 3, 1)
        return (pairs + 128).astype(np.uint8), _extras(start, taken)

    return _in_parts(packed, weights)


def pack_output_pairs(weights: Array) -> PairWeights:
    """Pack int8 weights (outputs, taps) for products of two outputs."""

    def packed(start: int, some: Array) -> tuple[Array, Array]:
        kept, taken = split_weights(padded_groups(some, 4))
        return _output_fours(kept), _extras(start, taken)

    return _in_parts(packed, weights)


def _in_parts(packed: Callable[[int, Array], tuple[Array, Array]], weights: Array) -> PairWeights:
    """Some outputs at a time, whole fours of them: each weight is an int16 in several arrays on the
    way. `packed` makes stream and extras of outputs from the one that it is told.
    """
    step = max(4, _AT_ONCE // max(weights.shape[1], 1) // 4 * 4)
    starts = range(0, max(len(weights), 1), step)
    streams, extras = zip(*(packed(at, weights[at : at + step]) for at in starts), strict=True)
    return PairWeights(np.concatenate(streams), np.concatenate(extras))


def pack_direct_outputs(weights: Array, taps: int = TAPS) -> PairWeights:
    """Pack int8 weights (outputs, inputs) for products of two outputs with inputs in memory.

    At least `taps` inputs, those of a group: the last group is the last ones, and has only the
    weights of those that no other group has. Extras have the output in their upper bits and the
    input instead of a word, and end in one that is above all others.
    """
    inputs = weights.shape[1]
    first = np.minimum(np.arange(group_count(inputs, taps)) * taps, inputs - taps)
    absent = -inputs % taps

    def packed(start: int, some: Array) -> tuple[Array, Array]:
        kept, taken = split_weights(padded_groups(some, 4, taps))
        for parts in (kept, taken):
            parts[:, -1] = np.roll(parts[:, -1], absent, axis=1)
        output, group, tap = np.nonzero(taken)
        extras = extra_fields(start + output, first[group] + tap, taken[output, group, tap])
        return _output_fours(kept), extras

    found = _in_parts(packed, weights)
    return PairWeights(found.stream, np.append(found.extras, np.int32(-1)))


def _output_fours(kept: Array) -> Array:
    """Words (output fours, groups, taps) of four outputs' weights + 128."""
    fours = kept.reshape(-1, 4, *kept.shape[1:]).transpose(0, 2, 3, 1)
    words = np.ascontiguousarray((fours + 128).astype(np.uint8)).view("<i4")[..., 0]
    return words.astype(np.int32)


def _extras(start: int, taken: Array) -> Array:
    output, group, tap = np.nonzero(taken)
    return extra_fields(GROUP_WORDS * group + 1 + tap, start + output, taken[output, group, tap])
