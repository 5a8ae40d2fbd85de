"""conv_2d.nibbles_dsp: 1x1 convolutions with two weights in a byte; shapes, forms, bounds, cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glowmcu.compilation import Options
from glowmcu.goals import Goal
from glowmcu.kernels.dsp.dense import stream as dense_stream
from glowmcu.kernels.dsp.dense.layer import layer_stream
from glowmcu.kernels.dsp.dense.stream import DenseStream
from glowmcu.kernels.selection import search
from glowmcu.pipeline import compile_model
from tests.kernels.test_pointwise_dsp import SHAPES as BYTES_SHAPES
from tests.kernels.test_pointwise_dsp import conv, layer, random_layer, site
from tests.ops.test_convolution import Case
from tests.ops.test_matmul import Dense, dense_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

NAME = "conv_2d.nibbles_dsp"


def small(
    shape: tuple[int, int, int, int], depth_out: int, strides: tuple[int, int] = (1, 1)
) -> Case:
    """A layer whose weights are all over four bits."""
    return replace(layer(shape, depth_out, strides), weights_type="int4")


SHAPES = {name: replace(case, weights_type="int4") for name, case in BYTES_SHAPES.items()}
NUMBERS = {
    "output zero point -128": replace(small((1, 3, 3, 20), 10), out_zero_point=-128),
    "output zero point 127": replace(small((1, 3, 3, 20), 10), out_zero_point=127),
    "input zero point -128": replace(small((1, 3, 3, 20), 10), zero_point=-128),
    "input zero point 127": replace(small((1, 3, 3, 21), 10), zero_point=127),
    "all weights -8, input zero point 127": replace(
        small((1, 3, 3, 64), 9), weights=-8, zero_point=127
    ),
    "all weights 7, input zero point -128": replace(
        small((1, 3, 3, 63), 9), weights=7, zero_point=-128
    ),
    "all weights 0": replace(small((1, 3, 3, 20), 10), weights=0),
    "one scale for all channels": replace(small((1, 3, 3, 20), 10), per_channel=False),
    "relu6": replace(small((1, 3, 3, 20), 10), activation="RELU6", out_scale=0.04),
    "tiny scale": replace(small((1, 3, 3, 20), 10), out_scale=500.0),
    "bytes that hold four bits": replace(layer((1, 3, 3, 20), 10), weights=-8),
}
ROWS = {
    "two rows": Dense(2, 12, 6, weights_type="int4"),
    "seven rows": Dense(7, 31, 9, shape=(7, 1, 31), keep_dims=True, weights_type="int4"),
    "one row": Dense(1, 16, 4, weights_type="int4"),
    "stored around a zero point": Dense(3, 17, 6, weights=105, weights_zero_point=100),
}


SHAPE_LAYERS = ForcedLayers(NAME, SHAPES, conv)
NUMBER_LAYERS = ForcedLayers(NAME, NUMBERS, conv, count=3)
ROW_LAYERS = ForcedLayers(NAME, ROWS, dense_model, count=2)


def stream_of(case: Case) -> DenseStream:
    compilation = compile_forced(conv(case), NAME, "cortex-m4")
    stream = layer_stream(site(compilation), 4, nibbles=True)
    assert stream is not None
    return stream


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
@pytest.mark.parametrize("core", ["cortex-m7", "cortex-m33"])
def test_other_cores_with_the_instructions_compute_the_same(core: str) -> None:
    SHAPE_LAYERS.elsewhere(core).check_all_on_core()


@pytest.mark.arm
@pytest.mark.parametrize("seed", range(4))
def test_random_layers_are_computed_as_they_are_meant(seed: int) -> None:
    check_forced(conv(replace(random_layer(seed), weights_type="int4")), NAME, count=2)


@pytest.mark.arm
def test_where_no_line_is_found_the_literal_form_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dense_stream, "COMMON_POSTSHIFTS", {})
    case = small((1, 1, 5, 131), 9)
    assert stream_of(case).facts == ("nibbles", "literal requantization", "")
    check_forced(conv(case), NAME, count=2)


def test_the_cases_reach_every_proved_form() -> None:
    found = {stream_of(case).facts[:2] for case in NUMBERS.values()}
    kinds = ("floor", "two-sided")
    assert found >= {("nibbles", f"{kind} requantization") for kind in kinds}


@pytest.mark.parametrize("weight", [-9, 8])
def test_one_weight_of_more_bits_leaves_the_layer_to_others(weight: int) -> None:
    values = replace(layer((1, 2, 2, 16), 8), weights=weight)
    assert NAME not in variants_of(compile_forced(conv(values), NAME, "cortex-m4"))


def test_sums_that_may_not_fit_leave_the_layer_to_others() -> None:
    fits = [
        NAME in variants_of(compile_forced(conv(deep(depth)), NAME, "cortex-m4"))
        for depth in (DEEPEST - 1, DEEPEST, DEEPEST + 1)
    ]
    assert fits == [True, True, False]


def deep(depth: int) -> Case:
    """Greatest sums of products, and a start that makes up for the input's zero point."""
    case = small((1, 1, 2, depth), 4)
    return replace(case, weights=-8, zero_point=0, bias=False, out_scale=90.0)


#: 4096 * 8 * 128 * depth is below 2^31.
DEEPEST = 511


def test_the_weights_take_half_the_bytes() -> None:
    case = small((1, 3, 3, 64), 64)
    compilation = compile_forced(conv(case), NAME, "cortex-m4")
    own, other = (layer_stream(site(compilation), 4, nibbles=four) for four in (True, False))
    assert own is not None
    assert other is not None
    assert own.words().nbytes == own.size_bytes
    # Wide sums have a start each, packed ones of the floor form one for two.
    assert other.size_bytes - own.size_bytes == 64 * 64 // 2 - 4 * 64 * (not other.layout.started)


@pytest.mark.arm
def test_four_bits_cost_few_cycles() -> None:
    model = conv(small((1, 8, 8, 64), 64))
    for core, most in (("cortex-m4", 1.07), ("cortex-m7", 1.09), ("cortex-m33", 1.06)):
        own = check_forced(model, NAME, core, counts_cycles=True).cycles
        other = check_forced(model, "conv_2d.pointwise_dsp", core, counts_cycles=True).cycles
        assert own is not None
        assert other is not None
        assert own <= most * other, (core, own, other)


@pytest.mark.parametrize(
    ("goal", "slowdown", "chosen"),
    [(Goal.BALANCED, 1.15, True), (Goal.BALANCED, 1.0, False), (Goal.SPEED, 1.15, False)],
)
def test_balanced_takes_it_while_four_bits_cost_few_cycles(
    goal: Goal, slowdown: float, chosen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FOUR_BITS_SLOWDOWN", slowdown)
    model = conv(small((1, 12, 12, 64), 64))
    compilation = compile_model(model, "m.tflite", Options("m", core="cortex-m4", goal=goal))
    assert (NAME in variants_of(compilation)) == chosen
