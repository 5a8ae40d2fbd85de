"""Sums of two int8 operands as one line of integer arithmetic, proved equal pair by pair.

    out = saturate_int8((a * p + b * q + c) >> s)

What an operator gives for all pairs that can occur is tabulated by its own meaning. Slopes near the
real factors leave an interval for c: its width is a concave function of the slopes, so its maximum
is found by a grid that closes in on it, among the few pairs that were seen to bound it so far.
Integers are then rounded from there, the interval for c taken anew from what those integers give
for every pair, and an empty one means: no such form.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Rounding, Signature
from glowmcu.ir.value_range import ValueRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.elementwise import Add, Sub

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]
LOWEST, HIGHEST = -128, 127
INT32_END = 2**31

#: Slopes are looked for within _REACH of the real factors, by _ZOOMS grids of _STEPS on each side,
#: each a third of the one before.
_LARGEST_MOVE, _STEPS, _ZOOMS = 2.0**-14, np.linspace(-1.0, 1.0, 13), 14
#: No pair further from bounding c than this can bound it: 2 * 2 * 128 * _REACH.
_NEAR = 2.0**-5
_CUTS = 40


@dataclass(frozen=True)
class Arithmetic:
    """How a core multiplies: `p` and `q` carry `extra` more binary places than the sum, which each
    product loses rounding down; `shift` is s. `tries` neighbours of a rounded slope are looked at.
    """

    shift: int
    extra: int
    tries: int


#: One 32-bit multiplication a product; 22 places leave room for |sum| < 512.
PLAIN = Arithmetic(shift=22, extra=0, tries=2)
#: SMLAW of an operand times 2^8: the high 32 of 48 bits. 20 places leave room for |sum| < 2048.
HIGH_WORD = Arithmetic(shift=20, extra=8, tries=0)


@dataclass(frozen=True)
class LinearForm:
    """Integer constants of the form; c holds the output zero point, rounding, both zero points."""

    p: int
    q: int
    c: int


@dataclass(frozen=True, eq=False)
class Pairs:
    """Every pair that can occur, `a` down and `b` across, and its result."""

    a: _Ints
    b: _Ints
    results: _Ints

    def accumulators(self, p: int, q: int, extra: int) -> _Ints:
        """a * p + b * q as the core computes it."""
        return ((self.a * p) >> extra)[:, np.newaxis] + ((self.b * q) >> extra)


def linear_form(
    op: Add | Sub,
    signature: Signature,
    ranges: tuple[ValueRange | None, ...],
    rounding: Rounding,
    arithmetic: Arithmetic,
) -> LinearForm | None:
    """The constants for operands within `ranges`; None if no exact ones were found."""
    if op.clamp_range(signature) != (LOWEST, HIGHEST) or is_steep(op, signature):
        return None
    limits = tuple(_limits(range_) for range_ in ranges)
    return _search(op, without_shapes(signature), limits, rounding, arithmetic)


def without_shapes(signature: Signature) -> Signature:
    """Layers of the same scales share one search."""
    return Signature(
        tuple(type_.with_shape(()) for type_ in signature.inputs),
        tuple(type_.with_shape(()) for type_ in signature.outputs),
    )


def _limits(range_: ValueRange | None) -> tuple[int, int]:
    if range_ is None or range_.low.size == 0:
        return LOWEST, HIGHEST
    return int(range_.low.min()), int(range_.high.max())


@lru_cache(maxsize=256)
def _search(
    op: Add | Sub,
    signature: Signature,
    limits: tuple[tuple[int, int], ...],
    rounding: Rounding,
    arithmetic: Arithmetic,
) -> LinearForm | None:
    pairs = tabulate(op, signature, limits, rounding)
    real = real_slopes(op, signature)
    unit = 2.0 ** (arithmetic.shift + arithmetic.extra)
    slopes = _best_slopes(pairs, real)
    if slopes is None:
        return None
    for p, q in integers_near(slopes * unit, arithmetic.tries):
        form = _form(pairs, p, q, arithmetic)
        if form is not None:
            return form
    return None


def real_slopes(op: Add | Sub, signature: Signature) -> _Floats:
    """What the operands' stored values are multiplied by, in real numbers."""
    a, b = signature.inputs
    sign = -1.0 if isinstance(op, Sub) else 1.0
    return np.array([a.scale, sign * b.scale]) / signature.output.scale


def is_steep(op: Add | Sub, signature: Signature) -> bool:
    """Whether one step of an operand is more than all of int8, as on a scale of what was always 0:
    no line is looked for, whose numbers might leave those of a machine.
    """
    return bool(np.abs(real_slopes(op, signature)).max() > HIGHEST - LOWEST)


def integers_near(numbers: _Floats, tries: int) -> list[tuple[int, ...]]:
    """Integers within `tries` of the rounded numbers, the nearest to these first."""
    rounded = [round(number) for number in numbers.tolist()]
    ranges = [range(number - tries, number + tries + 1) for number in rounded]
    return sorted(itertools.product(*ranges), key=lambda found: math.dist(found, rounded))


def tabulate(
    op: Add | Sub, signature: Signature, limits: tuple[tuple[int, int], ...], rounding: Rounding
) -> Pairs:
    """The results of every pair within the operands' limits."""
    a, b = (np.arange(low, high + 1, dtype=np.int8) for low, high in limits)
    (results,) = op.evaluate((a[:, np.newaxis], b[np.newaxis]), signature, rounding)
    return Pairs(a.astype(np.int64), b.astype(np.int64), results.astype(np.int64))


def _best_slopes(pairs: Pairs, real: _Floats) -> _Floats | None:
    """Slopes near `real` (results are within rounding of the real sum) that leave c most room; None
    if none leave any.
    """
    rest = pairs.results - real[0] * pairs.a[:, np.newaxis] - real[1] * pairs.b
    # A saturated result is as good from far beyond: it bounds c from one side only.
    lower, upper = pairs.results > LOWEST, pairs.results < HIGHEST
    if not (lower.any() and upper.any()):
        return real
    least = rest.max(where=lower, initial=-np.inf)
    most = rest.min(where=upper, initial=np.inf)
    below = _bounds(pairs, rest, lower & (rest > least - _NEAR))
    above = _bounds(pairs, rest + 1.0, upper & (rest < most + _NEAR))
    move, seen = np.zeros(2), (_Bounds.none(), _Bounds.none())
    for _ in range(_CUTS):
        first, last = below.at(move), above.at(move)
        cuts = below.take(int(first.argmax())), above.take(int(last.argmin()))
        width = float(last.min() - first.max())
        seen = seen[0].joined(cuts[0]), seen[1].joined(cuts[1])
        moved, hoped = _widest(*seen)
        if hoped <= 0.0 or hoped - width < 1e-3 * hoped:
            break
        move = moved
    slopes: _Floats = real + move
    return slopes if width > 0.0 else None


@dataclass(frozen=True, eq=False)
class _Bounds:
    """Pairs (2, n) and the bounds on c (n) that they are at the real slopes."""

    points: _Floats
    values: _Floats

    @staticmethod
    def none() -> _Bounds:
        return _Bounds(np.zeros((2, 0)), np.zeros(0))

    def at(self, move: _Floats) -> _Floats:
        """The bounds when slopes are moved; for many moves (m, 2) a row each."""
        found: _Floats = self.values - move @ self.points
        return found

    def take(self, index: int) -> _Bounds:
        return _Bounds(self.points[:, [index]], self.values[[index]])

    def joined(self, other: _Bounds) -> _Bounds:
        return _Bounds(
            np.hstack([self.points, other.points]), np.hstack([self.values, other.values])
        )


def _bounds(pairs: Pairs, values: _Floats, chosen: npt.NDArray[np.bool_]) -> _Bounds:
    rows, columns = np.nonzero(chosen)
    points = np.stack([pairs.a[rows], pairs.b[columns]]).astype(np.float64)
    return _Bounds(points, values[rows, columns])


def _widest(below: _Bounds, above: _Bounds) -> tuple[_Floats, float]:
    """The move within `_LARGEST_MOVE` that leaves the widest interval, and its width."""
    grid = np.stack(np.meshgrid(_STEPS, _STEPS), axis=-1).reshape(-1, 2)
    best, distance = np.zeros(2), _LARGEST_MOVE
    for _ in range(_ZOOMS):
        moves = np.vstack([best, np.clip(best + distance * grid, -_LARGEST_MOVE, _LARGEST_MOVE)])
        widths = above.at(moves).min(axis=1) - below.at(moves).max(axis=1)
        best = moves[widths.argmax()]
        distance /= 3.0
    return best, float(widths.max())


def _form(pairs: Pairs, p: int, q: int, arithmetic: Arithmetic) -> LinearForm | None:
    """The form with these slopes and the middle of what is left for c, None where there is none."""
    sums = pairs.accumulators(p, q, arithmetic.extra)
    shift, results = arithmetic.shift, pairs.results
    least = ((results << shift) - sums).max(where=results > LOWEST, initial=-INT32_END)
    most = (((results + 1) << shift) - 1 - sums).min(where=results < HIGHEST, initial=INT32_END)
    if least > most:
        return None
    c = int(least + most) // 2
    # The first product joins c before the second does.
    partial = ((pairs.a * p) >> arithmetic.extra) + c
    if max(np.abs(values).max() for values in (sums + c, partial, p, q, c)) >= INT32_END:
        return None
    assert np.array_equal(np.clip((sums + c) >> shift, LOWEST, HIGHEST), results)
    return LinearForm(p, q, c)
