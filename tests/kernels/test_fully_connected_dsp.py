"""fully_connected.dsp: all sizes around blocks and rounds, all forms, C and assembly."""

from __future__ import annotations

import pytest

from glowmcu.kernels.dsp.dense import stream as dense_stream
from glowmcu.kernels.dsp.dense.layer import layer_stream
from glowmcu.kernels.dsp.dense.stream import DenseStream
from glowmcu.kernels.kernel import site_of
from tests.kernels.row_layers import ALL_FORMS, layer_without_lines, pixels_model, random_layer
from tests.ops.test_matmul import Dense, dense_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

NAME = "fully_connected.dsp"

#: int4 weights can be packed; others, at random, hold -128 beside negative ones.
CASES = {
    **{f"{depth} inputs": Dense(1, depth, 9, weights_type="int4") for depth in (1, 2, 3, 4, 5, 7)},
    **{f"{depth} inputs": Dense(1, depth, 8, weights_type="int4") for depth in (31, 32, 33, 34)},
    **{f"{depth} inputs": Dense(1, depth, 8, weights_type="int4") for depth in (64, 66, 131)},
    **{f"{count} outputs": Dense(1, 10, count, weights_type="int4") for count in (1, 2, 7, 8)},
    **{f"{count} outputs": Dense(1, 10, count, weights_type="int4") for count in (9, 15, 16, 29)},
    "three rows": Dense(3, 13, 11, weights_type="int4"),
    "three rows, few outputs": Dense(3, 13, 5, weights_type="int4"),
    "wide": Dense(2, 31, 17),
    "wide, many inputs": Dense(1, 131, 12, out_scale=4.0),
    "a scale for each output": Dense(2, 33, 9, per_channel=True, weights_type="int4"),
    "a scale for each output, wide": Dense(2, 33, 9, per_channel=True),
    "a scale for each output, output zero point -128": Dense(
        2, 33, 9, per_channel=True, weights_type="int4", out_zero_point=-128
    ),
    "a scale for each output, wide, output zero point -128": Dense(
        2, 33, 9, per_channel=True, out_zero_point=-128
    ),
    "relu": Dense(2, 16, 9, activation="RELU"),
    "relu6": Dense(2, 16, 9, activation="RELU6", out_scale=0.04, weights_type="int4"),
    "weights zero point 5": Dense(2, 16, 9, weights_zero_point=5),
    "weights zero point -128": Dense(2, 16, 9, weights_zero_point=-128),
    "weights all -128, input zero point 127": Dense(2, 16, 9, zero_point=127, weights=-128),
    "weights all 0": Dense(2, 16, 9, weights=0),
    "tiny scale": Dense(2, 16, 9, out_scale=500.0, weights_type="int4"),
    "fine scale": Dense(2, 3, 9, out_scale=0.01, weights_type="int4"),
    "input of rank 4": Dense(1, 24, 9, shape=(1, 2, 3, 4)),
}


def stream_of(case: Dense) -> DenseStream:
    compilation = compile_forced(dense_model(case), NAME, "cortex-m4")
    (node,) = compilation.selections
    stream = layer_stream(site_of(compilation.graph, node), 8, uniform=True)
    assert stream is not None
    return stream


LAYERS = ForcedLayers(NAME, CASES, dense_model, count=2)


@pytest.mark.arm
@pytest.mark.parametrize("name", CASES)
def test_every_layer_is_computed_as_it_is_meant(name: str) -> None:
    LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", ["cortex-m7", "cortex-m33"])
def test_other_cores_with_the_instructions_compute_the_same(name: str) -> None:
    check_forced(dense_model(CASES["66 inputs"]), NAME, name)


@pytest.mark.arm
@pytest.mark.parametrize("seed", range(6))
def test_random_layers_are_computed_as_they_are_meant(seed: int) -> None:
    check_forced(dense_model(random_layer(seed)), NAME, count=2)


@pytest.mark.arm
def test_a_convolution_of_one_pixel_is_a_row() -> None:
    check_forced(pixels_model(1), NAME)


def test_a_convolution_of_more_pixels_is_left_to_others() -> None:
    assert NAME not in variants_of(compile_forced(pixels_model(2), NAME, "cortex-m4"))


def test_the_cases_reach_every_form_and_both_layouts() -> None:
    layouts = {stream_of(case).facts[:2] for case in CASES.values()}
    assert layouts >= ALL_FORMS


@pytest.mark.arm
@pytest.mark.parametrize("weights_type", ["int4", "int8"])
def test_where_no_line_is_found_the_literal_form_is_computed(
    weights_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense_stream, "COMMON_POSTSHIFTS", {})
    case = layer_without_lines(weights_type)
    assert stream_of(case).facts[1:] == ("literal requantization", "")
    check_forced(dense_model(case), NAME, count=2)


def test_layers_of_one_scale_need_no_constants_of_requantization() -> None:
    stream = stream_of(Dense(1, 128, 128, weights_type="int4"))
    assert stream.words().nbytes == 128 * 128 + (8 + 1) * 4 * 16


def test_layers_of_one_scale_share_a_function_whatever_their_scale_is() -> None:
    some, other = (
        stream_of(Dense(1, 16, 8, weights_type="int4", out_scale=scale)) for scale in (0.05, 2.0)
    )
    assert some.shared_constants != other.shared_constants
    assert some.facts == other.facts == ("", "uniform requantization", "")
