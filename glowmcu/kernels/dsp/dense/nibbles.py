"""Weights of four bits in a dense stream: those of four channels for two inputs are one word.

A half of the word, with w0 to w3 of four channels for one input, and what an AND leaves of it:

    4096 * w3 + 256 * (w2 + 8) + 16 * (w1 + 8) + (w0 + 8)
    0x0F00: 256 * (w2 + 8)    0x00F0: 16 * (w1 + 8)    0x000F: w0 + 8

The masks are immediates of two halves, so that SMLAD of what is left and of the word itself makes
four sums of 16 products in 7 instructions for 8 of them. With X the sum of all inputs, P3 that of
the words' products and P2, P1, P0 those of the parts:

    S3 = (P3 - P2 - P1 - P0) >> 12    S2 = (P2 >> 8) - 8 * X
    S1 = (P1 >> 4) - 8 * X            S0 = P0 - 8 * X

Sums go around at 2^32; the last difference of each line is exact where it fits, see `sums_fit`.
Shifts of the word instead, LSL under a mask of the top bits, need no X and one AND more, a register
for the mask, and 4096 times every sum in 32 bits.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ir.value_range import Int64Array

#: Channels of a word, and what each one's sum is multiplied by.
GROUP = 4
SCALES = (1, 16, 256, 4096)
#: Masks of the first three channels: both halves.
MASKS = (0x000F000F, 0x00F000F0, 0x0F000F00)
#: What is added to the weights of those, so that they are not negative.
_OFFSET = 8
#: Greatest |input| of int8.
_MOST_INPUT = 128


def nibble_halves(weights: Array) -> Array:
    """(channels, steps, 2) to (channels / 4, steps, 2): the halves of words, each an int16."""
    digits = [weights[place::GROUP].astype(np.int32) for place in range(GROUP)]
    low = sum((digit + _OFFSET) * scale for digit, scale in zip(digits[:3], SCALES, strict=False))
    halves: Array = digits[3] * SCALES[3] + low
    return halves


def nibble_starts(starts: Int64Array) -> Int64Array:
    """What the four sums of each group start from; (blocks, channels) both, modulo 2^32."""
    scaled: Int64Array = starts.reshape(len(starts), -1, GROUP) * np.array(SCALES)
    scaled[:, :, 3] = scaled.sum(axis=2)
    return np.ascontiguousarray(scaled).reshape(starts.shape)


def sums_fit(largest: Int64Array, depth: int) -> bool:
    """Whether the parted sums fit 32 bits. `largest`: the greatest |sum| of each channel of blocks,
    with what it starts from; `depth` inputs.
    """
    offsets = np.array([_OFFSET * _MOST_INPUT * depth] * 3 + [0])
    scaled = (largest.reshape(-1, GROUP) + offsets) * np.array(SCALES)
    return bool((scaled < 2**31).all())
