"""The mirrored form equals TensorFlow Lite's rounding at and around every threshold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.kernels.requantization.forms import RequantizationTask
from glowmcu.kernels.requantization.mirrored import (
    MirroredForm,
    _holds,
    _layout,
    find_mirrored_form,
)
from tests.kernels.test_requantization_narrow import SCALES, mismatches, task_of

ZERO_POINTS = (-128, -127, -90, -1, 0, 3, 64, 126, 127)


def found_for(task: RequantizationTask) -> MirroredForm:
    """The form, whose sums and products fit 32 bits and which is right for the whole range."""
    form = find_mirrored_form(task)
    assert form is not None
    assert fits(form)
    assert mismatches(task, form) == 0
    return form


def fits(form: MirroredForm) -> bool:
    """Whether Armv6-M's 32 bits hold what the sequence makes on its way."""
    for high, fine, addend in zip(
        form.high.tolist(), form.fine.tolist(), form.addend.tolist(), strict=True
    ):
        fine_product = form.span * fine
        total = form.span * high + (fine_product >> form.fine_shift) + addend
        halves, words = (high, fine), (addend, fine_product, total)
        if not all(0 <= half < 2**16 for half in halves):
            return False
        if not all(0 <= word < 2**32 for word in words):
            return False
    return True


@pytest.mark.parametrize("accumulator_range", [3, 255, 4096, 300_000])
@pytest.mark.parametrize("zero_point", ZERO_POINTS)
def test_every_accumulator_of_the_reach_has_its_result(
    accumulator_range: int, zero_point: int
) -> None:
    found_for(task_of(SCALES, accumulator_range, zero_point, seed=accumulator_range))


@pytest.mark.parametrize("ends", [(5, 4000), (-4000, -5), (0, 900), (-900, 0), (-900, -1), (1, 1)])
@pytest.mark.parametrize("zero_point", [-128, -3, 0, 127])
def test_sums_of_one_sign_have_a_form(zero_point: int, ends: tuple[int, int]) -> None:
    task = task_of([0.031, 0.0077], 1, zero_point)
    low, high = (np.full(2, end, np.int64) - task.bias for end in ends)
    found_for(replace(task, low=low, high=high))


def test_channels_that_give_one_result_only_keep_it() -> None:
    """The greatest, the least, and one between whose sums hardly differ."""
    task = task_of([0.004, 0.004, 0.004, 1e-7, 1e-7], 2_000, 5)
    form = found_for(replace(task, bias=np.array([2**30, 100, -(2**29), 303_000_000, 3])))
    assert form.high.astype(bool).tolist() == [False, True, False, False, False]


def test_channels_of_one_scale_share_their_factors() -> None:
    form = found_for(task_of([0.0037] * 9, 30_000, -7))
    assert (form.factors == form.factors[:1]).all()


@pytest.mark.parametrize("clamp", [(-127, 127), (-128, 126), (-20, 30)])
def test_clamps_within_int8_have_no_form(clamp: tuple[int, int]) -> None:
    assert find_mirrored_form(task_of(SCALES, 30_000, 3, clamp)) is None


@pytest.mark.parametrize("scale", [0.5, 0.25])
def test_sums_whose_products_end_in_halves_have_no_mirror(scale: float) -> None:
    """The first of both roundings takes these up on both sides."""
    assert find_mirrored_form(task_of([scale], 700, 0)) is None
    found_for(task_of([scale * 1.01], 700, 0))


def test_what_wraps_and_starts_beyond_32_bits_have_no_form() -> None:
    task = task_of([3e-8], 2**30, 3)
    assert find_mirrored_form(replace(task, bias=np.array([2**31 - 5]))) is None
    near = replace(task_of([0.01], 3000, 3), bias=np.array([0]))
    assert find_mirrored_form(replace(near, offset=np.array([2**31 - 1]))) is not None
    assert find_mirrored_form(replace(near, offset=np.array([2**31]))) is None


@pytest.mark.parametrize("accumulator_range", [2, 3, 40, 700, 9_000])
def test_scales_of_all_sizes_have_a_form_but_those_of_halves(accumulator_range: int) -> None:
    """Also those above one, which shift to the left, and those that hardly reach an output."""
    without = set()
    for scale in (3.2, 2.0, 1.7, 1.0, 0.61, 0.5, 0.123, 0.03, 1e-3, 1e-5, 0.0):
        task = task_of([scale], accumulator_range, 11, seed=accumulator_range)
        if find_mirrored_form(task) is None:
            without.add(scale)
        else:
            found_for(task)
    assert without == {0.5}


FIELDS = ("start", "high", "fine", "addend")


@pytest.mark.parametrize("field", [*FIELDS, "span"])
def test_a_form_that_is_a_little_off_is_never_taken(field: str) -> None:
    """The last check, by itself: what it lets through is exact everywhere and fits."""
    verdicts = set()
    for seed, (scale, accumulator_range) in enumerate([(0.011, 400), (0.031, 9_000), (0.3, 650)]):
        task = task_of([scale], accumulator_range, 9, seed=seed)
        layout, form = _layout(task), find_mirrored_form(task)
        assert layout is not None
        assert form is not None
        for step in (0, 1, -1, 2, -2, 3, *(s << k for k in range(2, 34, 3) for s in (1, -1))):
            moved = replace(form, **{field: getattr(form, field) + step})
            holds = _holds(task, layout, moved)
            verdicts.add(holds)
            assert holds == (fits(moved) and mismatches(task, moved) == 0), (step, scale)
    assert verdicts == {True, False}


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_form_that_is_wrong_in_one_channel_is_not_taken(wrong: int) -> None:
    task = task_of([0.011, 0.011], 4_000, 9)
    layout, form = _layout(task), find_mirrored_form(task)
    assert layout is not None
    assert form is not None
    addend = form.addend.copy()
    addend[wrong] += 1 << form.postshift
    assert _holds(task, layout, form)
    assert not _holds(task, layout, replace(form, addend=addend))
