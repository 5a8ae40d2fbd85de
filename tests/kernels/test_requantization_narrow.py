"""The narrow form equals TensorFlow Lite's rounding at and around every threshold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.ir.operation import Rounding
from glowmcu.kernels.requantization.bent import BentForm
from glowmcu.kernels.requantization.forms import RequantizationTask
from glowmcu.kernels.requantization.intervals import Points, widest
from glowmcu.kernels.requantization.mirrored import MirroredForm
from glowmcu.kernels.requantization.narrow import (
    NarrowForm,
    _holds,
    _layout,
    find_narrow_form,
)
from glowmcu.ops.fixed_point import quantize_multiplier
from tests.support.roundings import ROUNDINGS


def task_of(
    scales: list[float],
    accumulator_range: int,
    zero_point: int = -128,
    clamp: tuple[int, int] = (-128, 127),
    rounding: Rounding = Rounding.DOUBLE,
    seed: int = 0,
) -> RequantizationTask:
    """One channel a scale, random bias and offset."""
    generator = np.random.default_rng(seed)
    parts = [quantize_multiplier(scale) for scale in scales]
    count = len(scales)
    edge = np.full(count, accumulator_range, np.int64)
    return RequantizationTask(
        multipliers=np.array([part[0] for part in parts], np.int64),
        shifts=np.array([part[1] for part in parts], np.int64),
        bias=generator.integers(-accumulator_range // 2, accumulator_range // 2, count),
        offset=generator.integers(-accumulator_range, accumulator_range, count),
        low=-edge,
        high=edge,
        zero_point=zero_point,
        clamp=clamp,
        rounding=rounding,
    )


def mismatches(task: RequantizationTask, form: NarrowForm | MirroredForm | BentForm) -> int:
    """Accumulators of the range, all of them, whose result differs."""
    wrong = 0
    for start in range(int(task.low.min()), int(task.high.max()) + 1, 1 << 16):
        at = np.arange(start, min(start + (1 << 16), int(task.high.max()) + 1))
        accumulators = np.broadcast_to(at, (len(task.bias), len(at)))
        want = np.clip(task.outputs(accumulators), *task.clamp)
        got = form.outputs(accumulators - task.offset[:, np.newaxis])
        wrong += int((want != got).sum())
    return wrong


SCALES = [0.0121, 0.0077, 0.0031, 0.0016]


@pytest.mark.parametrize("accumulator_range", [3, 255, 4096, 300_000])
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_every_accumulator_of_the_reach_has_its_result(
    accumulator_range: int, rounding: Rounding
) -> None:
    task = task_of(SCALES, accumulator_range, rounding=rounding, seed=accumulator_range)
    form = find_narrow_form(task)
    assert form is not None
    assert mismatches(task, form) == 0


@pytest.mark.parametrize(
    ("scale", "zero_point", "clamp", "ends"),
    [
        (0.47423, 77, (13, 105), (-30, -16)), (0.36921, -76, (-15, 87), (296, 308)),
        (0.23404, -61, (-2, 87), (399, 418)),
    ],
)  # fmt: skip
def test_the_least_output_of_a_short_range_is_part_of_the_form(
    scale: float, zero_point: int, clamp: tuple[int, int], ends: tuple[int, int]
) -> None:
    """It is above the clamp's: no threshold in the range keeps results from being less."""
    task = task_of([scale], 1, zero_point, clamp)
    low, high = (np.array([end], np.int64) for end in ends)
    task = replace(task, low=low - task.bias, high=high - task.bias)
    form = find_narrow_form(task)
    assert form is not None
    assert mismatches(task, form) == 0


@pytest.mark.parametrize("clamp", [(-128, 127), (-128, -1), (-90, 127), (-90, 41)])
def test_the_activation_is_part_of_the_form(clamp: tuple[int, int]) -> None:
    task = task_of([0.011, 0.0031], 60_000, zero_point=clamp[0], clamp=clamp)
    form = find_narrow_form(task)
    assert form is not None
    assert mismatches(task, form) == 0


def test_a_channel_that_gives_one_result_only_keeps_it() -> None:
    task = task_of([1e-7, 0.004, 1e-7], 20_000)
    task = replace(task, bias=np.array([2**30, 100, -(2**29)]))
    form = find_narrow_form(task)
    assert form is not None
    assert mismatches(task, form) == 0


def test_channels_of_one_scale_share_their_factors() -> None:
    form = find_narrow_form(task_of([0.0037] * 9, 30_000))
    assert form is not None
    assert (form.factors == form.factors[:1]).all()


def test_rounding_away_from_zero_on_both_sides_has_no_single_line() -> None:
    assert find_narrow_form(task_of(SCALES, 300_000, zero_point=3)) is None


def test_no_product_exceeds_32_bits() -> None:
    task = task_of(SCALES, 300_000)
    form = find_narrow_form(task)
    assert form is not None
    u = form.span << form.span_shift
    assert (u * form.fine < 2**32).all()
    assert (u * form.high + ((u * form.fine) >> form.fine_shift) + form.addend < 2**32).all()


def test_products_that_the_thresholds_are_not_proved_for_have_no_form() -> None:
    assert find_narrow_form(task_of([3e-8], 2**30)) is None


def test_factors_that_do_not_fit_16_bits_are_not_packed() -> None:
    fits = []
    for steps in range(131_060, 131_085):
        form = find_narrow_form(task_of([0.0121, 255 / steps], 140_000))
        if form is not None:
            assert (form.span < 2**16).all()
        fits.append(form is not None)
    assert set(fits) == {True, False}


FULL, RELU6 = (-128, 127), (-100, 3)
#: Scales above one that leave the addend no room, by clamp and accumulator range.
WITHOUT = {
    (FULL, 700): {3.2}, (FULL, 9_000): {3.2},
    (RELU6, 40): {3.2}, (RELU6, 700): {3.2, 1.7}, (RELU6, 9_000): {3.2, 1.7},
}  # fmt: skip


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("clamp", [FULL, RELU6])
@pytest.mark.parametrize("accumulator_range", [2, 3, 40, 700, 9_000])
def test_scales_of_all_sizes_have_exact_lines(
    accumulator_range: int, clamp: tuple[int, int], rounding: Rounding
) -> None:
    """Also those above one, which shift to the left."""
    for scale in (3.2, 2.0, 1.7, 1.0, 0.61, 0.5, 0.123, 0.03, 1e-3, 1e-5):
        task = task_of(
            [scale], accumulator_range, clamp[0], clamp, rounding, seed=accumulator_range
        )
        form = find_narrow_form(task)
        assert (form is None) == (scale in WITHOUT.get((clamp, accumulator_range), ())), scale
        if form is not None:
            assert mismatches(task, form) == 0, scale
            assert fits(task, form), scale


def fits(task: RequantizationTask, form: NarrowForm) -> bool:
    """Whether Armv6-M's 32 bits hold what the sequence makes on its way from raw sums in range."""
    for channel in range(len(task.bias)):
        low, high, fine, addend, span = (
            int(array[channel])
            for array in (form.low, form.high, form.fine, form.addend, form.span)
        )
        top = span << form.span_shift
        halves = (high, fine, addend, span)
        ends = (int(end[channel] - task.offset[channel]) - low for end in (task.low, task.high))
        if (
            not all(0 <= half < 2**16 for half in halves)
            or top * fine >= 2**32
            or top * high + ((top * fine) >> form.fine_shift) + addend >= 2**32
            or addend >= 2**form.postshift
            or not all(abs(each) < 2**31 for each in (low, *ends))
        ):
            return False
    return True


FIELDS = ("low", "high", "fine", "addend", "span")


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_a_form_that_is_a_little_off_is_never_taken(field: str, rounding: Rounding) -> None:
    """The last check, by itself: what it lets through is exact everywhere and fits."""
    verdicts = set()
    for seed, (scale, accumulator_range) in enumerate(
        [(0.011, 400), (0.031, 9_000), (1.3, 150), (0.5, 255)]
    ):
        task = task_of([scale], accumulator_range, rounding=rounding, seed=seed)
        layout, form = _layout(task, task.stairs_to(task.clamp)), find_narrow_form(task)
        assert layout is not None
        assert form is not None
        steps = [0, 1, -1, 2, -2, 3, *(sign << k for k in range(2, 40, 3) for sign in (1, -1))]
        for step in steps:
            moved = replace(form, **{field: getattr(form, field) + step})
            holds = _holds(task, layout, moved)
            verdicts.add(holds)
            if holds:
                assert fits(task, moved), step
                assert mismatches(task, moved) == 0, step
            else:
                assert not fits(task, moved) or mismatches(task, moved) > 0, step
    assert verdicts == {True, False}


def test_where_a_sum_begins_the_output_is_the_least_one() -> None:
    """There u = 0 takes a shortcut, be the addend as exact as it may."""
    one = np.ones(1, np.int64)
    task = RequantizationTask(
        2**30 * one, one, 0 * one, 0 * one, -100 * one, 90 * one, 0, (-101, 127), Rounding.SINGLE
    )
    layout = _layout(task, task.stairs_to(task.clamp))
    assert layout is not None
    form = NarrowForm(-101, 8, 15, 0, -101 * one, 2**15 * one, 0 * one, 0 * one, 228 * one)
    assert _holds(task, layout, form)
    moved = replace(form, low=form.low + 1, addend=form.addend + 2**15)
    assert mismatches(task, moved) == 0
    assert not _holds(task, layout, moved)


@pytest.mark.parametrize("nominal", [1, 5, 31, 32, 100, 1000])
@pytest.mark.parametrize("seed", range(4))
def test_the_widest_room_is_found_among_multipliers_a_32nd_around(nominal: int, seed: int) -> None:
    """Also where it still widens, or narrows, at both ends of these."""
    generator = np.random.default_rng(seed)
    at = np.sort(generator.integers(0, 60, (1, 8)), axis=1)
    noise = generator.integers(0, 30 * nominal, (2, 1, 8))
    tilt = (-(nominal // 4) - 1, 0, 0, nominal // 4 + 1)[seed] * at
    used = np.ones(at.shape, np.bool_)
    line = at * nominal + tilt
    points = Points(at, line + noise[0], at, line + noise[1] + 9, used)

    def room(multiplier: int) -> int:
        least, end, _ = points.interval(np.array([multiplier]))
        return int(end[0] - least[0])

    around = range(nominal - (nominal >> 5) - 2, nominal + (nominal >> 5) + 3)
    widths = {multiplier: room(multiplier) for multiplier in around}
    (found,) = widest(points, np.array([nominal])).tolist()
    best = {multiplier for multiplier in around if widths[multiplier] == max(widths.values())}
    assert found in {max(multiplier, 0) for multiplier in best}


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_a_scale_of_zero_divides_nothing(rounding: Rounding) -> None:
    task = task_of([0.0, 0.01, 1e-12], 3_000, rounding=rounding)
    with np.errstate(all="raise"):
        form = find_narrow_form(task)
    assert form is not None
    assert mismatches(task, form) == 0


def test_as_many_tasks_as_the_cache_holds_are_remembered() -> None:
    task = task_of([0.0123], 300)
    form = find_narrow_form(task)
    assert find_narrow_form(replace(task)) is form
