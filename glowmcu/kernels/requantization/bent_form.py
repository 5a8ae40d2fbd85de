"""Sums of two int8 operands as a line that is bent at zero, proved equal pair by pair.

    sum = a * p + b * q + c;  out = saturate_int8((sum + addend - (sum < 0 ? bend : 0)) >> 22)

Where scales have a common divisor many sums lie half-way between two results, and TensorFlow Lite
rounds those away from zero: up above, down below. No straight line does, see `linear_form.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from glowmcu.ir.operation import Rounding, Signature
from glowmcu.kernels.requantization.linear_form import (
    HIGHEST,
    INT32_END,
    LOWEST,
    Pairs,
    neighbours,
    real_slopes,
    tabulate,
    without_shapes,
)
from glowmcu.ops.elementwise import Add, Sub

_SHIFT, _TRIES = 22, 2


@dataclass(frozen=True)
class BentForm:
    """Integer constants of the form."""

    p: int
    q: int
    c: int
    addend: int
    bend: int


def bent_form(op: Add | Sub, signature: Signature, rounding: Rounding) -> BentForm | None:
    """The constants for any operands; None if no exact ones were found."""
    if op.clamp_range(signature) != (LOWEST, HIGHEST):
        return None
    return _search(op, without_shapes(signature), rounding)


@lru_cache(maxsize=256)
def _search(op: Add | Sub, signature: Signature, rounding: Rounding) -> BentForm | None:
    pairs = tabulate(op, signature, ((LOWEST, HIGHEST),) * 2, rounding)
    slopes = real_slopes(op, signature) * 2.0**_SHIFT
    if float(np.abs(slopes).max()) >= INT32_END - _TRIES - 1:
        return None
    a, b = signature.inputs
    for moved in neighbours(_TRIES):
        p, q = (round(float(slope)) + move for slope, move in zip(slopes, moved, strict=True))
        form = _form(pairs, p, q, -p * a.zero_point - q * b.zero_point)
        if form is not None:
            return form
    return None


def _form(pairs: Pairs, p: int, q: int, c: int) -> BentForm | None:
    """The form with these slopes; checked on every pair, as is that nothing leaves int32."""
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
    form = BentForm(p, q, c, ends[0], ends[0] - ends[1])
    bent = sums + form.addend
    total = sums + np.where(below, *ends[::-1])
    partial = pairs.a * p + c
    reach = max(int(np.abs(values).max()) for values in (sums, partial, bent, total))
    if max(reach, abs(c), abs(form.addend), abs(form.bend)) >= INT32_END:
        return None
    equal = np.clip(total >> _SHIFT, LOWEST, HIGHEST) == results
    return form if bool(equal.all()) else None
