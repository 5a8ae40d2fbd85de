"""Lines through requantization's thresholds: the proof behind the cheap forms.

An output q is reached from accumulator A_q on. hi32((b + (a << k)) * m) >> s gives the same output
for every a of [low, high] when (b + (A_q << k)) * m >= q * 2^(32 + s) > (b + ((A_q - 1) << k)) * m
for each q in the accumulator range. For a multiplier m these are an interval for b. The true line
has slope m0 = scale * 2^(32 + s - k); candidates tilt it by fractions of an accumulator step over
the range, and the widest interval wins. All thresholds are then checked once more.

Only a few thresholds bound b. What a threshold asks of it is linear in 1/m, so that whatever lies
behind another one at both ends of a range of candidates does so for all of them.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.value_range import Int64Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.fixed_point import multiply_by_quantized_multiplier

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

BoolArray = npt.NDArray[np.bool_]
_FAR = np.int64(2**62)
#: Tilts in accumulator steps over the whole range: tried first, and for what is left.
_TILTS = np.concatenate([[0.0], np.linspace(-0.45, 0.45, 24)])
_MORE_TILTS = np.concatenate([np.linspace(-4, 4, 801), np.linspace(-400, 400, 161)])
#: More than this share of channels without a line means that the form does not suit the layer.
_FEW = 0.15
#: Products of the thresholds stay inside int64; channels that shift further have a constant output.
_MOST_RIGHT = 22
#: Where slopes are parted for screening: that of no tilt, where the thresholds of simple scales all
#: ask for the same, gentler and steeper ones; then neighbours in the order of trial.
_CUTS, _AT_ONCE = (1, 13), 32
#: Channels that are looked at together: each has some hundred points for every slope.
_CHANNELS_AT_ONCE = 128
#: Share of a bound's terms by which it may be wrong in float64, and some more.
_FLOAT_ERROR = 2.0**-48
_STEPS_AROUND = (0, 1, -1, 2, -2, 3, -3)

_Channels = TypeVar("_Channels", bound="DataclassInstance")


def picked(record: _Channels, channels: Int64Array | slice) -> _Channels:
    """Some channels of a record of which all arrays have one entry a channel."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    some = {name: v[channels] for name, v in values.items() if isinstance(v, np.ndarray)}
    return replace(record, **some)


@dataclass(frozen=True, eq=False)
class Staircase:
    """How clamped outputs rise with accumulators, which lie in [low, high] without the bias.

    Arrays have a row a channel. `ends` are the outputs at both ends of the range.
    """

    multipliers: Int64Array
    shifts: Int64Array
    bias: Int64Array
    low: Int64Array
    high: Int64Array
    ends: Int64Array
    zero_point: int
    clamp: tuple[int, int]
    rounding: Rounding

    def pick(self, channels: Int64Array | slice) -> Staircase:
        """Some channels of it."""
        return picked(self, channels)

    @cached_property
    def firsts(self) -> Int64Array:
        """The least accumulator, bias included, of each of `outputs_above`."""
        firsts = np.empty((len(self.bias), len(self.outputs_above)), np.int64)
        for start in range(0, len(firsts), _CHANNELS_AT_ONCE):
            some = slice(start, start + _CHANNELS_AT_ONCE)
            firsts[some] = _thresholds(self.pick(some))
        return firsts

    @property
    def is_constant(self) -> BoolArray:
        """Which channels give the same output for the whole range."""
        same: BoolArray = self.ends[:, 0] == self.ends[:, 1]
        return same

    @property
    def shifts_far(self) -> bool:
        """Whether a channel that is not constant shifts further than the closed form may."""
        far = self.shifts < -_MOST_RIGHT
        return bool((far & ~self.is_constant).any())

    @property
    def outputs_above(self) -> Int64Array:
        """The outputs of `firsts`."""
        lowest, highest = self.clamp
        return np.arange(lowest + 1, highest + 1, dtype=np.int64)

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
class LineProblem:
    """A line for each channel of `stairs`, with these shifts."""

    stairs: Staircase
    preshift: int
    postshift: int

    def has_room(self, with_bias: bool) -> bool:
        """Whether some addend keeps every shifted accumulator within 32 bits."""
        low, high = self.accumulator_range(with_bias)
        below, above = np.minimum(low, 0), np.maximum(high, 0)
        return bool((above - below < np.int64(1) << 32).all())

    def accumulator_range(self, with_bias: bool) -> tuple[Int64Array, Int64Array]:
        """Least and greatest shifted accumulator."""
        bias = self.stairs.bias if with_bias else np.int64(0)
        return (self.stairs.low + bias) << self.preshift, (self.stairs.high + bias) << self.preshift


@dataclass(frozen=True, eq=False)
class _Points:
    """Products with shifted accumulators `at` are compared with `least`; (channel, point)."""

    at: Int64Array
    least: Int64Array
    used: BoolArray

    def at_least(self, addend: Int64Array, multiplier: Int64Array) -> BoolArray:
        """Where the product is."""
        product: Int64Array = (addend[:, np.newaxis] + self.at) * multiplier[:, np.newaxis]
        return product >= self.least


@dataclass(frozen=True, eq=False)
class _Constraints:
    """Products must be >= `least` at `stairs` and `lower`, < it at `upper` and one accumulator
    (`spacing`) before `stairs`.
    """

    stairs: _Points
    lower: _Points
    upper: _Points
    spacing: int

    @cached_property
    def before(self) -> _Points:
        """Where products are still less."""
        return _Points(self.stairs.at - self.spacing, self.stairs.least, self.stairs.used)

    def hold(self, addend: Int64Array, multiplier: Int64Array) -> BoolArray:
        """By the products themselves, a channel."""
        line, used = (addend, multiplier), self.stairs.used
        held: BoolArray = np.all(
            np.concatenate(
                [
                    ~used | self.stairs.at_least(*line) & ~self.before.at_least(*line),
                    ~self.lower.used | self.lower.at_least(*line),
                    ~self.upper.used | ~self.upper.at_least(*line),
                ],
                axis=1,
            ),
            axis=1,
        )
        return held


def staircase(
    multipliers: Int64Array,
    shifts: Int64Array,
    bias: Int64Array,
    accumulator_range: tuple[Int64Array, Int64Array],
    zero_point: int,
    clamp: tuple[int, int],
    rounding: Rounding,
) -> Staircase:
    """Of a layer's requantization; `accumulator_range` is without the bias."""
    unknown = np.zeros((len(bias), 2), np.int64)
    bare = Staircase(
        multipliers, shifts, bias, *accumulator_range, unknown, zero_point, clamp, rounding
    )
    return replace(bare, ends=bare.outputs(np.stack(accumulator_range, axis=1) + bias[:, None]))


def _thresholds(stairs: Staircase) -> Int64Array:
    """Least accumulator, bias included, whose unclamped output is >= q, for each of
    `outputs_above`.

    Closed form of both roundings where nothing wraps. Source: TensorFlow Lite `common.cc`.
    """
    right = np.clip(-stairs.shifts, 0, _MOST_RIGHT)[:, np.newaxis]
    left = np.maximum(stairs.shifts, 0)[:, np.newaxis]
    steps = (stairs.outputs_above - stairs.zero_point)[np.newaxis, :]
    multiplier = np.maximum(stairs.multipliers, 1)[:, np.newaxis] << left
    if stairs.rounding is Rounding.SINGLE:
        wanted = (steps << (31 + right)) - (np.int64(1) << (30 + right))
        return np.asarray(-((-wanted) // multiplier), np.int64)
    half = (np.int64(1) << right) >> 1
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
    stairs = problem.stairs
    if stairs.shifts_far or not problem.has_room(two_sided):
        return None
    channels = len(stairs.bias)
    addend, multiplier = np.zeros(channels, np.int64), np.zeros(channels, np.int64)
    step = np.zeros(channels, np.int64)
    left = np.arange(channels)
    for tilts in (_TILTS, _MORE_TILTS):
        for near in _STEPS_AROUND if two_sided else _STEPS_AROUND[:1]:
            if not left.size or (left.size > 1 + _FEW * channels and tilts is _MORE_TILTS):
                break
            rest = []
            for some in np.split(left, range(_CHANNELS_AT_ONCE, len(left), _CHANNELS_AT_ONCE)):
                part = replace(problem, stairs=stairs.pick(some))
                steps = _base_step(part) + near if two_sided else np.zeros_like(some)
                found, b, m = _solve(part, steps, tilts, two_sided)
                addend[some[found]], multiplier[some[found]] = b[found], m[found]
                step[some[found]] = steps[found]
                rest.append(some[~found])
            left = np.concatenate(rest)
    return None if left.size else (addend, multiplier, step)


def _base_step(problem: LineProblem) -> Int64Array:
    """One unit of the inner rounding, in units of the high word."""
    exponent = problem.postshift + problem.stairs.shifts
    return np.where(exponent >= 0, np.int64(1) << np.abs(exponent), 0)


def _constraints(problem: LineProblem, steps: Int64Array, two_sided: bool) -> _Constraints:
    """Of both sides, with negative accumulators and others; one-sided problems have a single one.

    Where the line is of accumulators without bias, points are moved by it.
    """
    stairs, zero = problem.stairs, np.zeros_like(steps)
    low, high = stairs.low + stairs.bias, stairs.high + stairs.bias
    moved = zero if two_sided else -stairs.bias
    sides = [(low, high, zero)]
    if two_sided:
        sides = [(low, np.minimum(high, -1), steps), (np.maximum(low, 0), high, zero)]
    used = np.zeros(stairs.firsts.shape, np.bool_)
    lower, upper = list[tuple[Array, ...]](), list[tuple[Array, ...]]()
    for first, last, step in sides:
        ends = stairs.outputs(np.stack([first, last], axis=1))
        least, most, any_point = ends[:, 0], ends[:, 1], first <= last
        rises = any_point & (least < most)
        used |= (stairs.firsts > first[:, None]) & (stairs.firsts <= last[:, None]) & rises[:, None]
        lower.append((first, least, step, any_point & (least > stairs.clamp[0])))
        upper.append((last, most + 1, step, any_point & (most < stairs.clamp[1])))

    def points(at: Array, value: Array, step: Array, is_used: Array) -> _Points:
        shifted = (at + moved[:, np.newaxis]) << problem.preshift
        return _Points(shifted, ((value << problem.postshift) + step) << 32, is_used)

    return _Constraints(
        points(
            stairs.firsts,
            stairs.outputs_above,
            np.where(stairs.firsts < 0, steps[:, np.newaxis], 0),
            used,
        ),
        points(*(np.stack(columns, axis=1) for columns in zip(*lower, strict=True))),
        points(*(np.stack(columns, axis=1) for columns in zip(*upper, strict=True))),
        1 << problem.preshift,
    )


def _solve(
    problem: LineProblem, steps: Int64Array, tilts: npt.NDArray[np.float64], two_sided: bool
) -> tuple[BoolArray, Int64Array, Int64Array]:
    """Which channels have a line, and its addend and multiplier."""
    points = _constraints(problem, steps, two_sided)
    slopes = _candidate_slopes(problem, tilts)
    best, row = np.full(len(steps), -1, np.int64), np.arange(len(steps))
    addend, multiplier = np.zeros_like(steps), np.zeros_like(steps)
    low, high = problem.accumulator_range(two_sided)
    room = -(2**31) - np.minimum(low, 0), 2**31 - 1 - np.maximum(high, 0)
    for near in np.split(
        slopes, [*_CUTS, *range(_CUTS[-1] + _AT_ONCE, slopes.shape[1], _AT_ONCE)], axis=1
    ):
        # A single slope asks all points once: to screen them first would ask them several times.
        foremost = hindmost = points.stairs.used
        if near.shape[1] > 1:
            foremost, hindmost = _outermost(points.stairs, near)
        least = _bounds((points.stairs, foremost), points.lower, near)
        end = -_bounds((points.before, hindmost), points.upper, near, -1)
        floor = np.maximum(least, room[0][:, np.newaxis])
        ceiling = np.minimum(end - 1, room[1][:, np.newaxis])
        widest = (ceiling - floor).argmax(axis=1)
        floor, ceiling, slope = (each[row, widest] for each in (floor, ceiling, near))
        better = ceiling - floor > best
        best = np.where(better, ceiling - floor, best)
        addend = np.where(better, (floor + ceiling) >> 1, addend)
        multiplier = np.where(better, slope, multiplier)
    found = best >= 0
    assert points.hold(addend, multiplier)[found].all()
    return found, addend, multiplier


def _outermost(points: _Points, slopes: Int64Array) -> tuple[BoolArray, BoolArray]:
    """Which points can ask for the greatest addend for one of the slopes, and which for the least.

    The rest lies behind some point at both ends of the slopes, by more than floats are wrong by.
    """
    if points.used.shape[1] == 0:
        return points.used, points.used  # every output is the same: there is nothing to ask
    inverse = 1.0 / np.stack([slopes.min(axis=1), slopes.max(axis=1)])[:, :, np.newaxis]
    least, at = points.least.astype(np.float64), points.at.astype(np.float64)
    ends = [least * each - at for each in inverse]
    row = np.arange(len(least))
    wrong = (np.abs(least) * inverse[0] + np.abs(at)).max(axis=1, keepdims=True, initial=0.0)
    kept = []
    for sign in (1.0, -1.0):
        first, last = (np.where(points.used, sign * end, -np.inf) for end in ends)
        outside = points.used.copy()
        for view in (first, (first + last) / 2, last):
            leader = row, view.argmax(axis=1)
            limits = [each[leader][:, np.newaxis] - wrong * _FLOAT_ERROR for each in (first, last)]
            outside &= (first >= limits[0]) | (last >= limits[1])
        kept.append(outside)
    return kept[0], kept[1]


def _bounds(
    screened: tuple[_Points, BoolArray], ends: _Points, slopes: Int64Array, sign: int = 1
) -> Int64Array:
    """Greatest of the least addends that take each point's product to `least`, for every slope:
    (channels, slopes). Of `screened` only the points chosen. A negative sign is that of the points
    and of the result.
    """
    points, chosen = screened
    used = np.concatenate([chosen, ends.used], axis=1)
    channel = used.nonzero()[0]
    at = np.concatenate([points.at, ends.at], axis=1)[used]
    least = np.concatenate([points.least, ends.least], axis=1)[used]
    # -(-least // slope) - at, or its negative, in the place of the slopes: these are most numbers.
    bounds = slopes[channel]
    np.floor_divide(-least[:, np.newaxis], bounds, out=bounds)
    bounds += at[:, np.newaxis]
    if sign > 0:
        np.negative(bounds, out=bounds)
    result = np.full(slopes.shape, -_FAR)
    counts = used.sum(axis=1)
    has_any = counts.nonzero()[0]
    starts = (counts.cumsum() - counts)[has_any]
    result[has_any] = np.maximum.reduceat(bounds, starts, axis=0)
    return result


def _candidate_slopes(problem: LineProblem, tilts: npt.NDArray[np.float64]) -> Int64Array:
    """Multipliers to try, (channels, candidates), in [1, 2^31)."""
    stairs = problem.stairs
    exact = stairs.multipliers * 2.0 ** (
        stairs.shifts - 31.0 + 32 + problem.postshift - problem.preshift
    )
    width = np.maximum(stairs.high - stairs.low, 1).astype(np.float64)
    # A constant output: the steepest line that stays inside one step.
    gentlest = 2.0 ** (30 + problem.postshift - problem.preshift) / width
    exact = np.where(stairs.is_constant, np.minimum(gentlest, 2.0**30), exact)
    tilted = exact[:, np.newaxis] * (1.0 + tilts[np.newaxis, :] / width[:, np.newaxis])
    if tilts is _MORE_TILTS:  # what barely depends on its input takes any gentle slope
        gentle = np.broadcast_to(2.0 ** np.arange(8, 31), (len(exact), 23))
        tilted = np.concatenate([tilted, gentle], axis=1)
    slopes: Int64Array = np.clip(np.rint(tilted), 1, 2**31 - 1).astype(np.int64)
    return slopes
