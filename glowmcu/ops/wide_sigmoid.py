"""logistic and tanh of 16 bits: a table of 256 values, linear in between.

The table holds sigmoid(i / 24) - 1/2 in Q0.16; it is part of the meaning, no formula gives all of
its last bits. tanh(x) = 2 * sigmoid(2 * x) - 1, and both are symmetric.
Source: TensorFlow Lite `reference/integer_ops/{logistic,tanh}.h`, `internal/common.h`, and the
`Prepare` functions of TensorFlow Lite Micro.
"""

from __future__ import annotations

import math

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Signature
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.wide import expect_symmetric

#: An argument is rescaled to this many steps a unit: 24 table entries of 512 steps.
_STEPS = 3 * 4096
_LARGEST_MULTIPLIER = 2**15 - 1
_LARGEST_SHIFT = 31
_LAST = 255
_LOG2_TOLERANCE = 1e-3

# fmt: off
SIGMOID = np.array([
    0, 683, 1365, 2045, 2725, 3401, 4075, 4745, 5412, 6073, 6730, 7381, 8026, 8664, 9296, 9920,
    10536, 11144, 11743, 12334, 12915, 13487, 14049, 14601, 15143, 15675, 16196, 16707, 17207,
    17696, 18174, 18641, 19097, 19543, 19977, 20401, 20813, 21215, 21606, 21987, 22357, 22717,
    23066, 23406, 23735, 24055, 24365, 24665, 24956, 25239, 25512, 25776, 26032, 26280, 26520,
    26751, 26975, 27191, 27400, 27602, 27797, 27985, 28167, 28342, 28511, 28673, 28831, 28982,
    29128, 29268, 29404, 29534, 29660, 29781, 29898, 30010, 30118, 30222, 30322, 30418, 30511,
    30600, 30686, 30768, 30847, 30923, 30997, 31067, 31135, 31200, 31262, 31322, 31380, 31436,
    31489, 31540, 31589, 31637, 31682, 31726, 31768, 31808, 31846, 31884, 31919, 31953, 31986,
    32018, 32048, 32077, 32105, 32132, 32158, 32182, 32206, 32229, 32251, 32271, 32292, 32311,
    32329, 32347, 32364, 32381, 32396, 32411, 32426, 32440, 32453, 32466, 32478, 32490, 32501,
    32512, 32523, 32533, 32542, 32551, 32560, 32569, 32577, 32584, 32592, 32599, 32606, 32613,
    32619, 32625, 32631, 32636, 32642, 32647, 32652, 32657, 32661, 32665, 32670, 32674, 32677,
    32681, 32685, 32688, 32691, 32694, 32697, 32700, 32703, 32706, 32708, 32711, 32713, 32715,
    32717, 32720, 32721, 32723, 32725, 32727, 32729, 32730, 32732, 32733, 32735, 32736, 32737,
    32739, 32740, 32741, 32742, 32743, 32744, 32745, 32746, 32747, 32748, 32749, 32749, 32750,
    32751, 32752, 32752, 32753, 32754, 32754, 32755, 32755, 32756, 32756, 32757, 32757, 32758,
    32758, 32758, 32759, 32759, 32760, 32760, 32760, 32761, 32761, 32761, 32761, 32762, 32762,
    32762, 32762, 32763, 32763, 32763, 32763, 32763, 32764, 32764, 32764, 32764, 32764, 32764,
    32765, 32765, 32765, 32765, 32765, 32765, 32765, 32765, 32766, 32766, 32766, 32766, 32766,
    32766, 32766, 32766, 32766, 32766, 32767,
], np.int16)
# fmt: on


@dataclass(frozen=True)
class ArgumentScale:
    """Stored values to steps of the table: (x * multiplier + half) >> shift."""

    multiplier: int
    shift: int

    def steps(self, x: Array) -> Array:
        half = (1 << self.shift) >> 1
        return np.asarray((x.astype(np.int64) * self.multiplier + half) >> self.shift)


def _near_log2(scale: float) -> int | None:
    """n where `scale` is 2^n but for a thousandth of an octave."""
    logarithm = math.log2(scale)
    nearest = round(logarithm)
    return nearest if abs(logarithm - nearest) < _LOG2_TOLERANCE else None


def argument_scale(scale: float, exact_shifts: tuple[int, ...]) -> ArgumentScale:
    """15 bits of the factor, cut off; `exact_shifts` n: a scale of 2^(n - 12) is 3 * 2^n."""
    power = _near_log2(scale)
    if power is not None and power + 12 in exact_shifts:
        return ArgumentScale(3 << (power + 12), 0)
    factor, shift = scale * _STEPS, 0
    while factor <= _LARGEST_MULTIPLIER / 2 and shift < _LARGEST_SHIFT:
        factor *= 2
        shift += 1
    return ArgumentScale(int(factor), shift)


def verify_sigmoid(signature: Signature) -> None:
    """OperationError unless the result is Q0.15 and the input's scale can be expressed."""
    x, out = signature.inputs[0], signature.output
    expect_symmetric(x, out)
    if _near_log2(out.scale) != -15:
        raise OperationError(f"i16 gives scale 1/32768, got {out}")
    if x.scale * _STEPS >= _LARGEST_MULTIPLIER + 1:
        raise OperationError(f"i16 needs an input scale below 2.66, got {x.scale:.6g}")


def _interpolated(steps: Array, bits: int) -> Array:
    """sigmoid in Q0.(16 + bits) at `steps` >= 0 of which 2^bits lie between two entries."""
    table = SIGMOID.astype(np.int64) + 2**15
    at = np.minimum(steps >> bits, _LAST - 1)
    between = steps & ((1 << bits) - 1)
    return np.asarray((table[at] << bits) + between * (table[at + 1] - table[at]))


def logistic(x: Array, scale: float) -> Array:
    """Stored results, Q0.15."""
    return logistic_at(argument_scale(scale, (0,)).steps(x))


def logistic_at(steps: Array) -> Array:
    """Stored results, Q0.15, of arguments in steps of the table."""
    magnitude = np.abs(steps)
    inside = magnitude >> 9 < _LAST
    result = np.where(inside, _interpolated(magnitude, 9), 0x7FFF << 10)
    result = np.where(steps >= 0, result, (1 << 25) - result - 1)
    return ((result + (1 << 9)) >> 10).astype(np.int16)


def tanh(x: Array, scale: float) -> Array:
    """Stored results, Q0.15."""
    return tanh_at(argument_scale(scale, (0, 1)).steps(x))


def tanh_at(steps: Array) -> Array:
    """Stored results, Q0.15, of arguments in steps of the table."""
    magnitude = np.abs(steps)
    inside = magnitude >> 8 < _LAST
    result = np.where(inside, _interpolated(magnitude, 8), 0xFFFF << 8) - (1 << 23)
    result = np.where(steps >= 0, result, -result - 1)
    return ((result + (1 << 7)) >> 8).astype(np.int16)
