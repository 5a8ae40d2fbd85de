"""Histograms lose nothing when they grow or merge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from glowmcu.quant.histogram import BIN_COUNT, Histogram, histogram_of, merge_histograms

# Multiples of 1/1024 in float32: far from the denormals that some processes flush to 0.
FLOATS = st.integers(-(2**36), 2**36).map(lambda number: float(np.float32(number / 1024)))
ARRAYS = hnp.arrays(np.float32, st.integers(1, 50), elements=FLOATS)


def histogram(values: np.ndarray) -> Histogram:
    return histogram_of(values, float(values.min()), float(values.max()))


@given(ARRAYS, ARRAYS)
def test_merging_gives_the_histogram_of_all_values(a: np.ndarray, b: np.ndarray) -> None:
    merged = merge_histograms(histogram(a), histogram(b))
    whole = histogram(np.concatenate([a, b]))
    assert merged.total == whole.total
    if merged.exponent == whole.exponent:
        assert merged == whole
    # A part may have been too narrow to be told from a point: then its bins were as wide already.
    assert merged.exponent >= whole.exponent


@given(ARRAYS, ARRAYS)
def test_the_order_of_merging_does_not_matter(a: np.ndarray, b: np.ndarray) -> None:
    assert merge_histograms(histogram(a), histogram(b)) == merge_histograms(
        histogram(b), histogram(a)
    )


@given(ARRAYS)
def test_every_value_lies_within_its_bin(values: np.ndarray) -> None:
    found = histogram(values)
    counts, _ = np.histogram(values.astype(np.float64), found.edges)
    # numpy's last bin is closed at both ends; ours never reaches its upper edge.
    assert np.array_equal(counts, found.counts)
    assert len(found.counts) <= BIN_COUNT


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, -1.0, 1e-38, 3.4e38, -7.25])
def test_a_constant_takes_few_bins(value: float) -> None:
    found = histogram(np.full(7, value, np.float32))
    assert found.total == 7
    assert len(found.counts) == 1


@pytest.mark.parametrize("low", [-0.3, 0.0, 0.9], ids=["both signs", "from zero", "narrow"])
def test_at_least_half_of_the_bins_lie_within_the_range(low: float) -> None:
    for high in np.linspace(1.0, 4.0, 57):
        found = histogram(np.array([low, high], np.float32))
        assert BIN_COUNT // 2 <= len(found.counts) <= BIN_COUNT


@pytest.mark.parametrize("value", [1.0, -1.0, 1.5, 2.0, 3e20])
def test_a_constant_is_told_apart_by_a_millionth_of_it(value: float) -> None:
    """As many bins as there may be would span 2^-20 of it, up to twice that."""
    found = histogram(np.full(3, value, np.float32))
    spread = abs(value) * 2.0**-20
    assert spread / 2 < found.width * BIN_COUNT * 2 <= spread * 2
    assert found.first == np.floor(float(np.float32(value)) / found.width)
