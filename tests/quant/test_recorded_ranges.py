"""Ranges and parameters of small histograms by every method, and borders of each choice."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.ops.wide import fixed_wide_parameters
from glowmcu.quant.histogram import BIN_COUNT, Histogram, histogram_of, merge_histograms
from glowmcu.quant.profile import TensorProfile
from glowmcu.quant.ranges import Calibration, Method, choose_range
from glowmcu.quant.schemas import Schema, choose_parameters, power_of_two_above, usable_scale
from glowmcu.quant.wide import choose_sample_parameters, choose_wide_parameters

Floats = npt.NDArray[np.float32]


def drawn(name: str) -> Floats:
    """Multiples of 2^-6, so that no processor rounds them."""
    random = np.random.default_rng(11)
    whole = random.integers(-400, 401, 3000)
    values = {
        "even": whole,
        "bell": whole * random.integers(0, 401, 3000) // 400,
        "one side": np.abs(whole),
        "other side": -np.abs(whole),
        "tail": np.concatenate([whole // 16, [9000, -200]]),
        "mostly nothing": np.where(random.integers(0, 10, 3000) > 0, 0, whole),
        "few": np.array([-3, 0, 8, 8, 9]),
    }[name]
    return np.asarray(values / 64, np.float32)


NAMES = ("even", "bell", "one side", "other side", "tail", "mostly nothing", "few")


def profile(values: Floats) -> TensorProfile:
    low, high = float(values.min()), float(values.max())
    made = histogram_of(values, low, high)
    return TensorProfile(values.shape, values.size, low, high, 0.0, 1.0, made)


def test_each_method_finds_the_range_that_is_recorded(golden: Callable[..., None]) -> None:
    text = ""
    for name in NAMES:
        tensor = profile(drawn(name))
        assert tensor.histogram is not None
        text += f"{name} {tensor.histogram.exponent} {tensor.histogram.first}\n"
        for method in Method:
            for schema in (Schema.ASYMMETRIC, Schema.SYMMETRIC):
                for percentile in (99.0, 99.99) if method is Method.PERCENTILE else (99.99,):
                    low, high = choose_range(tensor, Calibration(method, schema, percentile))
                    asked = f"{method.value} {percentile:g}, {schema.value}"
                    text += f"    {asked}: {low:.6g} to {high:.6g}\n"
    golden("calibrated_ranges.txt", text)


@pytest.mark.parametrize("parts", [2, 3, 7])
@pytest.mark.parametrize("name", NAMES)
def test_parts_of_different_widths_merge_to_the_histogram_of_all(name: str, parts: int) -> None:
    values = np.sort(drawn(name))
    whole = histogram_of(values, float(values[0]), float(values[-1]))
    merged: Histogram | None = None
    for part in np.array_split(values, min(parts, len(values))):
        made = histogram_of(part, float(part[0]), float(part[-1]))
        merged = made if merged is None else merge_histograms(merged, made)
    assert merged == whole
    assert whole.total == values.size
    assert whole.edges[0] <= values[0] < whole.edges[1]
    assert whole.edges[-2] <= values[-1] < whole.edges[-1]
    assert np.allclose(whole.centres, (whole.edges[1:] + whole.edges[:-1]) / 2)


@pytest.mark.parametrize("bins", [BIN_COUNT - 1, BIN_COUNT, BIN_COUNT + 1])
def test_two_bins_become_one_where_they_are_too_many(bins: int) -> None:
    ends = [Histogram(0, first, np.array([1])) for first in (5, 4 + bins)]
    merged = merge_histograms(*ends)
    is_wider = bins > BIN_COUNT
    assert (merged.exponent, len(merged.counts)) == ((1, bins // 2 + 1) if is_wider else (0, bins))
    assert merged == merge_histograms(*ends[::-1])


def test_histograms_are_equal_by_their_bins() -> None:
    one = Histogram(0, 5, np.array([1, 2]))
    assert one == Histogram(0, 5, np.array([1, 2]))
    assert one != 3
    for exponent, first, counts in ((1, 5, [1, 2]), (0, 6, [1, 2]), (0, 5, [1, 3]), (0, 5, [1])):
        assert one != Histogram(exponent, first, np.array(counts))


@pytest.mark.parametrize(
    ("scale", "power"),
    [(1.0, 1.0), (0.5, 0.5), (0.75, 1.0), (1.001, 2.0), (2.0**-9, 2.0**-9), (3e-3, 2.0**-8)],
)
def test_the_power_of_two_above_is_the_least_that_is_not_below(scale: float, power: float) -> None:
    assert power_of_two_above(scale) == power


@pytest.mark.parametrize(
    ("scale", "usable"),
    [(0.0, 1.0), (2.0**-60, 1.0), (2.0**-59, 2.0**-59), (0.25, 0.25), (-1.0, 1.0)],
)
def test_scales_that_nothing_needs_are_one(scale: float, usable: float) -> None:
    assert usable_scale(scale) == usable


#: Low, high; scale and zero point of each schema of int8, and scale of int16 and its power of two.
RANGES = [
    (-1.0, 1.55, (0.01, -28), (1.55 / 127, 0), (1.55 / 127, 0), 2.0**-6, 1.55 / 32767, 2.0**-14),
    (0.0, 2.55, (0.01, -128), (2.55 / 127, 0), (0.01, -128), 2.0**-5, 2.55 / 32767, 2.0**-13),
    (1.0, 2.55, (0.01, -128), (2.55 / 127, 0), (0.01, -128), 2.0**-5, 2.55 / 32767, 2.0**-13),
    (-2.55, -1.0, (0.01, 127), (2.55 / 127, 0), (2.55 / 127, 0), 2.0**-5, 2.55 / 32767, 2.0**-13),
    (-2.55, 0.0, (0.01, 127), (2.55 / 127, 0), (2.55 / 127, 0), 2.0**-5, 2.55 / 32767, 2.0**-13),
    (0.0, 0.0, (1.0, -128), (1.0, 0), (1.0, -128), 1.0, 1.0, 1.0),
    (-127 / 64, 0.5, None, (1 / 64, 0), (1 / 64, 0), 1 / 64, 127 / 64 / 32767, 2.0**-14),
]


@pytest.mark.parametrize("numbers", RANGES, ids=lambda numbers: f"{numbers[0]:g} to {numbers[1]:g}")
def test_parameters_are_those_of_the_schema(numbers: tuple[object, ...]) -> None:
    low, high, both, symmetric, with_uint8, power, wide, wide_power = numbers
    assert isinstance(low, float)
    assert isinstance(high, float)
    made = {schema: choose_parameters(low, high, schema) for schema in Schema}
    wanted = {
        Schema.ASYMMETRIC: both, Schema.SYMMETRIC: symmetric,
        Schema.SYMMETRIC_WITH_UINT8: with_uint8,
        Schema.SYMMETRIC_WITH_POWER2_SCALE: (power, 0),
    }  # fmt: skip
    for schema, each in wanted.items():
        if each is not None:
            got = made[schema]
            assert (got.scales[0], got.zero_points[0]) == pytest.approx(each, rel=1e-6), schema
    assert choose_wide_parameters(low, high, Schema.SYMMETRIC).scales[0] == pytest.approx(wide)
    squared = choose_wide_parameters(low, high, Schema.SYMMETRIC_WITH_POWER2_SCALE)
    assert (squared.scales, squared.zero_points) == ((wide_power,), (0,))


@pytest.mark.parametrize(
    ("low", "high", "unit"),
    [
        (-1.0, 1.0, 2.0**-15), (0.0, 0.0, 2.0**-15), (-0.1, 0.5, 2.0**-15), (0.0, 1.01, 2.0**-14),
        (-3.0, 1.0, 2.0**-13), (-200.0, 256.0, 2.0**-6), (0.0, 257.0, 1.0), (-30000.0, 9.0, 1.0),
        (0.0, 40000.0, 2.0),
    ],
)  # fmt: skip
def test_samples_are_in_steps_that_a_converter_has(low: float, high: float, unit: float) -> None:
    got = choose_sample_parameters(low, high)
    assert (got.scales, got.zero_points) == ((unit,), (0,))


@pytest.mark.parametrize(
    ("fixed", "scale"),
    [((1 / 256, -128), 2.0**-15), ((1 / 128, 0), 2.0**-15), ((1 / 16, 127), 255 / 16 / 32768)],
)
def test_what_mathematics_fixes_spans_the_same_in_int16(
    fixed: tuple[float, int], scale: float
) -> None:
    got = fixed_wide_parameters(fixed)
    assert (got.scales, got.zero_points) == ((scale,), (0,))
