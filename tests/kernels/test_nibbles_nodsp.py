"""Weights of four bits without DSP instructions: pairs of pixels, rows as they lie, their cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.goals import Goal
from glowmcu.ir.operation import Array
from glowmcu.kernels.nodsp.nibbles import GROUP_STEP, pack_nibbles
from glowmcu.pipeline import compile_model
from tests.ops.test_convolution import NUMBERS, SPATIAL, Case, conv_model
from tests.ops.test_matmul import Dense, dense_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

PAIRS, ROWS = "conv_2d.nibbles_nodsp", "dense.nibbles_nodsp"

WINDOWS = {
    "one tap, one output": Case((1, 1, 1, 1), 1, (1, 1)),
    "two taps, eight outputs": Case((1, 1, 3, 2), 8, (1, 1)),
    "three taps, nine outputs": Case((1, 3, 3, 3), 9, (1, 1)),
    "four taps": Case((1, 2, 2, 4), 2, (1, 1)),
    "six taps, seventeen outputs": Case((1, 2, 3, 6), 17, (1, 1)),
    "several groups, the last one short": Case((1, 2, 3, 70), 10, (1, 1), out_scale=3.0),
    "groups across rows of the window": Case((1, 5, 7, 11), 4, (3, 3), padding="SAME"),
    "a long column": Case((1, 21, 10, 1), 8, (10, 4), (2, 2), padding="SAME"),
    "two images, odd pixels": Case((2, 3, 3, 5), 7, (2, 2), padding="SAME"),
    "narrow": Case((1, 4, 5, 12), 7, (3, 3), padding="SAME", out_zero_point=-128, out_scale=2.0),
    "mirrored": Case((1, 4, 5, 12), 7, (3, 3), padding="SAME", out_zero_point=17, out_scale=2.0),
    "literal": Case(
        (1, 4, 5, 12),
        7,
        (3, 3),
        padding="SAME",
        activation="RELU_N1_TO_1",
        out_zero_point=17,
        out_scale=0.05,
    ),
    "all weights -8, input zero point 127": Case(
        (1, 2, 3, 64), 9, (1, 1), weights=-8, zero_point=127, out_scale=9.0
    ),
    "all weights 7, input zero point -128": Case(
        (1, 2, 3, 63), 9, (1, 1), weights=7, zero_point=-128, out_scale=9.0
    ),
}


#: Magnitudes add up to 256 or less, of which a group keeps 255; inputs are at both ends, too.
BOUNDS = {
    f"{depth} weights of -8": Case((1, 1, 2, depth), 6, (1, 1), weights=-8, out_scale=40.0)
    for depth in (28, 29, 31, 32, 36)
}
MATRICES = {
    "one input, one output": Dense(1, 1, 1, weights_type="int4"),
    "two inputs, eight outputs": Dense(1, 2, 8, weights_type="int4"),
    "three inputs, nine outputs, two rows": Dense(2, 3, 9, weights_type="int4"),
    "four inputs, a block of outputs": Dense(1, 4, 16, weights_type="int4"),
    "five inputs, a block and one": Dense(3, 5, 17, weights_type="int4"),
    "groups of a long row": Dense(1, 211, 37, weights_type="int4"),
    "a group of one input": Dense(2, 29, 6, weights=-8),
    "all weights are 7": Dense(2, 67, 6, weights=7),
    "stored around a zero point": Dense(3, 17, 6, weights=105, weights_zero_point=100),
}


def four_bits(cases: Mapping[str, Case]) -> dict[str, Case]:
    """The same layers with weights all over four bits, or with one of them."""
    return {
        name: replace(case, weights_type="int4", weights=case.weights and max(case.weights, -8))
        for name, case in cases.items()
    }


def model(case: Case | Dense) -> bytes:
    return dense_model(case) if isinstance(case, Dense) else conv_model("CONV_2D", case)


IMAGES = four_bits({**WINDOWS, **SPATIAL, **NUMBERS, **BOUNDS})
POINTWISE = {
    name: case for name, case in four_bits({**WINDOWS, **BOUNDS}).items() if case.kernel == (1, 1)
}
DENSE: dict[str, Case | Dense] = {**MATRICES, **POINTWISE}
PAIR_LAYERS = ForcedLayers(PAIRS, IMAGES, model, "cortex-m0plus", count=2)
ROW_LAYERS = ForcedLayers(ROWS, DENSE, model, "cortex-m0plus", count=2)


@pytest.mark.parametrize("name", IMAGES)
def test_pairs_of_pixels_equal_the_meaning(name: str) -> None:
    PAIR_LAYERS.check(name)


@pytest.mark.parametrize("name", DENSE)
def test_rows_of_bytes_equal_the_meaning(name: str) -> None:
    ROW_LAYERS.check(name)


@pytest.mark.parametrize("core", ["cortex-m3", "hazard3"])
def test_other_cores_compute_the_same(core: str) -> None:
    """Thumb-2, and the portable branch on RISC-V."""
    PAIR_LAYERS.elsewhere(core).check_all_on_core()
    ROW_LAYERS.elsewhere(core).check_all_on_core()


@pytest.mark.parametrize("variant", [PAIRS, ROWS])
@pytest.mark.parametrize("weight", [-9, 8])
def test_one_weight_of_more_bits_leaves_the_layer_to_others(weight: int, variant: str) -> None:
    layer = Case((1, 2, 2, 16), 8, (1, 1), weights=weight)
    assert variant not in variants_of(compile_forced(model(layer), variant, "cortex-m0plus"))


def test_pixels_apart_stay_with_the_kernel_of_windows() -> None:
    layer = Case((1, 4, 4, 8), 5, (1, 1), (2, 2), weights_type="int4")
    assert variants_of(compile_forced(model(layer), ROWS, "generic")) != {ROWS}
    assert variants_of(compile_forced(model(layer), PAIRS, "generic")) == {PAIRS}


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m33", "cortex-m55"])
def test_cores_with_the_instructions_have_kernels_of_their_own(core: str) -> None:
    layer = Case((1, 2, 2, 16), 8, (1, 1), weights_type="int4")
    assert PAIRS not in variants_of(compile_forced(model(layer), PAIRS, core))


def unpacked(words: Array) -> Array:
    """(outputs, taps) of words."""
    nibbles = [words.view(np.uint32) >> shift & 15 for shift in range(28, -1, -4)]
    return (np.stack(nibbles, axis=1).astype(np.int64) - 8).reshape(-1, words.shape[1])


@pytest.mark.parametrize("taps", [1, 7, 64, 145])
@pytest.mark.parametrize("outputs", [1, 8, 11])
def test_packed_words_make_up_the_weights_and_groups_fit(outputs: int, taps: int) -> None:
    weights = np.random.default_rng(taps).integers(-8, 8, (outputs, taps)).astype(np.int8)
    packed = pack_nibbles(weights, 2)
    whole = unpacked(packed.words)
    assert (whole[:outputs, :taps] == weights).all()
    assert not whole[outputs:].any()
    assert not whole[:, taps:].any()
    assert packed.words.shape[1] % 2 == 0
    assert packed.group_taps % GROUP_STEP == 0
    starts = range(0, taps, packed.group_taps)
    assert len(starts) == packed.groups
    for start in starts:
        group = whole[:, start : start + packed.group_taps]
        assert np.abs(group).sum(axis=1).max() <= 255


@pytest.mark.parametrize(("weight", "groups"), [(0, 1), (1, 1), (2, 2), (-8, 9)])
def test_groups_are_as_long_as_weights_allow(weight: int, groups: int) -> None:
    assert pack_nibbles(np.full((3, 248), weight, np.int8)).groups == groups


@pytest.mark.arm
@pytest.mark.parametrize(("core", "most"), [("cortex-m0plus", 0.75), ("cortex-m3", 0.95)])
def test_four_bits_take_fewer_cycles_than_bytes(core: str, most: float) -> None:
    layer = Case((1, 4, 4, 32), 32, (3, 3), padding="SAME", weights_type="int4", out_scale=2.0)
    row = Dense(1, 256, 64, weights_type="int4")
    pairs = ((layer, PAIRS, "conv_2d.pairs_nodsp"), (row, ROWS, "dense.direct_nodsp"))
    for case, own, other in pairs:
        taken, compared = (
            check_forced(model(case), name, core, counts_cycles=True).cycles
            for name in (own, other)
        )
        assert taken is not None
        assert compared is not None
        assert taken <= most * compared, (own, taken, compared)


@pytest.mark.parametrize("goal", [Goal.BALANCED, Goal.SPEED, Goal.SIZE])
def test_every_goal_takes_what_is_shorter_and_quicker(goal: Goal) -> None:
    data = model(Case((1, 12, 12, 32), 64, (1, 1), weights_type="int4", out_scale=2.0))
    options = Options("m", core="cortex-m0plus", goal=goal)
    assert variants_of(compile_model(data, "m.tflite", options)) <= {PAIRS, ROWS}


def test_size_counts_constants_though_other_functions_have_less_code() -> None:
    data = model(Dense(1, 256, 64, weights_type="int4"))
    options = Options("m", core="cortex-m0plus", goal=Goal.SIZE)
    assert variants_of(compile_model(data, "m.tflite", options)) == {ROWS}
