"""How an operator rounds: of a graph whose numbers are LiteRT's, each does one of these."""

from __future__ import annotations

import math
from fractions import Fraction

from glowmcu.ir.operation import Rounding

ROUNDINGS = [Rounding.DOUBLE, Rounding.SINGLE]


def wrapped(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def in_whole_numbers(x: int, multiplier: int, shift: int, rounding: Rounding) -> int:
    """TensorFlow Lite's definition, on Python's integers."""
    if rounding is Rounding.SINGLE:
        total = 31 - min(shift, 30)
        return wrapped(math.floor(Fraction(x * multiplier, 2**total) + Fraction(1, 2)))
    left = wrapped(x << max(shift, 0))
    high = min(math.floor(Fraction(left * multiplier, 2**31) + Fraction(1, 2)), 2**31 - 1)
    quotient = Fraction(high, 2 ** max(-shift, 0))
    return math.floor(abs(quotient) + Fraction(1, 2)) * (1 if quotient >= 0 else -1)
