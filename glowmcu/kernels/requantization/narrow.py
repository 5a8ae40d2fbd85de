"""Requantization with 32-bit products only, proved equal to TensorFlow Lite's.

Armv6-M has no others. With raw = sum(w * x), a channel's constants and p, s, k of the layer:

    u = min(max(raw - low, 0), span << k)
    out = clamp_min + ((u * high + ((u * fine) >> p) + addend) >> s)

`high << p | fine` is one multiplier of up to 32 bits: dropping what `u * fine` has below p loses
nothing of the floor. u starts where the true line meets the least output and ends where it reaches
the greatest, so saturation is free and products stay below 2^32 (`intervals.py`). None where some
channel has no line, as when rounding away from zero bends it: see `mirrored.py`.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.requantization.forms import RequantizationTask, remembered
from glowmcu.kernels.requantization.intervals import (
    HALF_BITS,
    MOST_POSTSHIFT,
    Layout,
    addends,
    alike,
    bits,
    fine_and_high,
    line_start,
    parts,
    points_of,
    scales,
    used_outputs,
    widest,
)
from glowmcu.kernels.requantization.thresholds import Staircase, picked
from glowmcu.lazy_dataclass import dataclass


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
        words = (self.fine | self.high << HALF_BITS, self.span | self.addend << HALF_BITS)
        return np.stack(words, axis=1).astype(np.uint32).view(np.int32)


_CACHE: OrderedDict[tuple[object, ...], NarrowForm | None] = OrderedDict()


def find_narrow_form(task: RequantizationTask, fine_bits: int = HALF_BITS) -> NarrowForm | None:
    """The form of a layer, None if some channel has no exact line; p is at most `fine_bits`."""
    key = (task.key, fine_bits)
    return remembered(_CACHE, key, lambda: _find(alike(task), fine_bits))


def _find(task: RequantizationTask, fine_bits: int) -> NarrowForm | None:
    stairs = task.stairs_to(task.clamp)
    if task.wraps:
        return None
    layout = _layout(task, stairs, fine_bits)
    if layout is None:
        return None
    multiplier, addend, no_step = np.zeros((3, len(task.bias)), np.int64)
    for some in parts(task):
        part = picked(layout, some)
        points = points_of(picked(task, some), part, no_step[some], HALF_BITS)
        multiplier[some] = widest(points, part.nominal)
        addend[some], found = addends(points, multiplier[some], layout.fine_shift)
        if not (found | part.is_constant).all():
            return None
    return _with_constants(task, layout, _form(task, layout, multiplier, addend))


def _layout(
    task: RequantizationTask, stairs: Staircase, fine_bits: int = HALF_BITS
) -> Layout | None:
    first, used, is_constant = stairs.firsts, used_outputs(task, stairs), stairs.is_constant
    scale = scales(task)
    origin = line_start(stairs)
    span = (first - origin[:, np.newaxis]).max(axis=1, where=used, initial=0)
    span_shift = max(bits(span) - HALF_BITS, 0)
    span = -(-span >> span_shift)
    fine_shift = min(fine_bits, 32 - bits(span << span_shift))
    postshift = MOST_POSTSHIFT
    while scale.max(initial=0.0) * 2.0**postshift >= 2**HALF_BITS - 2:
        postshift -= 1
    if fine_shift < 1 or postshift < 1:
        return None
    nominal = np.rint(scale * 2.0 ** (postshift + fine_shift)).astype(np.int64)
    return Layout(
        first, used, is_constant, origin, span, span_shift, fine_shift, postshift, nominal
    )


def _form(
    task: RequantizationTask, layout: Layout, multiplier: Int64Array, addend: Int64Array
) -> NarrowForm:
    fine, high = fine_and_high(multiplier, layout.fine_shift)
    return NarrowForm(
        task.clamp[0],
        layout.fine_shift,
        layout.postshift,
        layout.span_shift,
        layout.origin - task.bias - task.offset,
        high,
        fine,
        addend,
        layout.span,
    )


def _with_constants(
    task: RequantizationTask, layout: Layout, form: NarrowForm
) -> NarrowForm | None:
    """Channels of one output: u is always at the end of its span."""
    fixed = layout.is_constant
    wanted = (task.ends[:, 0] - task.clamp[0]) << layout.postshift
    span = -(-wanted // (2**HALF_BITS - 1)) + (1 << layout.span_shift) - 1
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
    for some in parts(task):
        if not _holds(picked(task, some), picked(layout, some), picked(result, some)):
            return None
    return result


def _holds(task: RequantizationTask, layout: Layout, form: NarrowForm) -> bool:
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
        (halves, HALF_BITS),
        (form.addend, form.postshift),  # u = 0 may take a shortcut
        (np.abs(form.low), 31),
        (np.abs(raw - form.low[:, np.newaxis]), 31),
    )
    fits = not any((numbers >> bits).any() for numbers, bits in held)
    return fits and bool((form.outputs(raw) == want).all())
