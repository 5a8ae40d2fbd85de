"""Numbers as C prints them, in cells of as many characters, thousands at a time by numpy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from glowmcu.emit_c.c_text import float_literal
from glowmcu.ir.operation import Array

#: Powers of ten that double precision has exactly.
_POWERS = 10.0 ** np.arange(23)
_INT_POWERS = 10 ** np.arange(19)
#: Floats from the first to below the last are printed without an exponent, in any release of numpy.
_BORDERS = np.array([1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5])
_LEAST_EXPONENT = -4
#: As many digits tell any float32 from the next.
_MOST_DIGITS = 9
#: More than double precision is wrong by: of what is rounded to an integer, and of a value.
_HALF_SLACK, _VALUE_SLACK = 1e-6, 2.0**-50


def digit_cells(sizes: Array, is_negative: Array, width: int) -> Array:
    """A cell an integer: its digits, as text, and what follows them in a row."""
    count = len(sizes)
    cells = np.full((count, width + 2), ord(" "), np.uint8)
    cells[:, width] = ord(",")
    left, sign_at = sizes.copy(), np.full(count, width - 1)
    for column in range(width - 1, -1, -1):
        shown = slice(None) if column == width - 1 else np.nonzero(left)[0]
        left[shown], digits = np.divmod(left[shown], 10)
        cells[:, column][shown] = digits + ord("0")
        sign_at[shown] = column - 1
    negative = np.nonzero(is_negative)[0]
    cells[negative, sign_at[negative]] = ord("-")
    return cells


def float_width(items: Array) -> int:
    """Characters of the longest of these float32, as `float_literal` has them."""
    found = _shortest(items)
    whole = found.digits // _INT_POWERS[found.decimals]
    lengths = np.searchsorted(_INT_POWERS[1:], whole, "right") + found.decimals + 3
    longest = int((lengths + np.signbit(items))[found.is_known].max(initial=0))
    return max([longest, *(len(float_literal(item)) for item in items[~found.is_known].tolist())])


def float_cells(items: Array, width: int) -> Array:
    """A cell a float32, as `digit_cells` are of integers."""
    found, is_negative = _shortest(items), np.signbit(items)
    cells = np.full((len(items), width + 2), ord(" "), np.uint8)
    cells[:, width - 1], cells[:, width] = ord("f"), ord(",")
    for decimals in np.unique(found.decimals[found.is_known]).tolist():
        at = np.nonzero(found.is_known & (found.decimals == decimals))[0]
        whole, part = np.divmod(found.digits[at], 10**decimals)
        point = width - 2 - decimals
        cells[at, :point] = digit_cells(whole, is_negative[at], point)[:, :point]
        cells[at, point] = ord(".")
        # With a 1 in front, so that zeros behind the point are digits, too.
        shown = digit_cells(part + 10**decimals, np.zeros(len(at), bool), decimals + 1)
        cells[at, point + 1 : width - 1] = shown[:, 1 : decimals + 1]
    others = [float_literal(item).rjust(width) for item in items[~found.is_known].tolist()]
    text = np.frombuffer("".join(others).encode("ascii"), np.uint8)
    cells[~found.is_known, :width] = text.reshape(-1, width)
    return cells


class _Shortest(NamedTuple):
    """Of each float the integer that the shortest decimal is without its point, and how many of its
    digits are behind the point. Where double precision does not tell, it is not known.
    """

    digits: Array
    decimals: Array
    is_known: Array


def _shortest(items: Array) -> _Shortest:
    with np.errstate(invalid="ignore"):
        values = np.abs(items.astype(np.float64))
    is_zero = values == 0
    mantissas = np.frexp(values)[0]
    # Below a power of two floats are nearer than above.
    is_known = (values >= _BORDERS[0]) & (values < _BORDERS[-1]) & (mantissas != 0.5)
    digits, decimals = np.zeros(len(items), np.int64), np.ones(len(items), np.int64)
    left = np.nonzero(is_known)[0]
    is_known |= is_zero
    exponents = np.searchsorted(_BORDERS, values, "right") - 1 + _LEAST_EXPONENT
    for count in range(_MOST_DIGITS, 0, -1):
        value, behind = values[left], count - 1 - exponents[left]
        up, down = _POWERS[np.maximum(behind, 0)], _POWERS[np.maximum(-behind, 0)]
        scaled = value * up / down
        rounded = np.rint(scaled)
        room = np.spacing(value.astype(np.float32)) / 2.0 - np.abs(rounded * down / up - value)
        reads_back = room > 0
        is_open = np.abs(room) <= value * _VALUE_SLACK
        is_open |= reads_back & (np.abs(scaled - np.floor(scaled) - 0.5) < _HALF_SLACK)
        is_open |= reads_back & (rounded == 10.0**count)
        is_known[left[is_open]] = False
        chosen = reads_back & ~is_open
        left, behind = left[chosen], behind[chosen]
        decimals[left] = np.maximum(behind, 1)
        digits[left] = rounded[chosen].astype(np.int64) * _INT_POWERS[decimals[left] - behind]
    return _Shortest(digits, decimals, is_known)
