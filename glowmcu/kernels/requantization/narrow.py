"""Requantization with 32-bit products only, proved equal to TensorFlow Lite's.

Armv6-M has no others. With raw = sum(w * x), a channel's constants and p, s, k of the layer:

    u = min(max(raw - low, 0), span << k)
    out = clamp_min + ((u * high + ((u * fine) >> p) + addend) >> s)

`high << p | fine` is one multiplier of up to 32 bits: dropping what `u * fine` has below p loses
nothing of the floor. u starts where the true line meets the least output and ends where it reaches
the greatest, so saturation is free and products stay below 2^32. For a multiplier m the thresholds
leave an interval for the addend; its width is concave in m and bisection finds the widest. None
where some channel has no line, as when rounding away from zero bends it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.requantization.forms import RequantizationTask, remembered
from glowmcu.kernels.requantization.thresholds import Staircase, picked
from glowmcu.lazy_dataclass import dataclass

_HALF_BITS = 16
_MOST_POSTSHIFT = 24
_FAR = np.int64(2**60)
_BISECTIONS = 40
#: Channels.
_AT_ONCE = 128


@dataclass(frozen=True, eq=False)
class NarrowForm:
    """Constants of the sequence, one a channel; `low` is of raw sums, without bias and offset."""

    clamp_min: int
    fine_shift: int
    postshift: int
    span_shift: int
    low: Int64Array
    high: Int64Array
    fine: Int64Array
    addend: Int64Array
    span: Int64Array

    def outputs(self, raw: Int64Array) -> Int64Array:
        """What the C computes of raw sums; the first axis is the channel."""
        extra = (1,) * (raw.ndim - 1)
        low, high, fine, addend, span = (
            array.reshape(-1, *extra)
            for array in (self.low, self.high, self.fine, self.addend, self.span)
        )
        u = np.clip(raw - low, 0, span << self.span_shift)
        total = u * high + ((u * fine) >> self.fine_shift) + addend
        outputs: Int64Array = self.clamp_min + (total >> self.postshift)
        return outputs

    @property
    def factors(self) -> Array:
        """Two words a channel, as the C reads them: fine, high; span, addend."""
        words = (self.fine | self.high << _HALF_BITS, self.span | self.addend << _HALF_BITS)
        return np.stack(words, axis=1).astype(np.uint32).view(np.int32)


_CACHE: OrderedDict[tuple[object, ...], NarrowForm | None] = OrderedDict()


def find_narrow_form(task: RequantizationTask, fine_bits: int = _HALF_BITS) -> NarrowForm | None:
    """The form of a layer, None if some channel has no exact line; p is at most `fine_bits`."""
    key = (task.key, fine_bits)
    return remembered(_CACHE, key, lambda: _find(_alike(task), fine_bits))


def _alike(task: RequantizationTask) -> RequantizationTask:
    """With one scale for all channels, reaches that let them share their factors."""
    if len(set(zip(task.multipliers.tolist(), task.shifts.tolist(), strict=True))) != 1:
        return task
    low, high = (task.low + task.bias).min(), (task.high + task.bias).max()
    return replace(task, low=low - task.bias, high=high - task.bias)


def _find(task: RequantizationTask, fine_bits: int) -> NarrowForm | None:
    stairs = task.stairs_to(task.clamp)
    if task.wraps:
        return None
    layout = _layout(task, stairs, fine_bits)
    if layout is None:
        return None
    multiplier, addend = np.zeros((2, len(task.bias)), np.int64)
    for some in _parts(task):
        part = picked(layout, some)
        points = _points(picked(task, some), part)
        multiplier[some] = _widest(points, part.nominal)
        addend[some], found = _addends(points, multiplier[some], layout.fine_shift)
        if not (found | part.is_constant).all():
            return None
    return _with_constants(task, layout, _form(task, layout, multiplier, addend))


def _parts(task: RequantizationTask) -> Iterator[slice]:
    """Channels that are looked at together: each has a point for every output, in many arrays."""
    channels = len(task.bias)
    return (slice(at, at + _AT_ONCE) for at in range(0, channels, _AT_ONCE))


@dataclass(frozen=True, eq=False)
class _Layout:
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


def _layout(
    task: RequantizationTask, stairs: Staircase, fine_bits: int = _HALF_BITS
) -> _Layout | None:
    wanted, first, ends = stairs.outputs_above, stairs.firsts, task.ends
    used = (wanted > ends[:, :1]) & (wanted <= ends[:, 1:])
    is_constant = ends[:, 0] == ends[:, 1]
    scale = ~is_constant * task.multipliers * 2.0 ** (task.shifts - 31.0)
    origin = _line_start(stairs)
    span = (first - origin[:, np.newaxis]).max(axis=1, where=used, initial=0)
    span_shift = max(_bits(span) - _HALF_BITS, 0)
    span = -(-span >> span_shift)
    fine_shift = min(fine_bits, 32 - _bits(span << span_shift))
    postshift = _MOST_POSTSHIFT
    while scale.max(initial=0.0) * 2.0**postshift >= 2**_HALF_BITS - 2:
        postshift -= 1
    if fine_shift < 1 or postshift < 1:
        return None
    nominal = np.rint(scale * 2.0 ** (postshift + fine_shift)).astype(np.int64)
    return _Layout(
        first, used, is_constant, origin, span, span_shift, fine_shift, postshift, nominal
    )


def _bits(numbers: Int64Array) -> int:
    """Of the largest of some numbers, none of which is below 0."""
    return int(np.bitwise_or.reduce(numbers)).bit_length()


def _line_start(stairs: Staircase) -> Int64Array:
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


@dataclass(frozen=True, eq=False)
class _Points:
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
        lower = np.where(self.used, self.least - m * self.at_least, -_FAR)
        upper = np.where(self.used, self.below - m * self.at_below, _FAR)
        i, j = lower.argmax(axis=1)[:, np.newaxis], upper.argmin(axis=1)[:, np.newaxis]
        growth = np.take_along_axis(self.at_least, i, 1) - np.take_along_axis(self.at_below, j, 1)
        return lower.max(axis=1), upper.min(axis=1), growth[:, 0]


def _points(task: RequantizationTask, layout: _Layout) -> _Points:
    """Both sides of every threshold in range, both ends of the range, and 0 <= addend < 2^16."""
    total = layout.postshift + layout.fine_shift
    count = layout.first.shape[1]
    u = layout.first - layout.origin[:, np.newaxis]
    value = np.broadcast_to(np.arange(1, count + 1, dtype=np.int64) << total, u.shape)
    ends = task.ends - task.clamp[0]
    accumulators = (
        np.stack([task.low, task.high], axis=1) + (task.bias - layout.origin)[:, np.newaxis]
    )
    accumulators = np.clip(accumulators, 0, (layout.span << layout.span_shift)[:, np.newaxis])
    zero = np.zeros((len(u), 1), np.int64)
    most = np.full_like(zero, 1 << (_HALF_BITS + layout.fine_shift))
    return _Points(
        np.concatenate([u, accumulators[:, :1], zero], axis=1),
        np.concatenate([value, ends[:, :1] << total, zero], axis=1),
        np.concatenate([u - 1, accumulators[:, 1:], zero], axis=1),
        np.concatenate([value, (ends[:, 1:] + 1) << total, most], axis=1),
        np.pad(layout.used, ((0, 0), (0, 2)), constant_values=True),
    )


def _widest(points: _Points, nominal: Int64Array) -> Int64Array:
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


def _addends(
    points: _Points, multiplier: Int64Array, fine_shift: int
) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """A multiple of 2^fine_shift in the middle of the interval, and whether it is inside."""
    least, end, _ = points.interval(multiplier)
    first, last = -(-least >> fine_shift), (end - 1) >> fine_shift
    return (first + last) >> 1, first <= last


def _form(
    task: RequantizationTask, layout: _Layout, multiplier: Int64Array, addend: Int64Array
) -> NarrowForm:
    return NarrowForm(
        task.clamp[0],
        layout.fine_shift,
        layout.postshift,
        layout.span_shift,
        layout.origin - task.bias - task.offset,
        multiplier >> layout.fine_shift,
        multiplier & ((np.int64(1) << layout.fine_shift) - 1),
        addend,
        layout.span,
    )


def _with_constants(
    task: RequantizationTask, layout: _Layout, form: NarrowForm
) -> NarrowForm | None:
    """Channels of one output: u is always at the end of its span."""
    fixed = layout.is_constant
    wanted = (task.ends[:, 0] - task.clamp[0]) << layout.postshift
    span = -(-wanted // (2**_HALF_BITS - 1)) + (1 << layout.span_shift) - 1
    span = np.where(fixed, span >> layout.span_shift, layout.span)
    reached = np.maximum(span << layout.span_shift, 1)
    high = np.where(fixed, -(-wanted // reached), form.high)
    origin = task.low - task.offset - reached
    result = replace(
        form,
        low=np.where(fixed, origin, form.low),
        high=high,
        fine=np.where(fixed, 0, form.fine),
        addend=np.where(fixed, 0, form.addend),
        span=span,
    )
    for some in _parts(task):
        if not _holds(picked(task, some), picked(layout, some), picked(result, some)):
            return None
    return result


def _holds(task: RequantizationTask, layout: _Layout, form: NarrowForm) -> bool:
    """Every threshold and both ends once more, by the sequence itself; and what 32 bits hold.

    Channels that shift too far for the thresholds' closed form differ at these.
    """
    ends = np.stack([task.low, task.high], axis=1) + task.bias[:, np.newaxis]
    inside = np.where(layout.used, layout.first, ends[:, :1])
    before = np.where(layout.used, layout.first - 1, ends[:, :1])
    at = np.concatenate([ends, inside, before], axis=1) - task.bias[:, np.newaxis]
    want = np.clip(task.outputs(at), *task.clamp)
    raw = at - task.offset[:, np.newaxis]
    top = form.span << form.span_shift
    total = top * form.high + ((top * form.fine) >> form.fine_shift) + form.addend
    halves = np.stack([form.high, form.fine, form.span, form.addend])
    #: Numbers from 0 on, and their bits.
    held = (
        (total, 32),
        (top * form.fine, 32),
        (halves, _HALF_BITS),
        (form.addend, form.postshift),  # u = 0 may take a shortcut
        (np.abs(form.low), 31),
        (np.abs(raw - form.low[:, np.newaxis]), 31),
    )
    fits = not any((numbers >> bits).any() for numbers, bits in held)
    return fits and bool((form.outputs(raw) == want).all())
