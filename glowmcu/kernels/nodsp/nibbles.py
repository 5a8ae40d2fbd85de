"""Weights of four bits for cores without DSP: a word a tap, of eight outputs.

What `glowmcu_nibble_pairs_nodsp.h` and `glowmcu_nibble_rows_nodsp.h` read: each weight as w + 8,
the first output's in the uppermost four bits. Sums of two products are in one word, each half of
which holds those of a group of taps; a layer's groups are as long as its weights allow.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass

#: Outputs of a word.
EIGHT = 8
#: Groups, but for the last one, are multiples of it.
GROUP_STEP = 4
#: Magnitudes of a group that keep its sum, with inputs of -128, within 16 bits.
_MOST_MAGNITUDES = 255


@dataclass(frozen=True, eq=False)
class NibbleWeights:
    """`words` is int32 (eights of outputs, taps). The last group may be shorter than others."""

    words: Array
    group_taps: int

    @property
    def eights(self) -> int:
        """Words a tap."""
        return len(self.words)

    @property
    def groups(self) -> int:
        """Groups of an output."""
        return -(-int(self.words.shape[1]) // self.group_taps)


def pack_nibbles(weights: Array, tap_step: int = 1) -> NibbleWeights:
    """Pack weights of four bits (outputs, taps); taps are filled to multiples of `tap_step`."""
    outputs, taps = weights.shape
    padded = np.zeros((-(-outputs // EIGHT) * EIGHT, -(-taps // tap_step) * tap_step), np.int8)
    padded[:outputs, :taps] = weights
    nibbles = (padded + 8).astype(np.uint32).reshape(-1, EIGHT, padded.shape[1])
    words = np.zeros((len(nibbles), padded.shape[1]), np.uint32)
    for place in range(EIGHT):
        words = words << 4 | nibbles[:, place]
    return NibbleWeights(words.view(np.int32), _group_taps(padded))


def _group_taps(weights: Array) -> int:
    """Taps of a group, in as few groups as keep all sums of products within 16 bits."""
    magnitudes = np.abs(weights.astype(np.int16))
    taps = int(weights.shape[1])
    for groups in range(1, taps + 1):
        length = -(-taps // (groups * GROUP_STEP)) * GROUP_STEP
        sums = np.add.reduceat(magnitudes, np.arange(0, taps, length), axis=1, dtype=np.int64)
        if sums.max(initial=0) <= _MOST_MAGNITUDES:
            return length
    raise AssertionError("four weights of four bits are a group")
