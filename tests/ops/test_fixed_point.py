"""Fixed-point factors are those of TensorFlow Lite's QuantizeMultiplier."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from glowmcu.ir.operation import Rounding
from glowmcu.ops.fixed_point import (
    exact_float,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    requantization,
    rises,
    round_half_away,
    saturate,
)
from tests.support.roundings import ROUNDINGS, in_whole_numbers

LARGEST = 2**31 - 1


@pytest.mark.parametrize(
    ("real", "multiplier", "shift"),
    [
        (0.0, 0, 0),
        (1.0, 2**30, 1),
        (0.75, 3 * 2**29, 0),
        (math.nextafter(1.0, 0.0), 2**30, 1),
        (1.0 - 2.0**-31, LARGEST, 0),
        (2.0**-32, 2**30, -31),
        (math.nextafter(2.0**-32, 0.0), 2**30, -31),
        (0.75 * 2.0**-32, 0, 0),
        (1e-30, 0, 0),
    ],
    ids=["zero", "one", "below one", "rounds up to one", "the largest multiplier",
         "the largest shift", "rounds up to the largest shift", "too small", "far too small"],
)  # fmt: skip
def test_a_real_factor_is_a_31_bit_multiplier_and_a_shift(
    real: float, multiplier: int, shift: int
) -> None:
    assert quantize_multiplier(real) == (multiplier, shift)


REALS = [0.0, 2.0**-33, 2.0**-32, 1e-9, 0.3, 0.5, 1 - 2.0**-31, 1 - 2.0**-33, 1.0, 1.7, 2.0**20]


def test_many_factors_are_what_each_is_alone() -> None:
    made = requantization(REALS)
    pairs = zip(made.multipliers.tolist(), made.shifts.tolist(), strict=True)
    assert list(pairs) == [quantize_multiplier(real) for real in REALS]
    assert made.multipliers.dtype == made.shifts.dtype == np.int32


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(0.5, 1), (-0.5, -1), (1.4999, 1), (-1.4999, -1), (0.0, 0), (-2.5, -3), (2.5, 3), (7.0, 7)],
)
def test_halves_are_rounded_away_from_zero(value: float, rounded: int) -> None:
    assert round_half_away(value) == rounded


NUMBERS = [0, 1, 2, 3, 5, 127, 2**15, 2**30 - 1, 2**30, 2**31 - 1]
SIGNED = np.array(sorted({sign * number for number in NUMBERS for sign in (1, -1)} | {-(2**31)}))


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("shift", [-31, -30, -9, -1, 0, 1, 4, 29, 30])
@pytest.mark.parametrize("multiplier", [0, 2**30, 2**30 + 1, 1518500250, LARGEST])
def test_products_are_those_of_the_definition(
    multiplier: int, shift: int, rounding: Rounding
) -> None:
    got = multiply_by_quantized_multiplier(SIGNED, multiplier, shift, rounding)
    assert got.tolist() == [in_whole_numbers(int(x), multiplier, shift, rounding) for x in SIGNED]


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("most", [0, 1, 1000, 2**20, 2**29, 2**31 - 1, 2**31, 2**33])
def test_results_rise_where_nothing_can_wrap(most: int, rounding: Rounding) -> None:
    """Where it says so, they do; and where numbers do wrap, it does not say so."""
    for shift in (-31, -5, 0, 1, 2, 11, 30):
        for multiplier in (2**30, 1518500250, LARGEST):
            said = bool(rises(most, multiplier, shift, rounding))
            x = np.unique(np.clip(np.concatenate([SIGNED, [most, -most]]), -most, most))
            free = [product_of(int(value), multiplier, shift, rounding) for value in x]
            stays = all(-(2**31) <= value < 2**31 for value in free) and most < 2**31
            if said:
                assert stays
                got = multiply_by_quantized_multiplier(x, multiplier, shift, rounding)
                assert (np.diff(got) >= 0).all()
            else:
                assert not all(abs(value) < 2**31 - 4 for value in free) or most >= 2**31


def test_a_product_two_steps_below_the_end_of_int32_is_not_trusted() -> None:
    """Its bound is computed in float64, which may be a step off."""
    assert rises(2**31 - 3, 2**30, 1, Rounding.SINGLE)
    assert not rises(2**31 - 2, 2**30, 1, Rounding.SINGLE)


def product_of(x: int, multiplier: int, shift: int, rounding: Rounding) -> int:
    """What must fit 32 bits: the result, or what is multiplied after the left shift."""
    if rounding is Rounding.SINGLE:
        return round(Fraction(x * multiplier, 2 ** (31 - min(shift, 30))))
    return x << max(shift, 0)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize(
    ("shape", "constants"),
    [
        ((3, 70_000), (70_000,)), ((70_000, 3), (3,)), ((70_000, 3), (1,)), ((70_000, 3), ()),
        ((3, 70_000), (3, 1)), ((50, 40, 60), (60,)), ((2, 65_536), (65_536,)), ((200_000,), ()),
        ((0, 7), (7,)), ((7, 0), ()), ((), ()), ((1, 65_537), (65_537,)),
        ((40_000, 2), (40_000, 1)),
    ],
    ids=str,
)  # fmt: skip
def test_large_arrays_are_the_same_as_their_parts(
    shape: tuple[int, ...], constants: tuple[int, ...], rounding: Rounding
) -> None:
    random = np.random.default_rng(len(shape))
    x = random.integers(-(2**31), 2**31, shape)
    multiplier = random.integers(2**30, 2**31, constants)
    shift = random.integers(-20, 3, constants)
    got = multiply_by_quantized_multiplier(x, multiplier, shift, rounding)
    assert got.shape == shape
    assert got.dtype == np.int64
    for place in ((0,) * len(shape), tuple(n - 1 for n in shape)) if x.size else ():
        m, s = (int(np.broadcast_to(each, shape)[place]) for each in (multiplier, shift))
        assert got[place] == in_whole_numbers(int(x[place]), m, s, rounding)
    again = np.broadcast_arrays(x, multiplier, shift)
    flat = [each.reshape(-1) for each in again]
    parts = [
        multiply_by_quantized_multiplier(*(each[at : at + 999] for each in flat), rounding)
        for at in range(0, x.size, 999)
    ]
    assert np.array_equal(got.reshape(-1), np.concatenate([np.zeros(0, np.int64), *parts]))


def test_accumulators_wrap_at_32_bits_before_they_are_scaled() -> None:
    scale = requantization([0.25, 0.5])
    made = scale.apply(np.array([[2**32 + 8, -(2**32) - 8]]), Rounding.DOUBLE)
    assert made.tolist() == [[2, -4]]


def test_the_reach_of_results_is_int32s_where_accumulators_may_wrap() -> None:
    scale = requantization([0.25, 0.25, 0.25])
    low, high = np.array([-8, -(2**31) - 1, 0]), np.array([4, 0, 2**31])
    least, most = scale.apply_to_range(low, high, Rounding.DOUBLE)
    assert least.tolist() == [-2, -(2**31), -(2**31)]
    assert most.tolist() == [1, LARGEST, LARGEST]


@pytest.mark.parametrize(
    ("weights", "inputs", "wanted"),
    [
        ([[0, 0]], "int8", "float32"),
        ([[127] * 518], "int8", "float32"),  # 518 * 127 * 255 = 2^24 - 1 786
        ([[127] * 518 + [8]], "int8", "float64"),
        ([[-128] * 514 + [-1]], "int8", "float32"),  # 2^24 - 1
        ([[-128] * 514 + [-2]], "int8", "float64"),
        ([[1, 0], [-128, 127]], "int16", "float32"),  # 255 * 65535 = 2^24 - 65 791
        ([[1, 1, 0], [-128, -128, -1]], "int16", "float64"),
    ],
    ids=str,
)  # fmt: skip
def test_sums_below_two_to_the_24_are_exact_in_the_fast_float(
    weights: list[list[int]], inputs: str, wanted: str
) -> None:
    array = np.array(weights, np.int8)
    assert np.dtype(exact_float(array, inputs)) == wanted
    assert np.dtype(exact_float(array.reshape(len(array), 1, -1), inputs)) == wanted


def test_values_are_clamped_and_stored() -> None:
    got = saturate(np.array([-300, -7, 0, 9, 300]), -7, 9, np.int8)
    assert got.dtype == np.int8
    assert got.tolist() == [-7, -7, 0, 9, 9]
