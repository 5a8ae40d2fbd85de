"""Requantization of signed outputs with 32-bit products only, proved equal to TensorFlow Lite's.

Rounding away from zero bends the line through all thresholds at zero, and both of its sides are
one line of magnitudes. With v = sum(w * x) + start, a channel's constants and p, s of the layer:

    u = min(|v|, span);  r = (u * high + ((u * fine) >> p) + addend) >> s
    out = saturate(zero_point + (v < 0 ? -r : r))

No result changes behind `span`, the last threshold of all channels. What a multiplier leaves for
the addend, and which is taken, is as in `narrow.py`. Clamps within int8 have no such form.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array
from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.requantization.forms import RequantizationTask, remembered
from glowmcu.kernels.requantization.intervals import (
    FAR,
    HALF_BITS,
    MOST_POSTSHIFT,
    Points,
    addends,
    alike,
    fine_and_high,
    parts,
    scales,
    used_outputs,
    widest,
)
from glowmcu.kernels.requantization.thresholds import picked
from glowmcu.lazy_dataclass import dataclass

INT8 = (-128, 127)


@dataclass(frozen=True, eq=False)
class MirroredForm:
    """Constants of the sequence, one a channel; `start` is bias and offset."""

    zero_point: int
    fine_shift: int
    postshift: int
    span: int
    start: Int64Array
    high: Int64Array
    fine: Int64Array
    addend: Int64Array

    def outputs(self, raw: Int64Array) -> Int64Array:
        """What the C computes of raw sums; the first axis is the channel."""
        extra = (1,) * (raw.ndim - 1)
        start, high, fine, addend = (
            array.reshape(-1, *extra) for array in (self.start, self.high, self.fine, self.addend)
        )
        v = raw + start
        u = np.minimum(np.abs(v), self.span)
        r = (u * high + ((u * fine) >> self.fine_shift) + addend) >> self.postshift
        outputs: Int64Array = np.clip(self.zero_point + np.where(v < 0, -r, r), *INT8)
        return outputs

    @property
    def factors(self) -> Array:
        """Two words a channel, as the C reads them: fine, high; addend."""
        words = (self.fine | self.high << HALF_BITS, self.addend)
        return np.stack(words, axis=1).astype(np.uint32).view(np.int32)


_CACHE: OrderedDict[tuple[object, ...], MirroredForm | None] = OrderedDict()


def find_mirrored_form(task: RequantizationTask) -> MirroredForm | None:
    """The form of a layer, None if some channel has no exact line."""
    return remembered(_CACHE, task.key, lambda: _find(alike(task)))


@dataclass(frozen=True, eq=False)
class _Layout:
    """Of the `used` outputs above the least, (channel, output), `first` is the least |v| that takes
    r to `value`: that of the output, or of the one below where v is negative.
    """

    first: Int64Array
    value: Int64Array
    used: npt.NDArray[np.bool_]
    is_constant: npt.NDArray[np.bool_]
    span: int
    fine_shift: int
    postshift: int
    nominal: Int64Array


def _find(task: RequantizationTask) -> MirroredForm | None:
    start = task.bias + task.offset
    if task.wraps or task.clamp != INT8 or (np.abs(start) >= 2**31).any():
        return None
    layout = _layout(task)
    if layout is None:
        return None
    multiplier, addend = np.zeros((2, len(task.bias)), np.int64)
    for some in parts(task):
        part = picked(layout, some)
        points = _points(picked(task, some), part)
        multiplier[some] = widest(points, part.nominal)
        addend[some], found = addends(points, multiplier[some], layout.fine_shift)
        if not (found | part.is_constant).all():
            return None
    form = _form(task, layout, multiplier, addend)
    for some in parts(task):
        if not _holds(picked(task, some), picked(layout, some), picked(form, some)):
            return None
    return form


def _layout(task: RequantizationTask) -> _Layout | None:
    stairs, zero_point = task.stairs_to(INT8), task.zero_point
    wanted, first, used = stairs.outputs_above, stairs.firsts, used_outputs(task, stairs)
    first = np.where(wanted > zero_point, first, 1 - first)
    value = np.where(wanted > zero_point, wanted - zero_point, zero_point - wanted + 1)
    scale = scales(task)
    span = int(first.max(where=used, initial=1))
    fine_shift = min(HALF_BITS, 32 - span.bit_length())
    most, postshift = float(scale.max(initial=0.0)), MOST_POSTSHIFT
    while max(most * 2**HALF_BITS, span * most) * 2.0**postshift >= 2**32 - 2 ** (postshift + 1):
        postshift -= 1
    if fine_shift < 1 or postshift < 1:
        return None
    nominal = np.rint(scale * 2.0 ** (postshift + fine_shift)).astype(np.int64)
    value = np.broadcast_to(value, first.shape)
    return _Layout(first, value, used, stairs.is_constant, span, fine_shift, postshift, nominal)


def _points(task: RequantizationTask, layout: _Layout) -> Points:
    """Both sides of every threshold in range, both ends of each sign's range, 0 <= addend < 1."""
    total = layout.postshift + layout.fine_shift
    zero = np.zeros((len(task.bias), 1), np.int64)
    at_least, least, at_below, below = (
        [layout.first], [layout.value << total], [layout.first - 1], [layout.value << total]
    )  # fmt: skip
    low, high = task.low + task.bias, task.high + task.bias
    for near, far, (near_out, far_out), saturated in (
        (low, high, (task.ends - task.zero_point).T, INT8[1] - task.zero_point),
        (-high, -low, (task.zero_point - task.ends[:, ::-1]).T, task.zero_point - INT8[0]),
    ):
        is_open = (far < 0) | (far_out == saturated)
        at_least.append(np.clip(near, 0, layout.span)[:, np.newaxis])
        least.append(np.maximum(near_out, 0)[:, np.newaxis] << total)
        at_below.append(np.clip(far, 0, layout.span)[:, np.newaxis])
        below.append(np.where(is_open, FAR, (far_out + 1) << total)[:, np.newaxis])
    at_least.append(zero)
    least.append(zero)
    at_below.append(zero)
    below.append(zero + (1 << total))
    bounds = [np.concatenate(each, axis=1) for each in (at_least, least, at_below, below)]
    used = np.pad(layout.used, ((0, 0), (0, 3)), constant_values=True)
    return Points(bounds[0], bounds[1], bounds[2], bounds[3], used)


def _form(
    task: RequantizationTask, layout: _Layout, multiplier: Int64Array, addend: Int64Array
) -> MirroredForm:
    """Channels of one output have nothing but an addend: their sums have one sign, or give 0."""
    fixed = layout.is_constant
    distance = np.abs(task.ends[:, 0] - task.zero_point) << layout.postshift
    fine, high = fine_and_high(np.where(fixed, 0, multiplier), layout.fine_shift)
    return MirroredForm(
        task.zero_point,
        layout.fine_shift,
        layout.postshift,
        layout.span,
        task.bias + task.offset,
        high,
        fine,
        np.where(fixed, distance, addend),
    )


def _holds(task: RequantizationTask, layout: _Layout, form: MirroredForm) -> bool:
    """Every threshold, both ends and zero once more, by the sequence itself; and what 32 bits hold.

    Channels that shift too far for the thresholds' closed form differ at these.
    """
    ends = np.stack([task.low, task.high], axis=1) + task.bias[:, np.newaxis]
    zero = np.clip(0, ends[:, :1], ends[:, 1:])
    sides = []
    for near in (layout.first, layout.first - 1):
        for v in (near, -near):
            inside = layout.used & (v >= ends[:, :1]) & (v <= ends[:, 1:])
            sides.append(np.where(inside, v, zero))
    at = np.concatenate([ends, zero, *sides], axis=1) - task.bias[:, np.newaxis]
    want = np.clip(task.outputs(at), *task.clamp)
    fine = form.span * form.fine
    total = form.span * form.high + (fine >> form.fine_shift) + form.addend
    halves = np.stack([form.high, form.fine])
    held = ((total, 32), (fine, 32), (halves, HALF_BITS), (form.addend, 32))
    fits = not any((numbers >> count).any() for numbers, count in held)
    return fits and bool((form.outputs(at - task.offset[:, np.newaxis]) == want).all())
