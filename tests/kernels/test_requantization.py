"""Every form equals TensorFlow Lite's arithmetic on every accumulator that can occur."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glowmcu.ir.operation import Rounding
from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.requantization.forms import (
    Form,
    FormKind,
    RequantizationTask,
    find_form,
    largest_postshift,
)
from glowmcu.kernels.requantization.narrow import find_narrow_form
from glowmcu.ops.fixed_point import wrap_int32
from tests.support.roundings import ROUNDINGS, in_whole_numbers


def computed(form: Form, task: RequantizationTask, accumulators: Int64Array) -> Int64Array:
    """What the C of the form computes, in wrapping 32 bits where C wraps."""
    raw = accumulators - task.offset[:, np.newaxis]
    addend, multiplier = form.addend[:, np.newaxis], form.multiplier[:, np.newaxis]
    v = wrap_int32(raw + form.start[:, np.newaxis])
    step = form.step[:, np.newaxis]
    if form.kind is FormKind.FLOOR:
        high = wrap_int32(addend + (raw << form.preshift)) * multiplier >> 32
        out = high >> form.postshift
    elif form.kind is FormKind.TWO_SIDED:
        high = wrap_int32(addend + (v << form.preshift)) * multiplier >> 32
        out = (high + np.where(v < 0, step, 0)) >> form.postshift
    else:
        x = ((2 * v * multiplier + 2**31) >> 32) + step + (v >> 31)
        out = x >> form.shifts[:, np.newaxis]
    saturated = np.clip(out, -128, 127)
    result: Int64Array = np.clip(saturated, *(form.clamp or (-128, 127)))
    return result


def task_of(
    multipliers: list[int],
    shifts: list[int],
    bias: list[int],
    accumulator_range: tuple[int, int],
    zero_point: int = -128,
    clamp: tuple[int, int] = (-128, 127),
    rounding: Rounding = Rounding.DOUBLE,
    offset: int = 0,
) -> RequantizationTask:
    """A task whose channels have the same range."""
    count = len(bias)
    return RequantizationTask(
        np.array(multipliers, np.int64),
        np.array(shifts, np.int64),
        np.array(bias, np.int64),
        np.full(count, offset, np.int64),
        np.full(count, accumulator_range[0], np.int64),
        np.full(count, accumulator_range[1], np.int64),
        zero_point,
        clamp,
        rounding,
    )


def assert_exact(form: Form, task: RequantizationTask) -> None:
    """Over the whole range of all channels."""
    assert int((task.high - task.low).max()) < 2**22
    accumulators = np.arange(int(task.low[0]), int(task.high[0]) + 1)[np.newaxis, :]
    wanted = np.clip(task.outputs(accumulators.repeat(len(task.bias), axis=0)), *task.clamp)
    assert np.array_equal(computed(form, task, accumulators), wanted)


TYPICAL = task_of(
    [1518500250, 1073741824, 2147483647, 1300000001], [-9, -8, -10, -9], [311, -2000, 0, 5],
    (-90000, 110000), offset=-4711,
)  # fmt: skip


def test_a_layer_that_ends_in_relu_needs_three_instructions() -> None:
    form = find_form(TYPICAL)
    assert form is not None
    assert form.kind is FormKind.FLOOR
    assert form.clamp is None
    assert_exact(form, TYPICAL)


@pytest.mark.parametrize("zero_point", [-127, -1, 0, 3, 60])
def test_another_zero_point_needs_a_line_for_each_sign(zero_point: int) -> None:
    task = replace(TYPICAL, zero_point=zero_point)
    form = find_form(task)
    assert form is not None
    assert form.kind is FormKind.TWO_SIDED
    assert_exact(form, task)


@pytest.mark.parametrize("zero_point", [-128, 5])
def test_single_rounding_has_one_line_at_any_zero_point(zero_point: int) -> None:
    task = replace(TYPICAL, zero_point=zero_point, rounding=Rounding.SINGLE)
    form = find_form(task)
    assert form is not None
    assert form.kind is FormKind.FLOOR
    assert_exact(form, task)


def test_a_coarse_preshift_falls_back_to_the_literal_form() -> None:
    form = find_form(TYPICAL, preshifts=(0,))
    assert form is not None
    assert form.kind is FormKind.LITERAL
    assert_exact(form, TYPICAL)


def test_a_clamp_that_binds_is_named_and_one_that_does_not_is_not() -> None:
    binding = replace(TYPICAL, clamp=(-120, 100))
    form = find_form(binding)
    assert form is not None
    assert form.clamp == (-120, 100)
    assert_exact(form, binding)
    slack = replace(TYPICAL, high=np.full(4, 500), clamp=(-128, 100))
    loose = find_form(slack)
    assert loose is not None
    assert loose.clamp is None
    assert_exact(loose, slack)


CLAMPS = [
    (-128, 127), (-127, 127), (-128, 126), (-127, 126), (-126, 125), (-128, 0), (0, 127), (-1, 1),
    (5, 5), (127, 127), (-128, -128),
]  # fmt: skip


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("clamp", CLAMPS, ids=str)
def test_a_clamp_is_named_where_int8_alone_gives_something_else(
    clamp: tuple[int, int], rounding: Rounding
) -> None:
    """Reaches that end before, at and behind each end of the clamp and of int8."""
    middle = (clamp[0] + clamp[1]) // 2
    for below, above in product((0, 1, 2, 300), repeat=2):
        reach = 4 * (clamp[0] - middle + 1 - below), 4 * (clamp[1] - middle - 1 + above)
        task = task_of([1 << 30], [-1], [0], (min(reach), max(reach)), middle, clamp, rounding)
        accumulators = np.arange(min(reach), max(reach) + 1)[np.newaxis, :]
        of_int8 = np.clip(task.outputs(accumulators), -128, 127)
        is_needed = not np.array_equal(of_int8, np.clip(of_int8, *clamp))
        assert task.needed_clamp == (clamp if is_needed else None)
        for kind in FormKind:
            form = find_form(task, kinds=(kind,))
            if form is not None:
                assert form.clamp == task.needed_clamp
                assert_exact(form, task)


@pytest.mark.parametrize("kind", [FormKind.FLOOR, FormKind.LITERAL])
def test_a_channel_without_influence_may_have_any_bias_and_scale(kind: FormKind) -> None:
    task = task_of(
        [1518500250, 0, 1 << 30, 1 << 30], [-9, 0, -28, 1], [311, 17, 1 << 30, -(2**29)],
        (-1000, 1500),
    )  # fmt: skip
    form = find_form(task, kinds=(kind,))
    assert form is not None
    assert form.kind is kind
    assert_exact(form, task)


def test_a_scale_of_zero_divides_nothing() -> None:
    task = task_of([0, 1 << 30], [0, -5], [3, 4], (-200, 300), 5)
    with np.errstate(all="raise"):
        for kind in FormKind:
            for rounding in ROUNDINGS:
                form = find_form(replace(task, rounding=rounding), kinds=(kind,))
                assert form is None or form.kind is kind


@pytest.mark.parametrize("preshift", [0, 8])
@pytest.mark.parametrize("shift", [-22, -21, -20, -14, -13, -12, -9, -1, 0])
def test_multipliers_of_the_largest_postshift_have_31_bits(shift: int, preshift: int) -> None:
    """Whatever the scale of a channel is that gives one output only."""
    for multiplier in (1 << 30, 1518500250, 2**31 - 1):
        reach = -(2**24), 2**24
        task = task_of([multiplier, 0], [shift, 30], [3, -4], reach, 5)
        found = largest_postshift(task, preshift)
        assert found == largest_postshift(task_of([multiplier], [shift], [3], reach, 5), preshift)
        assert 0 <= found <= 22
        exact = [Fraction(multiplier * 2 ** (32 + each), 2 ** (31 - shift + preshift))
                 for each in (found, found + 1)]  # fmt: skip
        assert found == 0 or exact[0] < 2**31 - 2**12
        assert found == 22 or exact[1] >= 2**31 - 2**12


def test_a_left_shift_that_wraps_has_no_form() -> None:
    assert find_form(task_of([1 << 30], [12], [0], (-(2**20), 2**20))) is None


def test_accumulators_of_all_32_bits_leave_room_for_one_addend() -> None:
    task = task_of(
        [1 << 30], [-7], [-128], (-(2**31) + 129, 2**31 - 1), 0, rounding=Rounding.SINGLE
    )
    form = find_form(task, preshifts=(0,), kinds=(FormKind.FLOOR,))
    assert form is not None
    assert form.addend.tolist() == [0]
    middle = np.arange(-(2**16), 2**16)
    accumulators = np.concatenate([task.low, middle, task.high])[np.newaxis, :]
    wanted = np.clip(task.outputs(accumulators), *task.clamp)
    assert np.array_equal(computed(form, task, accumulators), wanted)


def test_an_addend_may_be_the_greatest_of_32_bits() -> None:
    bias = 2**31 - 32640
    task = task_of([1 << 30], [-7], [bias], (-bias - 300, -bias + 300), zero_point=127)
    form = find_form(task, preshifts=(0,), kinds=(FormKind.FLOOR,))
    assert form is not None
    assert form.addend.tolist() == [2**31 - 1]
    assert form.multiplier.tolist() == [1 << 30]
    assert_exact(form, task)


@pytest.mark.parametrize(("bias", "beyond"), [(-(2**31) - 128, -1), (2**31 - 129, 1)])
def test_an_addend_may_be_the_least_or_the_greatest_of_32_bits(bias: int, beyond: int) -> None:
    """A bias that takes accumulators of which none is below zero there, or none above."""
    for moved, found in ((0, True), (beyond, False)):
        task = task_of(
            [1 << 30], [-7], [bias + moved], (-bias - 300, -bias + 300), 0, rounding=Rounding.SINGLE
        )
        form = find_form(task, preshifts=(0,), kinds=(FormKind.FLOOR,))
        assert (form is not None) == found
        if form is not None:
            assert form.addend.tolist() == [2**31 - 1 if beyond > 0 else -(2**31)]
            assert_exact(form, task)


@pytest.mark.parametrize(("shift", "found"), [(-1, True), (0, False), (-22, True), (-23, False)])
def test_the_literal_form_shifts_right_by_1_to_22(shift: int, found: bool) -> None:
    span = 2**6 << -shift
    task = task_of([2**30], [shift], [3], (-span, span), zero_point=5)
    form = find_form(task, kinds=(FormKind.LITERAL,))
    assert (form is not None) == found
    if form is not None:
        accumulators = np.unique(np.linspace(-span, span, 4001).astype(np.int64))[np.newaxis, :]
        wanted = np.clip(task.outputs(accumulators), *task.clamp)
        assert np.array_equal(computed(form, task, accumulators), wanted)


#: What a channel alone makes impossible: shift, reach and bias; and what is still possible.
SPOILED: dict[str, tuple[int, tuple[int, int], int, tuple[FormKind, ...]]] = {
    "nothing": (-8, (-900, 900), 3, tuple(FormKind)),
    "it shifts too far": (-23, (-(2**30) + 9, 2**30 - 9), 3, ()),
    "it shifts to the left": (1, (-90, 90), 3, (FormKind.FLOOR, FormKind.TWO_SIDED)),
    "it does not shift": (0, (-200, 200), 3, (FormKind.FLOOR, FormKind.TWO_SIDED)),
    "it reaches too far": (-21, (-(2**30) + 9, 2**30 - 9), 9, ()),
    "it wraps": (12, (-(2**20), 2**20), 3, ()),
}  # fmt: skip


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("name", SPOILED)
def test_one_channel_of_several_spoils_a_form(name: str, first: bool) -> None:
    shift, reach, bias, possible = SPOILED[name]
    at = 0 if first else 1
    task = task_of([2**30] * 3, [-8] * 3, [3] * 3, (-900, 900), -128)
    for array, value in (
        (task.shifts, shift), (task.low, reach[0]), (task.high, reach[1]), (task.bias, bias),
    ):  # fmt: skip
        array[at] = value
    found = [kind for kind in FormKind if find_form(task, kinds=(kind,)) is not None]
    assert found == list(possible)
    assert task.wraps == (name == "it wraps")
    assert (find_narrow_form(task) is None) == (name in ("it wraps", "it shifts too far"))


def test_one_channel_of_several_that_exceeds_a_clamp_needs_it() -> None:
    task = task_of([2**30] * 3, [-1] * 3, [0] * 3, (-20, 20), 0, (-10, 10))
    assert task.needed_clamp is None
    for at in range(3):
        high, low = task.high.copy(), task.low.copy()
        high[at], low[at] = 44, -44
        assert replace(task, high=high).needed_clamp == (-10, 10)
        assert replace(task, low=low).needed_clamp == (-10, 10)


@pytest.mark.parametrize("most", [2**30 - 1, 2**30])
def test_the_literal_form_doubles_accumulators_of_less_than_30_bits(most: int) -> None:
    for accumulator_range in ((0, most - 3), (-most - 3, 0)):
        task = task_of([2**30], [-22], [3], accumulator_range, zero_point=5)
        assert (find_form(task, kinds=(FormKind.LITERAL,)) is None) == (most == 2**30)


@pytest.mark.parametrize("accumulator_range", [(0, 1), (-1, 0), (0, 2), (-2, 2), (-3, 4), (0, 7)])
@pytest.mark.parametrize("scale", [2**31 - 1, 2_100_000_000, 2_000_000_000, 2**30])
def test_multipliers_have_31_bits_however_short_the_reach_is(
    accumulator_range: tuple[int, int], scale: int
) -> None:
    """Few thresholds leave a slope much freedom."""
    for shift in (-5, -1, 0, 2):
        task = task_of([scale], [shift], [1], accumulator_range)
        form = find_form(task, preshifts=(0, 8), kinds=(FormKind.FLOOR,))
        assert form is not None
        assert 1 <= form.multiplier[0] < 2**31
        assert_exact(form, task)


def test_a_wrong_constant_would_be_seen() -> None:
    form = find_form(TYPICAL)
    assert form is not None
    spoiled = replace(form, addend=form.addend + 256)
    with pytest.raises(AssertionError):
        assert_exact(spoiled, TYPICAL)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2**30, 2**31 - 1),
    st.integers(-14, 0),
    st.integers(-(2**17), 2**17),
    st.tuples(st.integers(-(2**17), 0), st.integers(1, 2**17)),
    st.integers(-128, 127),
    st.integers(-(2**18), 2**18),
)
def test_whatever_form_is_found_is_exact(
    multiplier: int,
    shift: int,
    bias: int,
    accumulator_range: tuple[int, int],
    zero_point: int,
    offset: int,
) -> None:
    task = task_of([multiplier], [shift], [bias], accumulator_range, zero_point, offset=offset)
    for kind in FormKind:
        form = find_form(task, kinds=(kind,))
        if form is not None:
            assert_exact(form, task)


CHANNELS = st.lists(
    st.tuples(
        st.integers(2**30, 2**31 - 1),
        st.integers(-12, 1),
        st.integers(-(2**12), 2**12),
        st.integers(-(2**12), 2**12),
        st.tuples(st.integers(-(2**12), 2**12), st.integers(0, 2**13)),
    ),
    min_size=1,
    max_size=3,
)
INT8 = st.one_of(st.integers(-128, 127), st.sampled_from([-128, -127, 126, 127]))


@settings(max_examples=60, deadline=None)
@given(CHANNELS, INT8, INT8, INT8, st.sampled_from(ROUNDINGS), st.sampled_from([0, 4, 8]))
def test_whatever_form_is_found_gives_what_the_definition_gives_in_whole_numbers(
    channels: list[tuple[int, int, int, int, tuple[int, int]]],
    zero_point: int,
    one_end: int,
    other_end: int,
    rounding: Rounding,
    preshift: int,
) -> None:
    """Each channel with a reach of its own; at its ends, around its thresholds and in between."""
    multipliers, shifts, biases, offsets, reaches = (
        np.array(each) for each in zip(*channels, strict=True)
    )
    low, clamp = reaches[:, 0], (min(one_end, other_end), max(one_end, other_end))
    task = RequantizationTask(
        multipliers, shifts, biases, offsets, low, low + reaches[:, 1], zero_point, clamp, rounding
    )
    found = {kind: find_form(task, (preshift,), kinds=(kind,)) for kind in FormKind}
    steps = np.linspace(0, 1, 33)
    at = np.rint(low[:, np.newaxis] + reaches[:, 1:] * steps).astype(np.int64)
    near = task.stairs.firsts[:, :: max(1, task.stairs.firsts.shape[1] // 16)] - biases[:, None]
    at = np.concatenate([at, near - 1, near], axis=1)
    at = np.clip(at, task.low[:, np.newaxis], task.high[:, np.newaxis])
    scaled = [
        [in_whole_numbers(x + bias, m, shift, rounding) for x in row]
        for row, bias, m, shift in zip(
            at.tolist(), biases.tolist(), multipliers.tolist(), shifts.tolist(), strict=True
        )
    ]
    wanted = [[min(max(zero_point + x, clamp[0]), clamp[1]) for x in row] for row in scaled]
    assert np.clip(task.outputs(at), *clamp).tolist() == wanted
    for form in found.values():
        if form is not None:
            assert computed(form, task, at).tolist() == wanted
