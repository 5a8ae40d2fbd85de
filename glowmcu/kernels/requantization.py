"""Cheap requantization that is proved equal to TensorFlow Lite's, channel by channel.

With raw = sum(w * x), true accumulator = raw + offset + bias, and hi32 the high word of a product:

    floor      out = ssat8(hi32((addend + (raw << k)) * multiplier) >> s)                3 instructions
    two-sided  v = start + raw;
               out = ssat8((hi32((addend + (v << k)) * multiplier) + (v < 0 ? step : 0)) >> s)     4
    literal    v = start + raw; x = hi32(2 * v * multiplier + 2^31) + step + (v >> 31);
               out = ssat8(x >> shift)                                                             5

`floor` needs one line through all thresholds, so an output zero point of -128 or single rounding;
`two-sided` has a line for each sign, as rounding away from zero does; `literal` needs no proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Rounding

Int64Array = npt.NDArray[np.int64]


class FormKind(Enum):
    """Which of the three sequences."""

    FLOOR = "floor"
    TWO_SIDED = "two_sided"
    LITERAL = "literal"


@dataclass(frozen=True, eq=False)
class RequantizationTask:
    """What a layer's requantization must compute, one entry a channel.

    True accumulator without bias = raw + offset, and lies in [low, high] for every input.
    """

    multipliers: Int64Array
    shifts: Int64Array
    bias: Int64Array
    offset: Int64Array
    low: Int64Array
    high: Int64Array
    zero_point: int
    clamp: tuple[int, int]
    rounding: Rounding


@dataclass(frozen=True, eq=False)
class Form:
    """Constants of one sequence for all channels of a layer. Unused arrays are zeros.

    `preshift` is k, `postshift` s (one a layer); `shifts` are the literal form's own, one a channel.
    """

    kind: FormKind
    preshift: int
    postshift: int
    start: Int64Array
    addend: Int64Array
    multiplier: Int64Array
    step: Int64Array
    shifts: Int64Array
