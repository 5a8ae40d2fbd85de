"""Each method's range by its definition, on histograms small enough to count by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from glowmcu.quant.histogram import BIN_COUNT, Histogram, histogram_of
from glowmcu.quant.profile import TensorProfile
from glowmcu.quant.ranges import (
    _SHARES,
    _THRESHOLDS,
    Calibration,
    Method,
    _magnitudes,
    _reaching_zero,
    choose_range,
    divergence,
    squared_error,
)
from glowmcu.quant.schemas import Schema


def histogram(counts: list[int], first: int, exponent: int = -3) -> Histogram:
    return Histogram(exponent, first, np.array(counts, np.int64))


def profile(of: Histogram, low: float | None = None, high: float | None = None) -> TensorProfile:
    low = float(of.edges[0]) if low is None else low
    high = float(of.edges[-1]) if high is None else high
    return TensorProfile((of.total,), of.total, low, high, 0.0, 1.0, of)


def quantile(of: Histogram, rank: Fraction) -> Fraction:
    """Where so many values lie below, those of a bin evenly spread."""
    seen, width = Fraction(0), Fraction(2) ** of.exponent
    for place, count in enumerate(of.counts.tolist()):
        if count and seen + count >= rank:
            return (of.first + place + (rank - seen) / count) * width
        seen += count
    raise AssertionError("there are fewer values")


@pytest.mark.parametrize("percentile", [50.5, 75.0, 90.0, 99.0, 100.0])
@pytest.mark.parametrize("first", [-9, -4, 0, 3])
def test_a_percentile_drops_half_of_the_rest_on_either_side(first: int, percentile: float) -> None:
    found = histogram([5, 9, 3, 40, 20, 1, 2, 8, 12], first)
    dropped = (1 - Fraction(percentile) / 100) * found.total / 2
    wanted = quantile(found, dropped), quantile(found, found.total - dropped)
    got = choose_range(profile(found), Calibration(Method.PERCENTILE, percentile=percentile))
    assert got == pytest.approx([float(end) for end in wanted], rel=1e-9)


@pytest.mark.parametrize("method", [Method.PERCENTILE, Method.MSE, Method.ENTROPY])
def test_no_range_reaches_beyond_what_was_seen(method: Method) -> None:
    """Though bins do."""
    found = histogram([9] * 600, -300)
    low, high = choose_range(profile(found, -37.4, 37.3), Calibration(method))
    assert -37.4 <= low < high <= 37.3


@pytest.mark.parametrize("first", [-5, -3, 0, 2, -9])
def test_magnitudes_are_counted_from_zero_on(first: int) -> None:
    """What lies next to zero counts no more than what follows it."""
    counts = [1, 20, 3, 90, 5, 60, 7]
    wanted: dict[int, int] = {}
    for place, count in enumerate(counts, first):
        distance = place if place >= 0 else -place - 1
        wanted[distance] = wanted.get(distance, 0) + count
    flat = [wanted.get(distance, 0) for distance in range(max(wanted) + 1)]
    flat[0] = min(flat[:2])
    assert _magnitudes(histogram(counts, first)).tolist() == flat


def test_a_single_bin_of_magnitudes_stays() -> None:
    assert _magnitudes(histogram([7], 0)).tolist() == [7]
    assert _magnitudes(histogram([7, 2], -1)).tolist() == [9]


@pytest.mark.parametrize(
    ("first", "schema", "levels"),
    [
        (-300, Schema.ASYMMETRIC, 128), (0, Schema.ASYMMETRIC, 255), (-700, Schema.ASYMMETRIC, 255),
        (0, Schema.SYMMETRIC, 128), (-1, Schema.ASYMMETRIC, 128), (-699, Schema.ASYMMETRIC, 128),
    ],
)  # fmt: skip
def test_entropy_takes_the_threshold_of_least_divergence(
    first: int, schema: Schema, levels: int
) -> None:
    """Of 128 between as many bins as there are levels and all; the furthest of equal ones."""
    places = first + np.arange(700) + 0.5
    counts = np.rint(9e5 * np.exp(-np.abs(places) / 30)).astype(np.int64)
    counts[[0, -1]] += 1
    found = Histogram(-3, first, counts)
    magnitudes = _magnitudes(found)
    ends = np.linspace(levels, len(magnitudes), _THRESHOLDS).astype(int)
    tried = {int(end): divergence(magnitudes, int(end), levels) for end in ends}
    best = max(end for end, value in tried.items() if value == min(tried.values()))
    seen = profile(found)
    wanted = max(seen.low, -best / 8), min(seen.high, best / 8)
    assert choose_range(seen, Calibration(Method.ENTROPY, schema)) == wanted
    assert best < len(magnitudes)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("far", "spread"), [(1000.0, 0.001), (1.0, 1e-7), (3e37, 3e31)])
def test_entropy_of_values_far_from_zero_counts_in_wide_bins(
    far: float, spread: float, sign: int
) -> None:
    """Their own bins, a two thousandth of the spread each, would be millions from zero on."""
    values = (sign * (far + spread * np.linspace(0, 1, 5000) ** 2)).astype(np.float32)
    low, high = float(values.min()), float(values.max())
    found = histogram_of(values, low, high)
    assert abs(found.first) > 10**6
    assert choose_range(profile(found, low, high), Calibration(Method.ENTROPY)) == (low, high)


@pytest.mark.parametrize("first", [0, 16384 - 700, 16384 - 699, 32768 - 700, -16384, -16385])
def test_bins_of_magnitudes_are_widened_where_they_would_be_too_many(first: int) -> None:
    found = _reaching_zero(histogram([1] * 700, first))
    assert found.total == 700
    assert len(_magnitudes(found)) <= 16384
    assert found.exponent == (-3 if first in (0, 16384 - 700, -16384) else -2)


@pytest.mark.parametrize("schema", [Schema.ASYMMETRIC, Schema.SYMMETRIC])
@pytest.mark.parametrize("first", [-200, -60, 0, 40])
def test_neither_end_of_the_least_squared_error_can_be_moved_to_lower_it(
    first: int, schema: Schema
) -> None:
    """By twentieths to wholes of what was seen; of equal ones the widest is taken."""
    places = first + np.arange(400)
    counts = np.rint(1e5 * np.exp(-np.abs(places) / 30)).astype(np.int64) + (places % 97 == 0)
    found = Histogram(-3, first, counts)
    seen = profile(found)
    whole = min(seen.low, 0.0), max(seen.high, 0.0)
    low, high = choose_range(seen, Calibration(Method.MSE, schema))
    low = min(low, 0.0) if first <= 0 else whole[0]
    least = squared_error(found, (low, high), schema)
    for share in _SHARES.tolist():
        for span in ((low, whole[1] * share), (whole[0] * share, high)):
            error = squared_error(found, span, schema)
            assert error >= least
            if error == least:
                assert span[1] - span[0] <= (high - low) * (1 + 1e-12)
    assert least <= squared_error(found, whole, schema)


def test_the_error_of_a_histogram_is_that_of_its_middles() -> None:
    found = histogram([3, 0, 5, 2], -2, exponent=0)
    # A scale of 1 around -1: middles -1.5, 0.5 and 1.5 are stored as halves are rounded, to even.
    span = (-127.0, 128.0)
    stored = {-1.5: -2.0, 0.5: 0.0, 1.5: 2.0}
    counts = {-1.5: 3, 0.5: 5, 1.5: 2}
    wanted = sum(n * (stored[x] - x) ** 2 for x, n in counts.items()) / 10
    assert squared_error(found, span, Schema.ASYMMETRIC) == pytest.approx(wanted)


@pytest.mark.parametrize("high", [1.0, 1.9999, 2.0, 2.0001, 3.0, 1e-30, 7e20])
@pytest.mark.parametrize("share", [-1.0, -0.3, 0.0, 0.4, 0.999])
def test_bins_are_as_narrow_as_their_number_allows(high: float, share: float) -> None:
    """Half the width would take more of them."""
    ends = np.array([high * share, high], np.float32)
    found = histogram_of(ends, float(ends[0]), float(ends[1]))
    narrower = [math.floor(math.ldexp(float(end), 1 - found.exponent)) for end in ends]
    assert len(found.counts) <= BIN_COUNT < narrower[1] - narrower[0] + 1
