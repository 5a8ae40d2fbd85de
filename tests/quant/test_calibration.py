"""Schemas and methods: what scale and zero point a range gets, and which range data gets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glowmcu.ir.types import Quantization
from glowmcu.quant.histogram import histogram_of
from glowmcu.quant.profile import TensorProfile
from glowmcu.quant.ranges import Calibration, Method, choose_range, squared_error
from glowmcu.quant.schemas import Schema, choose_parameters, quantize_array
from glowmcu.quant.weights import quantize_bias, quantize_weights, weight_scales

BOUNDS = st.floats(-1e6, 1e6, allow_subnormal=False)


def profile_of(values: np.ndarray) -> TensorProfile:
    low, high = float(values.min()), float(values.max())
    histogram = histogram_of(values.astype(np.float32), low, high)
    return TensorProfile(values.shape, values.size, low, high, 0.0, 1.0, histogram)


@given(BOUNDS, BOUNDS, st.sampled_from(Schema))
def test_real_zero_is_stored_exactly(a: float, b: float, schema: Schema) -> None:
    parameters = choose_parameters(min(a, b), max(a, b), schema)
    assert -128 <= parameters.zero_points[0] <= 127
    assert quantize_array(np.zeros(1, np.float32), parameters)[0] == parameters.zero_points[0]


@given(BOUNDS, BOUNDS, st.sampled_from(Schema))
def test_no_value_of_the_range_is_off_by_more_than_a_step(
    a: float, b: float, schema: Schema
) -> None:
    low, high = min(a, b, 0.0), max(a, b, 0.0)
    parameters = choose_parameters(low, high, schema)
    scale = parameters.scales[0]
    values = np.linspace(low, high, 999).astype(np.float32)
    stored = quantize_array(values, parameters).astype(np.float64)
    assert np.abs((stored - parameters.zero_points[0]) * scale - values).max() <= scale * 1.001


@pytest.mark.parametrize(
    ("low", "high", "schema", "scale", "zero_point"),
    [
        (0.0, 2.55, Schema.ASYMMETRIC, 0.01, -128),
        (-2.55, 0.0, Schema.ASYMMETRIC, 0.01, 127),
        (-1.0, 1.55, Schema.ASYMMETRIC, 0.01, -28),
        (1.0, 2.55, Schema.ASYMMETRIC, 0.01, -128),
        (-1.0, 1.27, Schema.SYMMETRIC, 0.01, 0),
        (-1.27, 0.0, Schema.SYMMETRIC, 0.01, 0),
        (0.0, 1.27, Schema.SYMMETRIC, 0.01, 0),
        (0.0, 2.55, Schema.SYMMETRIC_WITH_UINT8, 0.01, -128),
        (-0.1, 1.27, Schema.SYMMETRIC_WITH_UINT8, 0.01, 0),
        (-1.0, 1.27, Schema.SYMMETRIC_WITH_POWER2_SCALE, 1 / 64, 0),
        (-127 / 64, 1.0, Schema.SYMMETRIC_WITH_POWER2_SCALE, 1 / 64, 0),
        (0.0, 0.0, Schema.ASYMMETRIC, 1.0, -128),
        (0.0, 0.0, Schema.SYMMETRIC_WITH_POWER2_SCALE, 1.0, 0),
    ],
)
def test_each_schema_has_its_scale_and_zero_point(
    low: float, high: float, schema: Schema, scale: float, zero_point: int
) -> None:
    found = choose_parameters(low, high, schema)
    assert found == Quantization((float(np.float32(scale)),), (zero_point,))


OUTLIERS = np.concatenate([np.random.default_rng(0).normal(0, 1, 100_000), [40.0]])


@pytest.mark.parametrize("method", [Method.PERCENTILE, Method.ENTROPY])
@pytest.mark.parametrize("schema", list(Schema))
def test_a_single_outlier_does_not_set_the_range(method: Method, schema: Schema) -> None:
    low, high = choose_range(profile_of(OUTLIERS), Calibration(method, schema))
    assert -5.0 < low < -2.0
    assert 2.0 < high < 10.0


def test_minmax_keeps_everything() -> None:
    span = choose_range(profile_of(OUTLIERS), Calibration(Method.MINMAX))
    assert span == (OUTLIERS.min(), 40.0)


def test_percentile_drops_the_stated_share() -> None:
    values = np.random.default_rng(1).uniform(-1, 1, 200_000)
    low, high = choose_range(profile_of(values), Calibration(Method.PERCENTILE, percentile=90.0))
    assert low == pytest.approx(-0.9, abs=0.01)
    assert high == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("schema", list(Schema))
@pytest.mark.parametrize("shape", ["normal", "laplace", "exponential", "uniform"])
def test_no_other_method_has_less_squared_error_than_mse(shape: str, schema: Schema) -> None:
    generator = np.random.default_rng(2)
    tensor = profile_of(getattr(generator, shape)(size=50_000))
    assert tensor.histogram is not None
    errors = {
        method: squared_error(
            tensor.histogram, choose_range(tensor, Calibration(method, schema)), schema
        )
        for method in Method
    }
    assert errors[Method.MSE] <= min(errors.values()) * 1.02


def test_the_histograms_error_is_that_of_the_values() -> None:
    values = np.random.default_rng(3).normal(0, 1, 100_000).astype(np.float32)
    tensor = profile_of(values)
    assert tensor.histogram is not None
    for high in (1.0, 2.5, 4.0):
        parameters = choose_parameters(-high, high, Schema.ASYMMETRIC)
        stored = quantize_array(values, parameters).astype(np.float64)
        actual = np.mean(
            ((stored - parameters.zero_points[0]) * parameters.scales[0] - values) ** 2
        )
        estimate = squared_error(tensor.histogram, (-high, high), Schema.ASYMMETRIC)
        assert estimate == pytest.approx(actual, rel=0.02)


@pytest.mark.parametrize("method", list(Method))
@pytest.mark.parametrize("value", [0.0, 3.5, -2.0])
def test_a_constant_tensor_keeps_its_value(method: Method, value: float) -> None:
    tensor = profile_of(np.full(9, value))
    assert choose_range(tensor, Calibration(method)) == (value, value)


def test_weights_take_their_channels_scales() -> None:
    weights = np.array([[1.27, -0.5], [-254.0, 1.0]], np.float32)
    scales = weight_scales(weights, 0, None, 1.0, Schema.SYMMETRIC)
    np.testing.assert_allclose(scales, [0.01, 2.0], rtol=1e-6)
    assert quantize_weights(weights, scales, 0).tolist() == [[127, -50], [-127, 0]]


def test_weights_in_one_scale_take_the_largest() -> None:
    weights = np.array([[1.27, -0.5], [-254.0, 1.0]], np.float32)
    assert weight_scales(weights, None, None, 1.0, Schema.SYMMETRIC).tolist() == [2.0]


@pytest.mark.parametrize("weight", [0.0, 1e-12, 1.0])
@pytest.mark.parametrize("input_scale", [1e-9, 0.02, 1e4])
@pytest.mark.parametrize("bias_value", [0.0, 1e-3, -5.0, 1e6])
def test_every_bias_fits_int32(weight: float, input_scale: float, bias_value: float) -> None:
    weights = np.full((2, 3), weight, np.float32)
    weights[1] = 0.5
    bias = np.array([bias_value, 0.1], np.float32)
    scales = weight_scales(weights, 0, bias, input_scale, Schema.SYMMETRIC)
    stored, quantization = quantize_bias(bias, input_scale, scales)
    assert np.abs(stored.astype(np.int64)).max() <= 2**30 + 1024
    real = stored * np.array(quantization.scales)
    np.testing.assert_allclose(real, bias, atol=max(quantization.scales), rtol=1e-5)


def test_power_of_two_weights_have_scales_of_powers_of_two() -> None:
    weights = np.random.default_rng(5).normal(0, 1, (7, 4)).astype(np.float32)
    scales = weight_scales(weights, 0, None, 1.0, Schema.SYMMETRIC_WITH_POWER2_SCALE)
    assert all(math.frexp(scale)[0] == 0.5 for scale in scales)
    assert np.abs(weights / scales[:, None]).max() <= 127


@pytest.mark.parametrize("seed", range(4))
def test_entropy_keeps_a_tensor_of_few_values(seed: int) -> None:
    values = np.random.default_rng(seed).choice([-1.0, 1.0], 32) * np.linspace(0.9, 1.75, 32)
    span = choose_range(profile_of(values), Calibration(Method.ENTROPY))
    assert span == pytest.approx((values.min(), values.max()))


#: Two-sided and one-sided values, each with a few large ones.
SPREADS = {
    "two sides": OUTLIERS[-5000:],
    "a little on one side": np.concatenate([OUTLIERS[-5000:-1], -OUTLIERS[-1:]]).clip(max=0.25),
    "not below zero": np.abs(OUTLIERS[-5000:]),
    "not above zero": -np.abs(OUTLIERS[-5000:]),
}
POWERS_OF_TWO = pytest.mark.parametrize("factor", [2.0**-14, 0.5, 2.0**9])


@POWERS_OF_TWO
@pytest.mark.parametrize("schema", Schema)
@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("name", SPREADS)
def test_ranges_grow_with_their_values(
    name: str, method: Method, schema: Schema, factor: float
) -> None:
    """No unit is special: a power of two changes no fraction of any number."""
    values = SPREADS[name].astype(np.float32)
    low, high = choose_range(profile_of(values), Calibration(method, schema))
    grown = choose_range(profile_of(values * np.float32(factor)), Calibration(method, schema))
    assert grown == (factor * low, factor * high)


@pytest.mark.parametrize("method", [Method.MINMAX, Method.PERCENTILE, Method.ENTROPY])
@pytest.mark.parametrize("name", SPREADS)
def test_ranges_of_mirrored_values_are_mirrored(name: str, method: Method) -> None:
    """Up to a bin: the left edge of a bin belongs to it, whose mirror image is a right one."""
    values = SPREADS[name].astype(np.float32)
    low, high = choose_range(profile_of(values), Calibration(method))
    mirrored = choose_range(profile_of(-values), Calibration(method))
    assert mirrored == pytest.approx((-high, -low), rel=1e-3, abs=1e-2)


@POWERS_OF_TWO
@pytest.mark.parametrize("schema", Schema)
@pytest.mark.parametrize("span", [(-1.3, 2.9), (0.0, 1.7), (-0.9, 0.0), (0.4, 5.0)])
def test_scales_grow_with_their_ranges(
    span: tuple[float, float], schema: Schema, factor: float
) -> None:
    found, grown = (
        choose_parameters(share * span[0], share * span[1], schema) for share in (1.0, factor)
    )
    assert grown.scales[0] == factor * found.scales[0]
    assert grown.zero_points == found.zero_points


@POWERS_OF_TWO
@pytest.mark.parametrize("schema", Schema)
def test_weights_are_stored_alike_in_every_unit(schema: Schema, factor: float) -> None:
    weights = np.random.default_rng(6).normal(0, 1, (5, 7)).astype(np.float32)
    bias = np.random.default_rng(7).normal(0, 9, 5).astype(np.float32)
    plain = weight_scales(weights, 0, bias, 0.5, schema)
    share = np.float32(factor)
    grown = weight_scales(weights * share, 0, bias * share, 0.5, schema)
    assert np.array_equal(grown, np.asarray(plain) * share)
    assert np.array_equal(
        quantize_bias(bias, 0.5, plain)[0], quantize_bias(bias * share, 0.5, grown)[0]
    )
