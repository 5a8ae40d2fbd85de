"""Requantization in depthwise kernels: one postshift for many layers, constants as C reads them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array, Rounding
from glowmcu.kernels.kernel import Field
from glowmcu.kernels.requantization.forms import Form, FormKind, RequantizationTask, find_form

Words = npt.NDArray[np.int32]
#: What the loops that scale weights by 2^8 need; others may shift less.
PRESHIFT = 8
#: In the order of trial: layers that agree share a loop. Fewer places would lose precision.
_POSTSHIFTS = (11, 12, 13, 10, 14)
#: Both fit two words a channel. `two_sided` takes four and no fewer instructions in these loops.
_KINDS = (FormKind.FLOOR, FormKind.LITERAL)
_SHIFT_BITS = 5


def rounding_field(zero_point: int) -> Field:
    """What the literal form adds in halves of a step, by the output's zero point."""
    return Field("rounding", 2 * zero_point + 1, f"2 * {zero_point} + 1")


def common_form(task: RequantizationTask, preshifts: tuple[int, ...] = (PRESHIFT,)) -> Form | None:
    """An exact form whose constants are small, with a common postshift if there is one."""
    form = first_form(task, _KINDS, preshifts)
    return form if form is None or form.kind is FormKind.FLOOR or _is_compact(form) else None


def first_form(
    task: RequantizationTask, kinds: tuple[FormKind, ...], preshifts: tuple[int, ...] = (PRESHIFT,)
) -> Form | None:
    """The first of `kinds` that is exact, with a common postshift if there is one."""
    for kind in kinds:
        if kind is FormKind.FLOOR and not _can_floor(task):
            continue
        for postshifts in (_POSTSHIFTS, None):
            form = find_form(task, preshifts, postshifts, (kind,))
            if form is not None:
                return form
    return None


def scaled_form(task: RequantizationTask) -> Form | None:
    """A common form for sums that arrive scaled by 2^8: their sign must be the accumulator's."""
    form = common_form(task)
    if form is None or form.kind is FormKind.FLOOR:
        return form
    most = np.maximum(np.abs(task.low + task.bias), np.abs(task.high + task.bias))
    return form if (most << PRESHIFT < 2**31).all() else None


def _can_floor(task: RequantizationTask) -> bool:
    """Whether outputs can be the floor of one line; rounding away from zero has two sides."""
    above = task.low + task.bias >= 0
    return task.rounding is Rounding.SINGLE or task.zero_point == -128 or bool(above.all())


def _is_compact(form: Form) -> bool:
    return bool((np.abs(form.start) < 2 ** (31 - _SHIFT_BITS)).all())


def form_constants(form: Form, zero_point: int) -> Words:
    """What an epilogue reads of each channel, (channels, 2).

    floor      addend, multiplier
    literal    start << 5 | (shift - 1), multiplier; the step is (2 * zero_point + 1) << (shift - 1)
    """
    if form.kind is FormKind.FLOOR:
        columns = [form.addend, form.multiplier]
    else:
        # A still channel gets a start that multiplier and shift halve twice, and no weights.
        still = _is_still(form)
        output = form.step >> form.shifts
        start = np.where(still, 4 * (output - zero_point), form.start)
        first = (start << _SHIFT_BITS) + np.where(still, 0, form.shifts - 1)
        columns = [first, np.where(still, 2**30, form.multiplier)]
    return np.stack(columns, axis=1).astype(np.int32)


def _is_still(form: Form) -> npt.NDArray[np.bool_]:
    """Channels whose output never changes."""
    literal: npt.NDArray[np.bool_] = form.multiplier == 0
    return literal & (form.kind is FormKind.LITERAL)


def weights_of(form: Form, weights: Array) -> Array:
    """`weights`, channels last, without those that the constants do not go with."""
    return np.where(_is_still(form), 0, weights).astype(np.int8)


def form_facts(form: Form) -> tuple[str, ...]:
    """Of a function (`specialized`): what tells forms apart."""
    shifts = (f"preshift {form.preshift}", f"shift {form.postshift}")
    return (
        form.kind.fact,
        *(() if form.kind is FormKind.LITERAL else shifts),
        "clamped" if form.clamp else "",
    )
