"""Intervals that thresholds leave for a line's addend: what proofs of 32-bit forms share.

A line is u * m + c with u >= 0, of which `high << p | fine` is m and the addend's c. For a
multiplier m the thresholds leave an interval for c; its width is concave in m and bisection finds
the widest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Rounding
from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.requantization.forms import RequantizationTask
from glowmcu.kernels.requantization.thresholds import Staircase
from glowmcu.lazy_dataclass import dataclass

HALF_BITS = 16
MOST_POSTSHIFT = 24
FAR = np.int64(2**60)
_BISECTIONS = 40
#: Channels.
_AT_ONCE = 128


def alike(task: RequantizationTask) -> RequantizationTask:
    """With one scale for all channels, reaches that let them share their factors."""
    if len(set(zip(task.multipliers.tolist(), task.shifts.tolist(), strict=True))) != 1:
        return task
    low, high = (task.low + task.bias).min(), (task.high + task.bias).max()
    return replace(task, low=low - task.bias, high=high - task.bias)


def parts(task: RequantizationTask) -> Iterator[slice]:
    """Channels that are looked at together: each has a point for every output, in many arrays."""
    channels = len(task.bias)
    return (slice(at, at + _AT_ONCE) for at in range(0, channels, _AT_ONCE))


def bits(numbers: Int64Array) -> int:
    """Of the largest of some numbers, none of which is below 0."""
    return int(np.bitwise_or.reduce(numbers)).bit_length()


@dataclass(frozen=True, eq=False)
class Points:
    """u * m + c must be >= `least` at `at_least` and < `below` at `at_below` where these are used:
    (channel, point).
    """

    at_least: Int64Array
    least: Int64Array
    at_below: Int64Array
    below: Int64Array
    used: npt.NDArray[np.bool_]

    def interval(self, multiplier: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Bounds of c, least and end, and how fast their distance grows with the multiplier."""
        m = multiplier[:, np.newaxis]
        lower = np.where(self.used, self.least - m * self.at_least, -FAR)
        upper = np.where(self.used, self.below - m * self.at_below, FAR)
        i, j = lower.argmax(axis=1)[:, np.newaxis], upper.argmin(axis=1)[:, np.newaxis]
        growth = np.take_along_axis(self.at_least, i, 1) - np.take_along_axis(self.at_below, j, 1)
        return lower.max(axis=1), upper.min(axis=1), growth[:, 0]


@dataclass(frozen=True, eq=False)
class Layout:
    """Where u lies and how its multiplier is scaled; accumulators include the bias.

    `first` (channel, output) is the least accumulator of each output above the clamp's least,
    `used` the ones in the accumulator range, `origin` the accumulator where u = 0.
    """

    first: Int64Array
    used: npt.NDArray[np.bool_]
    is_constant: npt.NDArray[np.bool_]
    origin: Int64Array
    span: Int64Array
    span_shift: int
    fine_shift: int
    postshift: int
    nominal: Int64Array


def used_outputs(task: RequantizationTask, stairs: Staircase) -> npt.NDArray[np.bool_]:
    """Which of the outputs above the least are reached in the range, but not everywhere in it."""
    wanted, ends = stairs.outputs_above, task.ends
    used: npt.NDArray[np.bool_] = (wanted > ends[:, :1]) & (wanted <= ends[:, 1:])
    return used


def scales(task: RequantizationTask) -> npt.NDArray[np.float64]:
    """Of the channels, and 0 of those of one output."""
    rises = task.ends[:, 0] != task.ends[:, 1]
    scale: npt.NDArray[np.float64] = rises * task.multipliers * 2.0 ** (task.shifts - 31.0)
    return scale


def line_start(stairs: Staircase) -> Int64Array:
    """Least accumulator where the line of results above the zero point reaches the least output."""
    right, left = np.maximum(-stairs.shifts, 0), np.maximum(stairs.shifts, 0)
    steps = stairs.clamp[0] - stairs.zero_point
    multiplier = np.maximum(stairs.multipliers, 1) << left
    half = (np.int64(1) << right) >> 1
    if stairs.rounding is Rounding.SINGLE:
        below = (np.int64(1) << (30 + right)) - (np.int64(steps) << (31 + right))
    else:
        below = (np.int64(1) << 30) - ((np.int64(steps) << right) - half) * (np.int64(1) << 31)
    return np.asarray(-(below // multiplier), np.int64)


def points_of(
    task: RequantizationTask, layout: Layout, step: Int64Array, addend_bits: int
) -> Points:
    """Both sides of every threshold in range, both ends of the range, and an addend that is none
    below `step`, which results of accumulators below zero are less, and has so many bits.
    """
    total, step = layout.postshift + layout.fine_shift, step[:, np.newaxis] << layout.fine_shift
    first, ends = layout.first, task.ends - task.clamp[0]
    u = first - layout.origin[:, np.newaxis]
    value = np.broadcast_to(np.arange(1, first.shape[1] + 1, dtype=np.int64) << total, u.shape)
    outer = np.stack([task.low, task.high], axis=1) + task.bias[:, np.newaxis]
    at_outer = np.clip(
        outer - layout.origin[:, np.newaxis],
        0,
        (layout.span << layout.span_shift)[:, np.newaxis],
    )
    outer_step = step * (outer < 0)
    zero = np.zeros_like(step)
    most = np.full_like(zero, 1 << (addend_bits + layout.fine_shift))
    return Points(
        np.concatenate([u, at_outer[:, :1], zero], axis=1),
        np.concatenate(
            [value + step * (first < 0), (ends[:, :1] << total) + outer_step[:, :1], step], axis=1
        ),
        np.concatenate([u - 1, at_outer[:, 1:], zero], axis=1),
        np.concatenate(
            [value + step * (first <= 0), ((ends[:, 1:] + 1) << total) + outer_step[:, 1:], most],
            axis=1,
        ),
        np.pad(layout.used, ((0, 0), (0, 2)), constant_values=True),
    )


def widest(points: Points, nominal: Int64Array) -> Int64Array:
    """The multiplier near the true one that leaves most room for the addend."""
    low, high = nominal - (nominal >> 5) - 1, nominal + (nominal >> 5) + 1
    for _ in range(_BISECTIONS):
        middle = (low + high) >> 1
        _, _, growth = points.interval(middle)
        low = np.where(growth > 0, middle + 1, low)
        high = np.where(growth > 0, high, middle)
    widths = []
    for near in (low - 1, low):
        least, end, _ = points.interval(near)
        widths.append(end - least)
    return np.maximum(np.where(widths[0] > widths[1], low - 1, low), 0)


def addends(
    points: Points, multiplier: Int64Array, fine_shift: int
) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """A multiple of 2^fine_shift in the middle of the interval, and whether it is inside."""
    least, end, _ = points.interval(multiplier)
    first, last = -(-least >> fine_shift), (end - 1) >> fine_shift
    return (first + last) >> 1, first <= last


def fine_and_high(multiplier: Int64Array, fine_shift: int) -> tuple[Int64Array, Int64Array]:
    """Its two parts."""
    return multiplier & ((np.int64(1) << fine_shift) - 1), multiplier >> fine_shift
