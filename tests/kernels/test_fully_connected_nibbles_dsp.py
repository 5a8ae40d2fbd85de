"""fully_connected.nibbles_dsp: weights of four bits, two in a byte; sizes, forms, bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.goals import Goal
from glowmcu.ir.layer_weights import are_nibbles
from glowmcu.kernels.dsp.dense import stream as dense_stream
from glowmcu.kernels.dsp.dense.direct import direct_stream
from glowmcu.kernels.dsp.dense.direct_assembly import FOUR, ROUND_FOURS, walk
from glowmcu.kernels.dsp.dense.direct_nibbles import nibble_stream
from glowmcu.kernels.dsp.dense.nibbles import MASKS, nibble_halves, nibble_starts, sums_fit
from glowmcu.kernels.dsp.dense.stream import BlockLayout, DenseStream
from glowmcu.kernels.kernel import Site, site_of
from glowmcu.kernels.requantization.forms import FormKind
from glowmcu.pipeline import compile_model
from tests.kernels.row_layers import layer_without_lines
from tests.ops.test_convolution import Case, conv_model
from tests.ops.test_matmul import Dense, dense_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

NAME = "fully_connected.nibbles_dsp"
_ROUND = FOUR * ROUND_FOURS


def small(depth: int, outputs: int, rows: int = 1, **others: Any) -> Dense:
    """A layer whose weights are all over four bits."""
    return replace(Dense(rows, depth, outputs, weights_type="int4"), **others)


DEPTHS = (1, 2, 3, 4, 5, 7, 8, 9, 13, _ROUND - 1, _ROUND, _ROUND + 1, _ROUND + 4, 2 * _ROUND - 3,
          2 * _ROUND + 5, 131)  # fmt: skip
CASES = {
    **{f"{depth} inputs": small(depth, 9) for depth in DEPTHS},
    **{f"{count} outputs": small(10, count) for count in (1, 2, 7, 8, 15, 16, 17, 29)},
    "rows at every alignment": small(13, 11, 5),
    "rows of one block": small(34, 8, 3),
    "a scale for each output": small(33, 9, 2, per_channel=True),
    "a scale for each output, output zero point -128": small(
        33, 9, 2, per_channel=True, out_zero_point=-128
    ),
    "relu6": small(16, 9, 2, activation="RELU6", out_scale=0.04),
    "all weights -8, input zero point 127": small(64, 9, 2, weights=-8, zero_point=127),
    "all weights 7, input zero point -128": small(64, 9, 2, weights=7, zero_point=-128),
    "all weights 0": small(16, 9, 2, weights=0),
    "bytes that hold four bits": Dense(2, 19, 9, weights=-8),
    "stored around a zero point": Dense(2, 16, 9, weights=105, weights_zero_point=100),
    "tiny scale": small(16, 9, 2, out_scale=500.0),
    "input of rank 4": small(24, 9, shape=(1, 2, 3, 4)),
}
LAYERS = ForcedLayers(NAME, CASES, dense_model, count=2)


def site_for(case: Dense) -> Site:
    compilation = compile_forced(dense_model(case), NAME, "cortex-m4")
    (node,) = compilation.selections
    return site_of(compilation.graph, node)


def stream_of(case: Dense) -> DenseStream:
    stream = nibble_stream(site_for(case))
    assert stream is not None
    return stream


@pytest.mark.arm
@pytest.mark.parametrize("name", CASES)
def test_every_layer_is_computed_as_it_is_meant(name: str) -> None:
    LAYERS.check(name)


@pytest.mark.arm
def test_another_core_with_the_instructions_computes_the_same() -> None:
    LAYERS.elsewhere("cortex-m33").check_all_on_core()


@pytest.mark.arm
def test_where_no_line_is_found_the_literal_form_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dense_stream, "COMMON_POSTSHIFTS", {})
    case = layer_without_lines("int4")
    assert stream_of(case).facts == ("nibbles", "literal requantization", "")
    check_forced(dense_model(case), NAME, count=2)


@pytest.mark.arm
def test_a_convolution_of_one_pixel_is_a_row() -> None:
    case = Case((1, 1, 1, 37), 11, (1, 1), out_scale=3.0, weights_type="int4")
    check_forced(conv_model("CONV_2D", case), NAME)


def test_the_cases_reach_every_form() -> None:
    found = {stream_of(case).facts[:2] for case in CASES.values()}
    kinds = ("floor", "two-sided", "uniform")
    assert found >= {("nibbles", f"{kind} requantization") for kind in kinds}


@pytest.mark.parametrize("weight", [-9, 8])
def test_one_weight_of_more_bits_leaves_the_layer_to_others(weight: int) -> None:
    values = np.full((8, 16), 7, np.int8)
    assert are_nibbles(values)
    values[3, 5] = weight
    assert not are_nibbles(values)
    compilation = compile_forced(dense_model(Dense(1, 16, 8, weights=weight)), NAME, "cortex-m4")
    assert NAME not in variants_of(compilation)


def test_a_word_holds_four_channels_and_masks_take_three_of_them() -> None:
    values = np.random.default_rng(3).integers(-8, 8, (4, 50, 2))
    values[:, 0], values[:, 1] = -8, 7
    (halves,) = nibble_halves(values)
    assert halves.min() >= -(2**15)
    assert halves.max() < 2**15
    for channel, mask in enumerate(MASKS):
        parts = halves & (mask & 0xFFFF)
        np.testing.assert_array_equal(parts, (values[channel] + 8) << (4 * channel))


def test_sums_of_four_channels_come_apart_again() -> None:
    random = np.random.default_rng(4)
    weights, x = random.integers(-8, 8, (8, 30, 2)), random.integers(-128, 128, (30, 2))
    starts = random.integers(-9000, 9000, (1, 8))
    wanted = starts[0] + (weights * x).sum(axis=(1, 2))
    sums = nibble_starts(starts)[0].reshape(2, 4)
    halves, eight = nibble_halves(weights), 8 * x.sum()
    for group in range(2):
        parts = [int((halves[group] & (m & 0xFFFF)).ravel() @ x.ravel()) for m in MASKS]
        p0, p1, p2 = (int(a) + b for a, b in zip(sums[group], parts, strict=False))
        p3 = int(sums[group][3]) + int(halves[group].ravel() @ x.ravel())
        found = [p0 - eight, (p1 >> 4) - eight, (p2 >> 8) - eight, (p3 - p2 - p1 - p0) >> 12]
        assert found == wanted[4 * group : 4 * group + 4].tolist()


def test_sums_that_may_not_fit_leave_the_layer_to_others() -> None:
    most = np.array([0, 0, 0, 2**19 - 1])
    assert sums_fit(most, 64)
    assert not sums_fit(most + np.array([0, 0, 0, 1]), 64)
    room = 2**23 - 8 * 128 * 64
    assert sums_fit(np.array([0, 0, room - 1, 0]), 64)
    assert not sums_fit(np.array([0, 0, room, 0]), 64)
    deep = dense_model(small(640, 8, weights=-8, out_scale=90.0))
    assert NAME not in variants_of(compile_forced(deep, NAME, "cortex-m4"))


def test_the_weights_take_half_the_bytes() -> None:
    site = site_for(small(128, 24))
    own, other = nibble_stream(site), direct_stream(site)
    assert own is not None
    assert other is not None
    assert other.size_bytes - own.size_bytes == 128 * 24 // 2
    assert own.words().nbytes == own.size_bytes


def test_a_block_goes_through_its_inputs_and_weights_once() -> None:
    layout = BlockLayout(FormKind.LITERAL, True, 8, nibbles=True)
    for depth in range(1, 3 * _ROUND):
        way, rest = walk(depth, layout), depth % FOUR > 0
        rounds, left = divmod(way.end_round - way.first_round, _ROUND)
        skipped = -way.jump // (2 * layout.step_bytes)
        assert left == 0
        assert rounds * ROUND_FOURS - skipped == -(-depth // FOUR)
        assert way.first_round + FOUR * (skipped + rest) == 0


@pytest.mark.parametrize("goal", [Goal.BALANCED, Goal.SIZE, Goal.RAM])
def test_goals_that_count_flash_choose_it(goal: Goal) -> None:
    options = Options("m", core="cortex-m4", goal=goal)
    compilation = compile_model(dense_model(small(128, 128)), "m.tflite", options)
    assert variants_of(compilation) == {NAME}
    (layer,) = compilation.manifest.layers
    assert layer.weights_bytes < 128 * 128 // 2 + 9 * 128


@pytest.mark.arm
def test_four_bits_cost_no_cycles_where_rows_are_long() -> None:
    model = dense_model(small(128, 128))
    for core, most in (("cortex-m4", 1.02), ("cortex-m7", 1.0), ("cortex-m33", 0.9)):
        own = check_forced(model, NAME, core, counts_cycles=True).cycles
        other = check_forced(model, "fully_connected.direct_dsp", core, counts_cycles=True).cycles
        assert own is not None
        assert other is not None
        assert own <= most * other, core
