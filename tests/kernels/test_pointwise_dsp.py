"""conv_2d.pointwise_dsp: all shapes of pixels, inputs and channels, all forms, C and assembly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.compilation import Compilation
from glowmcu.cores import core
from glowmcu.kernels.common.dense_layer import dense_weights, pixel_grid
from glowmcu.kernels.dsp.dense import stream as dense_stream
from glowmcu.kernels.dsp.dense.layer import layer_stream
from glowmcu.kernels.dsp.dense.stream import DenseStream
from glowmcu.kernels.kernel import Site, Target, load_kernels, site_of
from glowmcu.kernels.requantization.forms import FormKind
from glowmcu.ops.convolution import Conv2D
from tests.ops.test_convolution import Case, conv_model
from tests.ops.test_matmul import Dense, dense_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

NAME = "conv_2d.pointwise_dsp"


def layer(
    shape: tuple[int, int, int, int], depth_out: int, strides: tuple[int, int] = (1, 1)
) -> Case:
    """1x1 as converters write it: weights without -128."""
    return Case(shape, depth_out, (1, 1), strides, least_weight=-127, out_scale=1.0)


#: Around fours and eights of inputs, fours of channels, pairs of pixels, rounds of 16 steps.
SHAPES = {
    **{f"{depth} inputs": layer((1, 1, 2, depth), 4) for depth in (1, 2, 3, 4, 5, 6, 7, 8, 9)},
    **{f"{depth} inputs": layer((1, 1, 2, depth), 5) for depth in (13, 29, 32, 33, 34, 35, 36)},
    **{f"{depth} inputs": layer((1, 1, 3, depth), 4) for depth in (63, 65, 66, 67, 98, 99, 257)},
    **{f"{count} channels": layer((1, 1, 4, 6), count) for count in (4, 5, 6, 7, 8, 9, 13, 29)},
    **{f"{count} pixels": layer((1, 1, count, 10), 6) for count in (1, 2, 3, 4, 5)},
    "pixels in rows": layer((1, 5, 3, 12), 8),
    "three batches": layer((3, 2, 3, 9), 7),
    "stride 2, odd rows": layer((1, 6, 5, 9), 6, (2, 2)),
    "stride 2 down only": layer((2, 5, 4, 8), 4, (2, 1)),
    "stride 3 across only": layer((1, 3, 7, 4), 4, (1, 3)),
    "stride 2, one column": layer((1, 5, 1, 4), 4, (2, 2)),
}
NUMBERS = {
    "output zero point -128": replace(layer((1, 3, 3, 20), 10), out_zero_point=-128),
    "output zero point 127": replace(layer((1, 3, 3, 20), 10), out_zero_point=127),
    "input zero point -128": replace(layer((1, 3, 3, 20), 10), zero_point=-128),
    "input zero point 127": replace(layer((1, 3, 3, 20), 10), zero_point=127),
    "some weights -128": replace(layer((1, 3, 3, 20), 10), least_weight=-128),
    "some weights -128, many inputs": replace(layer((1, 1, 3, 131), 9), least_weight=-128),
    "weights all -128": replace(layer((1, 3, 3, 20), 4), weights=-128, out_scale=20.0),
    "weights all -128, output zero point -128": replace(
        layer((1, 3, 3, 21), 10), weights=-128, out_scale=4.0, out_zero_point=-128
    ),
    "weights all 127": replace(layer((1, 3, 3, 20), 4), weights=127, out_scale=20.0),
    "weights all 0": replace(layer((1, 3, 3, 20), 10), weights=0),
    "one scale for all channels": replace(layer((1, 3, 3, 20), 10), per_channel=False),
    "relu6": replace(layer((1, 3, 3, 20), 10), activation="RELU6", out_scale=0.04),
    "relu between -1 and 1": replace(layer((1, 3, 3, 20), 10), activation="RELU_N1_TO_1"),
    "fine scale": replace(layer((1, 3, 3, 4), 5), out_scale=0.011),
    "tiny scale": replace(layer((1, 3, 3, 20), 10), out_scale=500.0),
    "scale of exactly 1/2": replace(
        layer((1, 3, 3, 3), 4), per_channel=False, bias=False, scale=0.5, weights_scale=0.5,
        out_scale=0.5,
    ),
}  # fmt: skip
ROWS = {
    "two rows": Dense(2, 12, 6),
    "seven rows, three axes": Dense(7, 31, 9, shape=(7, 1, 31), keep_dims=True),
    "one row": Dense(1, 16, 4),
    "weights zero point 5": Dense(2, 16, 5, weights_zero_point=5),
    "weights zero point -128": Dense(3, 17, 6, weights_zero_point=-128),
}


def conv(case: Case) -> bytes:
    return conv_model("CONV_2D", case)


SHAPE_LAYERS = ForcedLayers(NAME, SHAPES, conv)
NUMBER_LAYERS = ForcedLayers(NAME, NUMBERS, conv, count=3)
ROW_LAYERS = ForcedLayers(NAME, ROWS, dense_model, count=2)


def site(compilation: Compilation) -> Site:
    (node,) = compilation.selections
    return site_of(compilation.graph, node)


def stream_of(case: Case) -> DenseStream:
    stream = layer_stream(site(compile_forced(conv_model("CONV_2D", case), NAME, "cortex-m4")), 4)
    assert stream is not None
    return stream


def accepts(case: Case, core_name: str = "cortex-m4") -> bool:
    found = site(compile_forced(conv_model("CONV_2D", case), "conv_2d.portable", core_name))
    (variant,) = (k for k in load_kernels()[Conv2D] if k.name == NAME)
    return variant.accepts(found, Target(core(core_name)))


def random_layer(seed: int) -> Case:
    """A few pixels, up to 89 inputs and 42 channels, any zero points."""
    random = np.random.default_rng(seed)
    height, width, depth, channels = (int(random.integers(1, top)) for top in (4, 7, 90, 40))
    return replace(
        layer((1, height, width, depth), 3 + channels),
        zero_point=int(random.integers(-128, 128)),
        out_zero_point=int(random.choice([-128, -5, 127])),
        least_weight=int(random.choice([-128, -127])),
        out_scale=float(random.uniform(0.3, 3)),
    )


@pytest.mark.arm
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_is_computed_as_it_is_meant(name: str) -> None:
    SHAPE_LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", NUMBERS)
def test_every_number_is_computed_as_it_is_meant(name: str) -> None:
    NUMBER_LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_a_dense_layer_are_pixels(name: str) -> None:
    ROW_LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", ["cortex-m7", "cortex-m33"])
def test_other_cores_with_the_instructions_compute_the_same(name: str) -> None:
    check_forced(conv(SHAPES["67 inputs"]), NAME, name)


@pytest.mark.arm
@pytest.mark.parametrize("seed", range(8))
def test_random_layers_are_computed_as_they_are_meant(seed: int) -> None:
    check_forced(conv(random_layer(seed)), NAME, count=2)


@pytest.mark.parametrize(
    "case",
    {
        "a larger window": Case((1, 3, 4, 3), 6, (2, 2)),
        "padding": Case((1, 5, 4, 2), 4, (1, 1), padding="SAME", strides=(1, 1), groups=2),
        "three channels": layer((1, 3, 3, 5), 3),
        "a scale above 1": replace(layer((1, 3, 3, 5), 4), out_scale=1e-4, weights_scale=0.5),
    }.values(),
    ids=("a larger window", "groups", "three channels", "a scale above 1"),
)
def test_what_it_cannot_compute_is_left_to_others(case: Case) -> None:
    assert not accepts(case)


def test_cores_without_the_instructions_are_left_to_others() -> None:
    assert not accepts(SHAPES["8 inputs"], "cortex-m3")
    assert accepts(SHAPES["8 inputs"], "cortex-m55")


def test_the_cases_reach_every_form_and_both_layouts() -> None:
    streams = [stream_of(case) for case in (SHAPES["8 inputs"], *NUMBERS.values())]
    reached = {(stream.form.kind.value, stream.layout.wide) for stream in streams}
    assert reached >= {(kind, wide) for kind in ("floor", "two_sided") for wide in (False, True)}


@pytest.mark.arm
@pytest.mark.parametrize("least_weight", [-128, -127])
def test_where_no_line_is_found_the_literal_form_is_computed(
    least_weight: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense_stream, "COMMON_POSTSHIFTS", {})
    case = replace(layer((1, 1, 5, 131), 9), least_weight=least_weight)
    assert stream_of(case).form.kind is FormKind.LITERAL
    check_forced(conv_model("CONV_2D", case), NAME, count=2)


def test_packed_weights_take_no_more_flash_than_bytes_and_constants_do() -> None:
    stream = stream_of(replace(layer((1, 3, 3, 64), 64), out_zero_point=-128))
    assert not stream.layout.wide
    assert stream.words().nbytes == stream.size_bytes == 64 * (64 + 9)


def test_a_pair_is_packed_when_only_a_positive_weight_stands_beside_its_lowest() -> None:
    weights = np.zeros((4, 8), np.int8)
    weights[0, 0], weights[1, 0], weights[3, 1] = -128, 3, -128
    assert not packs_wide(weights)
    weights[1, 0] = -1
    assert packs_wide(weights)


def packs_wide(weights: np.ndarray) -> bool:
    data = conv_model("CONV_2D", layer((1, 1, 2, 8), 4))
    found = site(compile_forced(data, NAME, "cortex-m4"))
    constants = (None, weights.reshape(4, 1, 1, 8), found.constants[2])
    stream = layer_stream(replace(found, constants=constants), 4)
    assert stream is not None
    return stream.layout.wide


def test_pixels_of_all_rows_are_one_run_unless_a_stride_leaves_gaps() -> None:
    dense = site(compile_forced(conv_model("CONV_2D", SHAPES["pixels in rows"]), NAME, "cortex-m4"))
    assert pixel_grid(dense).runs == (1, 15)
    gaps = SHAPES["stride 2, odd rows"]
    strided = site(compile_forced(conv_model("CONV_2D", gaps), NAME, "cortex-m4"))
    assert pixel_grid(strided).runs == (3, 3)
    assert dense_weights(strided).shape == (6, 9)


def test_a_large_single_row_is_left_to_kernels_for_rows() -> None:
    data = dense_model(Dense(1, 128, 64))
    assert NAME not in variants_of(compile_forced(data, NAME, "cortex-m4"))
