"""Lines through requantization's thresholds: the proof behind the cheap forms.

An output q is reached from accumulator A_q on. hi32((b + (a << k)) * m) >> s gives the same output
for every a of [low, high] when (b + (A_q << k)) * m >= q * 2^(32 + s) > (b + ((A_q - 1) << k)) * m
for each q in reach. For a multiplier m these are an interval for b. The true line has slope
m0 = scale * 2^(32 + s - k); candidates tilt it by fractions of an accumulator step over the reach,
and the widest interval wins. All thresholds are then checked once more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Rounding
from glowmcu.ir.value_range import Int64Array
from glowmcu.ops.fixed_point import multiply_by_quantized_multiplier

BoolArray = npt.NDArray[np.bool_]
_FAR = np.int64(2**62)
#: Tilts in accumulator steps over the whole reach: tried first, and for what is left.
_TILTS = np.concatenate([[0.0], np.linspace(-0.45, 0.45, 24)])
_MORE_TILTS = np.concatenate([np.linspace(-4, 4, 801), np.linspace(-400, 400, 161)])
#: More than this share of channels without a line means that the form does not suit the layer.
_FEW = 0.15
#: Products of the thresholds stay inside int64; channels that shift further have a constant output.
_MOST_RIGHT = 22
_STEPS_AROUND = (0, 1, -1, 2, -2, 3, -3)


@dataclass(frozen=True, eq=False)
class LineProblem:
    """Arrays have an entry a channel; accumulators are without bias and lie in [low, high]."""

    multipliers: Int64Array
    shifts: Int64Array
    bias: Int64Array
    low: Int64Array
    high: Int64Array
    zero_point: int
    clamp: tuple[int, int]
    rounding: Rounding
    preshift: int
    postshift: int

    def pick(self, channels: Int64Array) -> LineProblem:
        """The same problem of some channels."""
        return LineProblem(
            self.multipliers[channels],
            self.shifts[channels],
            self.bias[channels],
            self.low[channels],
            self.high[channels],
            self.zero_point,
            self.clamp,
            self.rounding,
            self.preshift,
            self.postshift,
        )

    @property
    def is_constant(self) -> BoolArray:
        """Which channels give the same output for the whole reach."""
        ends = self.outputs(np.stack([self.low, self.high], axis=1) + self.bias[:, np.newaxis])
        same: BoolArray = ends[:, 0] == ends[:, 1]
        return same

    @property
    def shifts_far(self) -> bool:
        """Whether a channel that is not constant shifts further than the closed form may."""
        far = self.shifts < -_MOST_RIGHT
        return bool((far & ~self.is_constant).any())

    def has_room(self, with_bias: bool) -> bool:
        """Whether some addend keeps every shifted accumulator within 32 bits."""
        bias = self.bias if with_bias else np.zeros_like(self.bias)
        below = np.minimum((self.low + bias) << self.preshift, 0)
        above = np.maximum((self.high + bias) << self.preshift, 0)
        return bool((above - below < np.int64(1) << 32).all())

    def outputs(self, accumulators: Int64Array) -> Int64Array:
        """Clamped outputs of accumulators with bias; the first axis is the channel."""
        extra = (1,) * (accumulators.ndim - 1)
        scaled = multiply_by_quantized_multiplier(
            accumulators,
            self.multipliers.reshape(-1, *extra),
            self.shifts.reshape(-1, *extra),
            self.rounding,
        )
        return np.clip(scaled + self.zero_point, *self.clamp)


@dataclass(frozen=True, eq=False)
class _Constraints:
    """Points (channel, point): at accumulator `at` the product must be >= `least` (`is_lower`)
    or < `least`. `used` masks those that the reach excludes.
    """

    at: Int64Array
    least: Int64Array
    is_lower: BoolArray
    used: BoolArray


def thresholds(problem: LineProblem, outputs: Int64Array) -> Int64Array:
    """Least accumulator, bias included, whose unclamped output is >= q: (channels, outputs).

    Closed form of both roundings where nothing wraps. Source: TensorFlow Lite `common.cc`.
    """
    right = np.clip(-problem.shifts, 0, _MOST_RIGHT)[:, np.newaxis]
    left = np.maximum(problem.shifts, 0)[:, np.newaxis]
    steps = (outputs - problem.zero_point)[np.newaxis, :]
    multiplier = np.maximum(problem.multipliers, 1)[:, np.newaxis] << left
    if problem.rounding is Rounding.SINGLE:
        wanted = (steps << (31 + right)) - (np.int64(1) << (30 + right))
        single: Int64Array = -((-wanted) // multiplier)
        return single
    half = np.where(right > 0, (np.int64(1) << right) >> 1, 0)
    away = np.where((steps > 0) | (right == 0), 0, 1)
    doubled = (steps << right) - half + away
    wanted = doubled * (np.int64(1) << 31) - (np.int64(1) << 30)
    first: Int64Array = -((-wanted) // multiplier)
    return first


def solve_lines(
    problem: LineProblem, two_sided: bool
) -> tuple[Int64Array, Int64Array, Int64Array] | None:
    """`(addend, multiplier, step)` of every channel, or None when one has no exact line.

    One-sided: hi32((addend + (acc << k)) * multiplier) >> s, acc without bias. Two-sided: acc with
    bias, and `step` is subtracted from the high word where acc < 0.
    """
    if problem.shifts_far or not problem.has_room(two_sided):
        return None
    channels = len(problem.bias)
    addend, multiplier = np.zeros(channels, np.int64), np.zeros(channels, np.int64)
    step = np.zeros(channels, np.int64)
    left = np.arange(channels)
    for tilts, around in ((_TILTS, (0,)), (_TILTS, _STEPS_AROUND), (_MORE_TILTS, _STEPS_AROUND)):
        for near in around if two_sided else (0,):
            if not left.size or (left.size > 1 + _FEW * channels and tilts is _MORE_TILTS):
                break
            part = problem.pick(left)
            steps = _base_step(part) + near if two_sided else np.zeros_like(part.bias)
            found, b, m = _solve(part, steps, tilts, two_sided)
            addend[left[found]], multiplier[left[found]] = b[found], m[found]
            step[left[found]] = steps[found]
            left = left[~found]
    return None if left.size else (addend, multiplier, step)


def _base_step(problem: LineProblem) -> Int64Array:
    """One unit of the inner rounding, in units of the high word."""
    exponent = problem.postshift + problem.shifts
    return np.where(exponent >= 0, np.int64(1) << np.maximum(exponent, 0), 0)


def _constraints(problem: LineProblem, steps: Int64Array, two_sided: bool) -> _Constraints:
    """Both sides' points; one-sided problems have a single side over the whole reach."""
    low, high = problem.low + problem.bias, problem.high + problem.bias
    if not two_sided:
        return _side(problem, low, high, np.zeros_like(steps), -problem.bias)
    zero = np.zeros_like(steps)
    sides = (
        _side(problem, low, np.minimum(high, -1), steps, zero),
        _side(problem, np.maximum(low, 0), high, zero, zero),
    )
    return _Constraints(
        np.concatenate([side.at for side in sides], axis=1),
        np.concatenate([side.least for side in sides], axis=1),
        np.concatenate([side.is_lower for side in sides], axis=1),
        np.concatenate([side.used for side in sides], axis=1),
    )


def _side(
    problem: LineProblem, low: Int64Array, high: Int64Array, steps: Int64Array, moved: Int64Array
) -> _Constraints:
    """Points of the accumulators (with bias) in [low, high]; `moved` is added to where they lie."""
    lowest, highest = problem.clamp
    wanted = np.arange(lowest + 1, highest + 1, dtype=np.int64)
    first = thresholds(problem, wanted)
    inside = (first > low[:, np.newaxis]) & (first <= high[:, np.newaxis])
    any_point = (low <= high)[:, np.newaxis]
    ends = problem.outputs(np.stack([low, high], axis=1))
    inside &= ends[:, :1] < ends[:, 1:]
    quotas = np.broadcast_to(wanted, first.shape)
    value = np.concatenate([quotas, quotas, ends[:, :1], ends[:, 1:] + 1], axis=1)
    at = np.concatenate([first, first - 1, low[:, np.newaxis], high[:, np.newaxis]], axis=1)
    used = np.concatenate([inside, inside, ends[:, :1] > lowest, ends[:, 1:] < highest], axis=1)
    count = len(wanted)
    is_lower = np.array([True] * count + [False] * count + [True, False])
    least = ((value << problem.postshift) + steps[:, np.newaxis]) << 32
    return _Constraints(
        at + moved[:, np.newaxis], least, np.broadcast_to(is_lower, at.shape), used & any_point
    )


def _solve(
    problem: LineProblem, steps: Int64Array, tilts: npt.NDArray[np.float64], two_sided: bool
) -> tuple[BoolArray, Int64Array, Int64Array]:
    """Which channels have a line, and its addend and multiplier."""
    points = _constraints(problem, steps, two_sided)
    slopes = _candidate_slopes(problem, tilts)
    k = problem.preshift
    best = np.full(len(steps), -1, np.int64)
    addend, multiplier = np.zeros_like(steps), np.zeros_like(steps)
    bias = problem.bias if two_sided else np.zeros_like(steps)
    low, high = (problem.low + bias) << k, (problem.high + bias) << k
    at = points.at << k
    for column in range(slopes.shape[1]):
        m = slopes[:, column]
        bound = -((-points.least) // m[:, np.newaxis]) - at
        floor = np.where(points.used & points.is_lower, bound, -_FAR).max(axis=1)
        ceiling = np.where(points.used & ~points.is_lower, bound - 1, _FAR).min(axis=1)
        floor = np.maximum(floor, -(2**31) - np.minimum(low, 0))
        ceiling = np.minimum(ceiling, 2**31 - 1 - np.maximum(high, 0))
        width = ceiling - floor
        better = width > best
        best = np.where(better, width, best)
        addend = np.where(better, (floor + ceiling) >> 1, addend)
        multiplier = np.where(better, m, multiplier)
    found = best >= 0
    assert _holds(points, addend, multiplier, at, found)
    return found, addend, multiplier


def _candidate_slopes(problem: LineProblem, tilts: npt.NDArray[np.float64]) -> Int64Array:
    """Multipliers to try, (channels, candidates), in [1, 2^31)."""
    exact = problem.multipliers * 2.0 ** (
        problem.shifts - 31.0 + 32 + problem.postshift - problem.preshift
    )
    reach = np.maximum(problem.high - problem.low, 1).astype(np.float64)
    # A constant output: the steepest line that stays inside one step.
    gentlest = 2.0 ** (30 + problem.postshift - problem.preshift) / reach
    exact = np.where(problem.is_constant, np.minimum(gentlest, 2.0**30), exact)
    tilted = exact[:, np.newaxis] * (1.0 + tilts[np.newaxis, :] / reach[:, np.newaxis])
    if len(tilts) > len(_TILTS):  # what barely depends on its input takes any gentle slope
        gentle = np.broadcast_to(2.0 ** np.arange(8, 31), (len(exact), 23))
        tilted = np.concatenate([tilted, gentle], axis=1)
    slopes: Int64Array = np.clip(np.rint(tilted), 1, 2**31 - 1).astype(np.int64)
    return slopes


def _holds(
    points: _Constraints,
    addend: Int64Array,
    multiplier: Int64Array,
    at: Int64Array,
    found: BoolArray,
) -> bool:
    """Every point of the found channels, by the products themselves."""
    product = (addend[:, np.newaxis] + at) * multiplier[:, np.newaxis]
    kept = np.where(points.is_lower, product >= points.least, product < points.least)
    return bool((kept | ~points.used)[found].all())
