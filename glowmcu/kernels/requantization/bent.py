"""Requantization by a line that is bent at zero, with 24 bits behind the point: 32-bit products.

Halves that go away from zero lower what is below zero by 2^-r, r being the second shift. With
v = sum(w * x) + start and a channel's constants:

    u = min(max(v + zero, 0), span)
    out = clamp_min + ((u * high + ((u * fine) >> 13) + addend - (v < 0 ? step : 0)) >> 24)

As in `narrow.py` saturation is part of it, and results are bytes as they leave the shift. It costs
a constant more a channel than `mirrored.py`, and less time where constants stay in registers.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.requantization.forms import RequantizationTask, remembered
from glowmcu.kernels.requantization.intervals import (
    Layout,
    addends,
    fine_and_high,
    line_start,
    parts,
    points_of,
    scales,
    used_outputs,
    widest,
)
from glowmcu.kernels.requantization.thresholds import picked
from glowmcu.lazy_dataclass import dataclass

_POSTSHIFT, _FINE_BITS = 24, 13
#: u * fine is below 2^32.
_MOST_SPAN = 2 ** (32 - _FINE_BITS)
#: A shift by so much leaves nothing of a word: there is no step.
_NO_STEP = 32


@dataclass(frozen=True, eq=False)
class BentForm:
    """Constants of the sequence, one a channel; `start` is bias and offset, `step` is
    2^step_shift, or 0 where that is 32.
    """

    clamp_min: int
    start: Int64Array
    zero: Int64Array
    span: Int64Array
    multiplier: Int64Array
    addend: Int64Array
    step_shift: Int64Array

    def outputs(self, raw: Int64Array) -> Int64Array:
        """What the C computes of raw sums, (channels, any)."""
        start, zero, span, addend, step, fine, high = (
            array[:, np.newaxis]
            for array in (self.start, self.zero, self.span, self.addend, _steps(self.step_shift),
                          *fine_and_high(self.multiplier, _FINE_BITS))
        )  # fmt: skip
        v = raw + start
        u = np.clip(v + zero, 0, span)
        total = u * high + ((u * fine) >> _FINE_BITS) + addend - np.where(v < 0, step, 0)
        outputs: Int64Array = self.clamp_min + (total >> _POSTSHIFT)
        return outputs

    @property
    def words(self) -> Array:
        """Five a channel, as the C reads them: start; fine, high; addend that begins with the least
        output; span, step shift; zero.
        """
        words = (
            self.start,
            self.multiplier,
            self.addend + (self.clamp_min << _POSTSHIFT),
            self.span | self.step_shift << _POSTSHIFT,
            self.zero,
        )
        return (np.stack(words, axis=1) & 0xFFFFFFFF).astype(np.uint32)


_CACHE: OrderedDict[tuple[object, ...], BentForm | None] = OrderedDict()


def find_bent_form(task: RequantizationTask) -> BentForm | None:
    """The form of a layer, None if some channel has no exact line."""
    return remembered(_CACHE, task.key, lambda: _find(task))


def _steps(shifts: Int64Array) -> Int64Array:
    return np.where(shifts < _NO_STEP, np.int64(1) << np.minimum(shifts, _NO_STEP), 0)


def _find(task: RequantizationTask) -> BentForm | None:
    if task.wraps:
        return None
    shifts = _step_shifts(task)
    layout = _layout(task, shifts < _NO_STEP)
    if (layout.span >= _MOST_SPAN).any():
        return None
    multiplier, addend = np.zeros((2, len(task.bias)), np.int64)
    for some in parts(task):
        part = picked(layout, some)
        points = points_of(picked(task, some), part, _steps(shifts[some]), 32)
        multiplier[some] = widest(points, part.nominal)
        addend[some], found = addends(points, multiplier[some], _FINE_BITS)
        if not (found | part.is_constant).all():
            return None
    form = _form(task, layout, shifts, multiplier, addend)
    for some in parts(task):
        if not _holds(picked(task, some), picked(layout, some), picked(form, some)):
            return None
    return form


def _step_shifts(task: RequantizationTask) -> Int64Array:
    """Where sums below zero have results above the least one, and are shifted twice."""
    shifts = _POSTSHIFT + task.shifts
    is_bent = (task.shifts < 0) & (shifts >= 0) & (task.clamp[0] < task.zero_point)
    return np.where(is_bent & (task.rounding is Rounding.DOUBLE), shifts, _NO_STEP)


def _layout(task: RequantizationTask, is_bent: Array) -> Layout:
    """From where the line comes to the least output, which is a sum or two later where it is
    lowered, or from the least sum, so that spans are short.
    """
    stairs = task.stairs_to(task.clamp)
    first, used, is_constant = stairs.firsts, used_outputs(task, stairs), stairs.is_constant
    origin = np.maximum(line_start(stairs) + 2 * is_bent, task.low + task.bias)
    span = (first - origin[:, np.newaxis]).max(axis=1, where=used, initial=0)
    nominal = np.rint(scales(task) * 2.0 ** (_POSTSHIFT + _FINE_BITS)).astype(np.int64)
    return Layout(first, used, is_constant, origin, span, 0, _FINE_BITS, _POSTSHIFT, nominal)


def _form(
    task: RequantizationTask,
    layout: Layout,
    step_shifts: Int64Array,
    multiplier: Int64Array,
    addend: Int64Array,
) -> BentForm:
    """Channels of one output have nothing but an addend."""
    fixed = layout.is_constant
    return BentForm(
        task.clamp[0],
        task.bias + task.offset,
        np.where(fixed, 0, -layout.origin),
        layout.span,
        np.where(fixed, 0, multiplier),
        np.where(fixed, (task.ends[:, 0] - task.clamp[0]) << _POSTSHIFT, addend),
        np.where(fixed, _NO_STEP, step_shifts),
    )


def _holds(task: RequantizationTask, layout: Layout, form: BentForm) -> bool:
    """Every threshold, both ends and both sides of zero once more, by the sequence itself; and what
    32 bits hold.

    Channels that shift too far for the thresholds' closed form differ at these.
    """
    low, high = ((end + task.bias)[:, np.newaxis] for end in (task.low, task.high))
    inside = np.where(layout.used, layout.first, low)
    before = np.where(layout.used, layout.first - 1, low)
    zeros = np.clip(np.array([[-1, 0]]), low, high)
    at = np.concatenate([low, high, zeros, inside, before], axis=1) - task.bias[:, np.newaxis]
    want = np.clip(task.outputs(at), *task.clamp)
    raw = at - task.offset[:, np.newaxis]
    fine, top = fine_and_high(form.multiplier, _FINE_BITS)
    total = form.span * top + ((form.span * fine) >> _FINE_BITS) + form.addend
    sums = raw + form.start[:, np.newaxis]
    #: Numbers from 0 on, and their bits.
    held = (
        (total, 32),
        (form.span * fine, 32),
        (form.multiplier, 32),
        (form.addend - _steps(form.step_shift), 32),
        (form.span, _POSTSHIFT),
        (np.abs(form.start), 31),
        (np.abs(sums) + np.abs(form.zero)[:, np.newaxis], 31),
    )
    fits = not any((numbers >> bits).any() for numbers, bits in held)
    return fits and bool((form.outputs(raw) == want).all())
