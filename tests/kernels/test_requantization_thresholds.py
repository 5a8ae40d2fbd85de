"""Thresholds of requantization, and what bounds the lines through them, by their definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glowmcu.ir.operation import Rounding
from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.requantization import thresholds
from glowmcu.kernels.requantization.thresholds import (
    _FAR,
    LineProblem,
    Staircase,
    _bounds,
    _constraints,
    _outermost,
    _Points,
    picked,
    solve_lines,
    staircase,
)
from glowmcu.ops.fixed_point import multiply_by_quantized_multiplier
from tests.support.roundings import ROUNDINGS


def one_channel(
    multiplier: int,
    shift: int,
    accumulator_range: tuple[int, int],
    zero_point: int = 0,
    clamp: tuple[int, int] = (-128, 127),
    rounding: Rounding = Rounding.DOUBLE,
    bias: int = 0,
) -> Staircase:
    numbers = (np.array([each], np.int64) for each in (multiplier, shift, bias, *accumulator_range))
    m, s, b, low, high = numbers
    return staircase(m, s, b, (low, high), zero_point, clamp, rounding)


def free_outputs(stairs: Staircase, accumulators: Int64Array) -> Int64Array:
    """Before anything is clamped."""
    scaled = multiply_by_quantized_multiplier(
        accumulators, int(stairs.multipliers[0]), int(stairs.shifts[0]), stairs.rounding
    )
    return scaled + stairs.zero_point


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([2**30, 2**30 + 1, 2**31 - 1]) | st.integers(2**30, 2**31 - 1),
    st.integers(-22, 3),
    st.integers(-128, 127),
    st.sampled_from([(-128, 127), (-128, -127), (-1, 1), (126, 127), (5, 5)]),
    st.sampled_from(ROUNDINGS),
)
def test_a_threshold_is_the_least_accumulator_of_its_output(
    multiplier: int, shift: int, zero_point: int, clamp: tuple[int, int], rounding: Rounding
) -> None:
    """Halves of both signs among them: with powers of two every threshold is one."""
    stairs = one_channel(multiplier, shift, (-5, 5), zero_point, clamp, rounding)
    assert stairs.outputs_above.tolist() == list(range(clamp[0] + 1, clamp[1] + 1))
    assert stairs.firsts.shape == (1, clamp[1] - clamp[0])
    firsts = stairs.firsts[0]
    inside = np.abs(firsts << max(shift, 0)) < 2**31 - 2
    at, before = (free_outputs(stairs, firsts[inside] - step) for step in (0, 1))
    assert (at >= stairs.outputs_above[inside]).all()
    assert (before < stairs.outputs_above[inside]).all()


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_a_staircase_has_the_outputs_at_both_ends_with_the_bias(rounding: Rounding) -> None:
    stairs = one_channel(2**30, -3, (-100, 1000), 7, (-4, 60), rounding, bias=50)
    wanted = free_outputs(stairs, np.array([-50, 1050]))
    assert stairs.ends.tolist() == [np.clip(wanted, -4, 60).tolist()]
    assert stairs.outputs(np.array([[-50, 1050]])).tolist() == stairs.ends.tolist()
    assert not stairs.is_constant.any()
    assert one_channel(2**30, -3, (1, 3), bias=-2).is_constant.all()


@pytest.mark.parametrize(
    ("shift", "accumulator_range", "far"),
    [(-22, (-(2**30), 2**30), False), (-23, (-(2**30), 2**30), True), (-23, (-5, 5), False)],
)
def test_only_a_channel_that_changes_can_shift_too_far(
    shift: int, accumulator_range: tuple[int, int], far: bool
) -> None:
    stairs = one_channel(2**31 - 1, shift, accumulator_range)
    assert stairs.shifts_far == far
    if far:
        assert solve_lines(LineProblem(stairs, 0, 8), two_sided=True) is None


def test_a_line_of_what_shifts_too_far_is_not_looked_for() -> None:
    """It would be one of thresholds that are not those of the layer."""
    near, far = (one_channel(2**31 - 1, shift, (0, 2**31 - 1), -128) for shift in (-22, -23))
    assert solve_lines(LineProblem(near, 0, 1), two_sided=False) is not None
    assert solve_lines(LineProblem(far, 0, 1), two_sided=False) is None


@pytest.mark.parametrize(
    ("accumulator_range", "bias", "with_bias", "room"),
    [
        ((0, 2**24 - 1), 0, False, True), ((0, 2**24), 0, False, False),
        ((-(2**24) + 1, 0), 0, False, True), ((-(2**24), 0), 0, False, False),
        ((-(2**23), 2**23 - 1), 0, False, True), ((-(2**23), 2**23), 0, False, False),
        # Zero counts, as the addend by itself is a number of 32 bits, too.
        ((2**24 - 9, 2**24), 0, False, False), ((2**24, 2**24 + 9), -(2**24), True, True),
        ((0, 9), 2**24, True, False), ((0, 9), 2**24, False, True),
    ],
)  # fmt: skip
def test_an_addend_has_room_where_shifted_accumulators_span_less_than_32_bits(
    accumulator_range: tuple[int, int], bias: int, with_bias: bool, room: bool
) -> None:
    problem = LineProblem(one_channel(2**30, -20, accumulator_range, bias=bias), 8, 8)
    assert problem.has_room(with_bias) == room
    added = bias if with_bias else 0
    low, high = problem.accumulator_range(with_bias)
    assert (low[0], high[0]) == (
        (accumulator_range[0] + added) << 8,
        (accumulator_range[1] + added) << 8,
    )


def test_records_are_picked_by_channel_and_numbers_stay() -> None:
    stairs = staircase(
        np.array([2**30, 2**30 + 5, 2**31 - 1]), np.array([-9, -8, -7]), np.array([1, 2, 3]),
        (np.array([-9, -8, -7]), np.array([9, 8, 7])),
        3, (-5, 6), Rounding.SINGLE,
    )  # fmt: skip
    some = picked(stairs, np.array([2, 0]))
    assert some.multipliers.tolist() == [2**31 - 1, 2**30]
    assert (some.zero_point, some.clamp, some.rounding) == (3, (-5, 6), Rounding.SINGLE)
    assert np.array_equal(some.firsts, stairs.firsts[[2, 0]])
    assert stairs.pick(np.array([2, 0])).bias.tolist() == [3, 1]


#: The tilts of each round, and the steps around the first one.
FIRST, MORE = len(thresholds._TILTS), len(thresholds._MORE_TILTS)
STEPS = len(thresholds._STEPS_AROUND)


@pytest.mark.parametrize(
    ("channels", "hard", "asked"),
    [
        (10, 0, [(10, FIRST)]), (10, 2, [(10, FIRST), (2, MORE)]), (10, 3, [(10, FIRST)]),
        (20, 4, [(20, FIRST), (4, MORE)]), (20, 5, [(20, FIRST)]),
        (200, 0, [(128, FIRST), (72, FIRST)]), (1, 1, [(1, FIRST), (1, MORE)]),
        (140, 20, [(128, FIRST), (12, FIRST), (20, MORE)]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("two_sided", [False, True])
def test_more_is_tried_for_the_few_channels_that_are_left(
    channels: int,
    hard: int,
    asked: list[tuple[int, int]],
    two_sided: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """More than 15 % and one without a line mean that the form does not suit the layer."""
    one = np.ones(channels, np.int64)
    stairs = staircase(
        2**30 * one, -4 * one, np.arange(channels), (-9 * one, 9 * one), 0, (-128, 127),
        Rounding.DOUBLE,
    )  # fmt: skip
    seen: list[tuple[int, int]] = []

    def solved(
        problem: LineProblem, steps: Int64Array, tilts: np.ndarray, _: bool
    ) -> tuple[np.ndarray, Int64Array, Int64Array]:
        bias = problem.stairs.bias
        seen.append((len(bias), len(tilts)))
        found = (bias >= hard) | (len(tilts) == MORE)
        return found, 100 + bias, 1000 * len(tilts) + bias

    monkeypatch.setattr(thresholds, "_solve", solved)
    lines = solve_lines(LineProblem(stairs, 8, 7), two_sided)
    again = [(hard, FIRST)] * (STEPS - 1) if two_sided and hard else []
    parts = sum(count == FIRST for _, count in asked)
    assert seen == [*asked[:parts], *again, *asked[parts:]]
    has_lines = not hard or asked[-1][1] == MORE
    assert (lines is not None) == has_lines
    if lines is not None:
        numbers = np.arange(channels)
        assert lines[0].tolist() == (100 + numbers).tolist()
        tried = np.where(numbers < hard, MORE, FIRST)
        assert lines[1].tolist() == (1000 * tried + numbers).tolist()
        # Of the rounding by 2^4 a step is 2^3 in the high word, which is shifted by 7.
        assert lines[2].tolist() == [8 * two_sided] * channels


@pytest.mark.parametrize(
    ("two_sided", "nearest_first"), [(True, [8, 9, 7, 10, 6, 11, 5]), (False, [0])]
)
def test_steps_are_tried_from_the_nearest_on(
    two_sided: bool, nearest_first: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then again with more tilts, where no line was found."""
    one = np.ones(1, np.int64)
    stairs = staircase(
        2**30 * one, -4 * one, 0 * one, (-9 * one, 9 * one), 0, (-128, 127), Rounding.DOUBLE
    )
    tried = list[int]()

    def solved(
        problem: LineProblem, steps: Int64Array, *_: Any
    ) -> tuple[np.ndarray, Int64Array, Int64Array]:
        tried.extend(steps.tolist())
        return np.zeros(1, np.bool_), steps, steps

    monkeypatch.setattr(thresholds, "_solve", solved)
    assert solve_lines(LineProblem(stairs, 8, 7), two_sided) is None
    assert tried == 2 * nearest_first


def test_a_step_of_the_inner_rounding_is_no_part_of_the_high_word() -> None:
    one = np.ones(4, np.int64)
    shifts = np.array([-9, -8, -7, -4])
    stairs = staircase(
        2**30 * one, shifts, 0 * one, (-9 * one, 9 * one), 0, (-128, 127), Rounding.DOUBLE
    )
    assert thresholds._base_step(LineProblem(stairs, 8, 8)).tolist() == [0, 1, 2, 16]


def test_slopes_are_tilted_by_parts_of_a_step_over_the_range() -> None:
    """Where more are tried, gentle ones of all sizes, too, for what gives one output only."""
    stairs = one_channel(2**30, -3, (-100, 156))
    problem = LineProblem(stairs, 8, 7)
    exact = 2.0 ** (30 - 3 - 31 + 32 + 7 - 8)
    for tilts in (thresholds._TILTS, thresholds._MORE_TILTS):
        slopes = thresholds._candidate_slopes(problem, tilts)[0].tolist()
        tilted = [max(round(exact * (1 + tilt / 256)), 1) for tilt in tilts.tolist()]
        assert slopes[: len(tilts)] == tilted
        gentle = [2**power for power in range(8, 31)] if len(tilts) == MORE else []
        assert slopes[len(tilts) :] == gentle
    constant = one_channel(2**30, -20, (-100, 156))
    (first, *_) = thresholds._candidate_slopes(LineProblem(constant, 8, 7), thresholds._TILTS)[0]
    assert first == 2 ** (30 + 7 - 8) // 256
    single = one_channel(2**30, -20, (7, 7))
    for pre, post, wanted in ((0, 7, 2**30), (8, 7, 2**29)):
        slopes = thresholds._candidate_slopes(LineProblem(single, pre, post), np.zeros(1))
        assert slopes.tolist() == [[wanted]]
    steep, gentle = LineProblem(stairs, 0, 22), LineProblem(one_channel(2**30, -22, (0, 9)), 31, 0)
    assert thresholds._candidate_slopes(steep, np.zeros(1)).tolist() == [[2**31 - 1]]
    assert thresholds._candidate_slopes(gentle, np.zeros(1)).tolist() == [[1]]


def test_points_are_screened_for_several_slopes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def screened(points: _Points, slopes: Int64Array) -> tuple[np.ndarray, np.ndarray]:
        seen.append(slopes.shape[1])
        return _outermost(points, slopes)

    monkeypatch.setattr(thresholds, "_outermost", screened)
    stairs = one_channel(1_700_000_003, -4, (-300, 400), -128)
    assert solve_lines(LineProblem(stairs, 8, 7), two_sided=False) is not None
    # Without a tilt, gentler ones, steeper ones.
    assert seen == [12, 12]


def random_points(seed: int, channels: int = 3, count: int = 40) -> _Points:
    """Near a line, as thresholds are, some of them out of range."""
    generator = np.random.default_rng(seed)
    at = np.sort(generator.integers(-(2**20), 2**20, (channels, count)), axis=1) << 8
    least = at * np.int64(1_400_000_000) + generator.integers(-(2**40), 2**40, at.shape)
    return _Points(at, least, generator.random(at.shape) < 0.8)


def addend(point: tuple[int, int], slope: int) -> int:
    """The least one that takes the product at a point to what it must be, in exact integers."""
    at, least = point
    return -(-least // slope) - at


#: How far slopes are apart, and how many of 568 points are kept for them at most.
SCREENED = {100: 45, 1000: 102, 3000: 189}


@pytest.mark.parametrize("spread", SCREENED)
def test_screening_keeps_what_can_decide_and_little_else(spread: int) -> None:
    count = 0
    slopes = 1_400_000_000 + np.linspace(-spread, spread, 9).astype(np.int64)
    for seed in range(6):
        points = random_points(seed)
        kept = _outermost(points, np.broadcast_to(slopes, (3, 9)))
        assert not (kept[0] | kept[1])[~points.used].any()
        count += sum(int(side.sum()) for side in kept)
        for channel in range(3):
            used = points.used[channel]
            for slope in slopes:
                bounds = -(-points.least[channel] // slope) - points.at[channel]
                assert kept[0][channel, np.where(used, bounds, -_FAR).argmax()]
                assert kept[1][channel, np.where(used, bounds, _FAR).argmin()]
    assert count <= SCREENED[spread]


def test_nothing_is_asked_where_every_output_is_the_same() -> None:
    none = np.zeros((2, 0), np.int64)
    empty = _Points(none, none, none.astype(np.bool_))
    kept = _outermost(empty, np.full((2, 3), 2**30))
    assert [side.shape for side in kept] == [(2, 0)] * 2


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_are_the_furthest_of_all_points(seed: int, sign: int) -> None:
    points, ends = random_points(seed), random_points(seed + 50, count=2)
    points.used[1] = ends.used[1] = False
    chosen = points.used & (np.random.default_rng(seed).random(points.used.shape) < 0.5)
    slopes = np.array([[2**30, 2**30 + 1, 2**31 - 1]] * 3)
    got = _bounds((points, chosen), ends, slopes, sign)
    assert got[1].max() < -(2**61)  # nothing bounds it
    for channel in (0, 2):
        for column, slope in enumerate(slopes[channel].tolist()):
            bounds = [
                sign * addend((int(group.at[channel, i]), int(group.least[channel, i])), slope)
                for group, some in ((points, chosen), (ends, ends.used))
                for i in some[channel].nonzero()[0]
            ]
            assert got[channel, column] == max(bounds)


@pytest.mark.parametrize("two_sided", [False, True])
def test_products_tell_whether_a_line_holds(two_sided: bool) -> None:
    """Of two channels, of which one is spoiled; at thresholds, before them and at both ends."""
    one = np.ones(2, np.int64)
    stairs = staircase(
        1_700_000_003 * one, -4 * one, 3 * one, (-300 * one, 400 * one),
        5 if two_sided else -128, (-128, 127), Rounding.DOUBLE,
    )  # fmt: skip
    problem = LineProblem(stairs, 8, 7)
    found = solve_lines(problem, two_sided)
    assert found is not None
    addend, multiplier, step = found
    constraints = _constraints(problem, step, two_sided)
    assert constraints.hold(addend, multiplier).all()
    for moved in (2**9, -(2**9), 2**20, -(2**20)):
        assert constraints.hold(addend + moved * np.array([0, 1]), multiplier).tolist() == [
            True,
            False,
        ]
    for factor in (2, 1):
        turned = multiplier // np.array([1, factor]) + np.array([0, 2 - factor]) * 2**20
        assert constraints.hold(addend, turned).tolist() == [True, False]


def test_the_ends_of_a_reach_bound_a_line_where_no_threshold_does() -> None:
    """One output throughout: too large an addend leaves it above, too small a one below."""
    one = np.ones(1, np.int64)
    stairs = staircase(
        2**30 * one, -9 * one, 0 * one, (0 * one, 300 * one), 7, (-128, 127), Rounding.SINGLE
    )
    constraints = _constraints(LineProblem(stairs, 0, 4), 0 * one, False)
    assert stairs.ends.tolist() == [[7, 7]]
    slope = 2**20 * one
    first, end = 7 * 2**16, 8 * 2**16 - 300
    for addend, holds in ((first - 1, False), (first, True), (end - 1, True), (end, False)):
        assert bool(constraints.hold(addend * one, slope)[0]) == holds


def holds(
    problem: LineProblem, line: tuple[int, int, int], accumulators: Int64Array, two_sided: bool
) -> bool:
    """Whether a line gives every output, by the sequence of instructions."""
    stairs, (b, m, step) = problem.stairs, line
    moved = accumulators if two_sided else accumulators - stairs.bias[0]
    high = (((moved << problem.preshift) + b) * m) >> 32
    high -= np.where(accumulators < 0, step, 0) if two_sided else 0
    got = np.clip(high >> problem.postshift, *stairs.clamp)
    return bool((got == stairs.outputs(accumulators[np.newaxis])[0]).all())


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("zero_point", [-128, 0, 5])
@pytest.mark.parametrize(
    "accumulator_range", [(-300, 400), (0, 90), (-90, -1), (-1, 0), (7, 7), (-40, 0)]
)
def test_lines_give_every_output_in_reach(
    accumulator_range: tuple[int, int], zero_point: int, two_sided: bool
) -> None:
    """Both signs, one sign, a single accumulator; also where the first or last output is cut."""
    for multiplier, shift in ((2**30, -2), (1_700_000_003, -4), (2**31 - 1, 0), (2**30, -1)):
        for clamp in ((-128, 127), (-20, 30), (zero_point, 127)):
            stairs = one_channel(multiplier, shift, accumulator_range, zero_point, clamp, bias=3)
            problem = LineProblem(stairs, 8, 7)
            found = solve_lines(problem, two_sided)
            if found is None:
                # Rounding away from zero is no line where both signs are in range.
                assert not two_sided or shift == 0
                continue
            line = tuple(int(each[0]) for each in found)
            accumulators = np.arange(accumulator_range[0], accumulator_range[1] + 1) + 3
            assert 1 <= line[1] < 2**31
            assert holds(problem, (line[0], line[1], line[2]), accumulators, two_sided)
