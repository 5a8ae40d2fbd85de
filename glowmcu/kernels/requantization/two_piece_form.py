"""Sums of two int8 operands as a line of two pieces that meet at zero, proved equal pair by pair.

    sum = a * p + b * q + c;  out = saturate_int8((sum + addend - (sum < 0 ? bend : 0)) >> 22)

Where scales have a common divisor many sums lie half-way between two results, and TensorFlow Lite
rounds those away from zero: up above, down below. No straight line does, see `linear_form.py`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from glowmcu.ir.operation import Rounding, Signature
from glowmcu.kernels.requantization.linear_form import (
    HIGHEST,
    INT32_END,
    LOWEST,
    Pairs,
    integers_near,
    is_steep,
    real_slopes,
    tabulate,
    without_shapes,
)
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.elementwise import Add, Sub

_SHIFT, _TRIES = 22, 2


@dataclass(frozen=True)
class TwoPieceForm:
    """Integer constants of the form."""

    p: int
    q: int
    c: int
    addend: int
    bend: int


def two_piece_form(op: Add | Sub, signature: Signature, rounding: Rounding) -> TwoPieceForm | None:
    """The constants for any operands; None if no exact ones were found."""
    if op.clamp_range(signature) != (LOWEST, HIGHEST) or is_steep(op, signature):
        return None
    return _search(op, without_shapes(signature), rounding)


@lru_cache(maxsize=256)
def _search(op: Add | Sub, signature: Signature, rounding: Rounding) -> TwoPieceForm | None:
    pairs = tabulate(op, signature, ((LOWEST, HIGHEST),) * 2, rounding)
    slopes = real_slopes(op, signature) * 2.0**_SHIFT
    a, b = signature.inputs
    for p, q in integers_near(slopes, _TRIES):
        form = _form(pairs, p, q, -p * a.zero_point - q * b.zero_point)
        if form is not None:
            return form
    return None


def _form(pairs: Pairs, p: int, q: int, c: int) -> TwoPieceForm | None:
    """The form with these slopes, None where there is none or something leaves int32."""
    sums, results = pairs.accumulators(p, q, 0) + c, pairs.results
    below = sums < 0
    least = (results << _SHIFT) - sums
    most = ((results + 1) << _SHIFT) - 1 - sums
    ends = []
    for side in (~below, below):
        low = int(least.max(where=side & (results > LOWEST), initial=-INT32_END))
        high = int(most.min(where=side & (results < HIGHEST), initial=INT32_END))
        if low > high:
            return None
        ends.append((low + high) // 2)
    form = TwoPieceForm(p, q, c, ends[0], ends[0] - ends[1])
    two_piece = sums + form.addend
    total = sums + np.where(below, *ends[::-1])
    partial = pairs.a * p + c
    largest = max(int(np.abs(values).max()) for values in (sums, partial, two_piece, total))
    if max(largest, abs(c), abs(form.addend), abs(form.bend)) >= INT32_END:
        return None
    assert np.array_equal(np.clip(total >> _SHIFT, LOWEST, HIGHEST), results)
    return form
