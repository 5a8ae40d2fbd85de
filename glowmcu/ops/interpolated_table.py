"""Functions of one 16-bit element as 513 values of a table, linear in between.

Entries are 128 stored values apart and shifted by half of the error in the middle, in float32.
Source: TensorFlow Lite `internal/common.h` (`LUTPopulateInt16`, `LUTLookup`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ir.types import TensorType
from glowmcu.ops.fixed_point import round_half_away

LOW, HIGH = -(2**15), 2**15 - 1
STEPS = 512
_F = np.float32

#: A function of a real number, in float32.
SingleFunction = Callable[[np.float32], np.float32]


def function_table(function: SingleFunction, x: TensorType, out: TensorType) -> Array:
    """int16[513]: stored results, of `out`, at every 128th stored value of `x`."""
    scale = _F(x.scale)
    first, last = scale * _F(LOW - x.zero_point), scale * _F(HIGH - x.zero_point)
    return table_between(function, first, last, _F(out.scale))


def table_between(
    function: SingleFunction, first: np.float32, last: np.float32, out_scale: np.float32
) -> Array:
    """int16[513] for arguments from `first` to `last`. What leaves int16 is saturated, and so is
    an entry beside one that leaves float32.
    """
    step = (last - first) / _F(STEPS)
    per_unit = _F(2**16) / (out_scale * _F(HIGH) - out_scale * _F(LOW))

    def at(argument: np.float32) -> np.float32:
        stored: np.float32 = _F(function(argument)) * per_unit
        return stored

    entries = []
    with np.errstate(all="ignore"):
        for i in range(STEPS):
            here = _rounded(at(first + _F(i) * step))
            following = at(first + _F(i + 1) * step)
            middle = _rounded(at(first + _F(i) * step + step / _F(2)))
            error = _rounded((following + here) / _F(2)) - middle
            shifted = here - _rounded(error / _F(2))
            entries.append(shifted if np.isfinite(shifted) else here)
        entries.append(_rounded(at(last)))
    return np.clip(np.nan_to_num(np.array(entries, np.float64)), LOW, HIGH).astype(np.int16)


def _rounded(value: np.float32) -> np.float32:
    """C's roundf."""
    nearest: np.float32 = _F(round_half_away(float(value))) if np.isfinite(value) else value
    return nearest


def is_steep(table: Array) -> bool:
    """Whether neighbours are further apart than int16 holds, whose difference then wraps."""
    return bool((np.abs(np.diff(table.astype(np.int64))) > HIGH).any())


def look_up(table: Array, at: Array) -> Array:
    """Values at -32768 to 32767, between two entries; modulo 2^16 where these are far apart."""
    wide = table.astype(np.int64)
    index, offset = 256 + (at >> 7), at & 0x7F
    slope = np.diff(wide).astype(np.int16).astype(np.int64)
    between = wide[index] + ((slope[index] * offset + 64) >> 7)
    return np.asarray(between.astype(np.int16).astype(np.int64))
