"""The line that is bent at zero equals TensorFlow Lite's rounding at and around every threshold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.ir.operation import Rounding
from glowmcu.kernels.requantization.bent import (
    BentForm,
    _holds,
    _layout,
    _step_shifts,
    find_bent_form,
)
from glowmcu.kernels.requantization.forms import RequantizationTask
from tests.kernels.test_requantization_narrow import SCALES, mismatches, task_of
from tests.support.roundings import ROUNDINGS

FULL = (-128, 127)


def fits(task: RequantizationTask, form: BentForm) -> bool:
    """Whether Armv6-M's 32 bits hold what the sequence makes on its way from raw sums in range."""
    for channel in range(len(task.bias)):
        start, zero, span, multiplier, addend, shift = (
            int(getattr(form, name)[channel])
            for name in ("start", "zero", "span", "multiplier", "addend", "step_shift")
        )
        high, fine = multiplier >> 13, multiplier & 0x1FFF
        step = 1 << shift if shift < 32 else 0
        words = (span * fine, span * high + ((span * fine) >> 13) + addend, multiplier, addend)
        reach = max(abs(int(end[channel] + task.bias[channel])) for end in (task.low, task.high))
        if (
            not all(0 <= word < 2**32 for word in words)
            or addend < step
            or not 0 <= span < 2**24
            or abs(start) >= 2**31
            or reach + abs(zero) >= 2**31
        ):
            return False
    return True


def found_for(task: RequantizationTask) -> BentForm:
    """The form, which fits and is right for the whole range."""
    form = find_bent_form(task)
    assert form is not None
    assert fits(task, form)
    assert mismatches(task, form) == 0
    return form


@pytest.mark.parametrize("accumulator_range", [3, 255, 4096, 300_000])
@pytest.mark.parametrize(
    ("zero_point", "clamp"),
    [
        (-128, FULL), (-127, FULL), (-3, FULL), (0, FULL), (64, FULL), (127, FULL), (5, (-20, 60)),
        (5, (5, 100)), (-100, (-128, -3)), (5, (5, 5)),
    ],
)  # fmt: skip
def test_every_accumulator_of_the_reach_has_its_result(
    zero_point: int, clamp: tuple[int, int], accumulator_range: int
) -> None:
    for rounding in ROUNDINGS:
        found_for(
            task_of(SCALES, accumulator_range, zero_point, clamp, rounding, seed=abs(zero_point))
        )


@pytest.mark.parametrize("ends", [(5, 4000), (-4000, -5), (0, 900), (-900, 0), (-900, -1), (1, 1)])
@pytest.mark.parametrize("zero_point", [-128, -3, 0, 127])
def test_sums_of_one_sign_have_a_form(zero_point: int, ends: tuple[int, int]) -> None:
    task = task_of([0.0131, 0.0077], 1, zero_point)
    low, high = (np.full(2, end, np.int64) - task.bias for end in ends)
    found_for(replace(task, low=low, high=high))


def test_channels_that_give_one_result_only_keep_it() -> None:
    task = task_of([0.004, 0.004, 0.004, 1e-7, 1e-7], 2_000, 5)
    form = found_for(replace(task, bias=np.array([2**30, 100, -(2**29), 303_000_000, 3])))
    assert form.multiplier.astype(bool).tolist() == [False, True, False, False, False]


def test_a_line_is_bent_where_halves_go_away_from_zero_alone() -> None:
    for zero_point, rounding, is_bent in (
        (0, Rounding.DOUBLE, True), (0, Rounding.SINGLE, False), (-128, Rounding.DOUBLE, False),
    ):  # fmt: skip
        form = found_for(task_of(SCALES, 9_000, zero_point, rounding=rounding))
        assert (form.step_shift < 32).all() == is_bent
        assert (form.step_shift == 32).all() != is_bent


@pytest.mark.parametrize("scale", [0.04, 0.00002])
def test_scales_too_large_and_spans_too_long_have_no_form(scale: float) -> None:
    """A factor has 32 bits, 37 behind the point; a span less than 19."""
    assert find_bent_form(task_of([scale], 20_000_000, 3)) is None


def test_what_wraps_and_starts_beyond_32_bits_have_no_form() -> None:
    task = task_of([3e-8], 2**30, 3)
    assert find_bent_form(replace(task, bias=np.array([2**31 - 5]))) is None
    near = replace(task_of([0.01], 3000, 3), bias=np.array([0]))
    assert find_bent_form(replace(near, offset=np.array([2**31 - 1]))) is not None
    assert find_bent_form(replace(near, offset=np.array([2**31]))) is None


FIELDS = ("start", "zero", "span", "multiplier", "addend", "step_shift")


@pytest.mark.parametrize("field", FIELDS)
def test_a_form_that_is_a_little_off_is_never_taken(field: str) -> None:
    """The last check, by itself: what it lets through is exact everywhere and fits."""
    verdicts = set()
    for seed, (scale, accumulator_range) in enumerate([(0.011, 400), (0.031, 9_000)]):
        task = task_of([scale], accumulator_range, 9, seed=seed)
        layout, form = _layout(task, _step_shifts(task) < 32), find_bent_form(task)
        assert form is not None
        steps = (0, 1, -1, 2, -2, 3, *(s << k for k in range(2, 34, 3) for s in (1, -1)))
        for step in steps[:6] if field == "step_shift" else steps:
            moved = replace(form, **{field: getattr(form, field) + step})
            holds = _holds(task, layout, moved)
            verdicts.add(holds)
            assert holds == (fits(task, moved) and mismatches(task, moved) == 0), (step, scale)
    assert verdicts == {True, False}


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_form_that_is_wrong_in_one_channel_is_not_taken(wrong: int) -> None:
    task = task_of([0.011, 0.011], 4_000, 9)
    layout, form = _layout(task, _step_shifts(task) < 32), find_bent_form(task)
    assert form is not None
    addend = form.addend.copy()
    addend[wrong] += 1 << 24
    assert _holds(task, layout, form)
    assert not _holds(task, layout, replace(form, addend=addend))


def test_words_are_those_that_the_c_reads() -> None:
    one = np.ones(1, np.int64)
    form = BentForm(-128, -5 * one, -7 * one, 9 * one, 0x8001_2345 * one, 0x10 * one, 32 * one)
    assert form.words.tolist() == [[2**32 - 5, 0x8001_2345, 0x8000_0010, 0x2000_0009, 2**32 - 7]]
