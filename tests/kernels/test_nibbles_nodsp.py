"""Weights of four bits without DSP instructions: pairs of pixels, rows as they lie, their cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.ir.operation import Array
from glowmcu.kernels.nodsp.nibbles import GROUP_STEP, pack_nibbles
from tests.ops.test_convolution import NUMBERS, SPATIAL, Case, conv_model
from tests.ops.test_matmul import Dense, dense_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

PAIRS, ROWS = "conv_2d.nibbles_nodsp", "dense.nibbles_nodsp"
CORES = ("cortex-m0plus", "cortex-m3")

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
    "literal": Case((1, 4, 5, 12), 7, (3, 3), padding="SAME", out_zero_point=17, out_scale=2.0),
    "all weights -8, input zero point 127": Case(
        (1, 2, 3, 64), 9, (1, 1), weights=-8, zero_point=127, out_scale=9.0
    ),
    "all weights 7, input zero point -128": Case(
        (1, 2, 3, 63), 9, (1, 1), weights=7, zero_point=-128, out_scale=9.0
    ),
}


def four_bits(cases: dict[str, Case]) -> dict[str, Case]:
    """The same layers with weights all over four bits, or with one of them."""
    return {
        name: replace(case, weights_type="int4", weights=case.weights and max(case.weights, -8))
        for name, case in cases.items()
    }


MATRICES = {
    "one input, one output": Dense(1, 1, 1, weights_type="int4"),
    "two inputs, eight outputs": Dense(1, 2, 8, weights_type="int4"),
    "three inputs, nine outputs": Dense(2, 3, 9, weights_type="int4"),
    "four inputs, a block of outputs": Dense(1, 4, 16, weights_type="int4"),
    "five inputs, a block and one": Dense(3, 5, 17, weights_type="int4"),
    "groups of a long row": Dense(1, 211, 37, weights_type="int4"),
    "a group of one input": Dense(2, 29, 6, weights=-8),
    "all weights 7": Dense(2, 67, 6, weights=7),
    "stored around a zero point": Dense(3, 17, 6, weights=105, weights_zero_point=100),
}


def conv(case: Case) -> bytes:
    return conv_model("CONV_2D", case)


PAIR_LAYERS = {core: ForcedLayers(PAIRS, four_bits(WINDOWS), conv, core, count=2) for core in CORES}
SPATIAL_LAYERS = ForcedLayers(PAIRS, four_bits(SPATIAL), conv, "cortex-m0plus")
NUMBER_LAYERS = ForcedLayers(PAIRS, four_bits(NUMBERS), conv, "generic")
MATRIX_LAYERS = {core: ForcedLayers(ROWS, MATRICES, dense_model, core, count=2) for core in CORES}
POINTWISE = {
    name: case for name, case in four_bits(WINDOWS).items() if case.kernel == (1, 1)
}  # fmt: skip
POINTWISE_LAYERS = {core: ForcedLayers(ROWS, POINTWISE, conv, core) for core in CORES}


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", WINDOWS)
def test_pairs_of_pixels_equal_the_meaning_on_both_instruction_sets(name: str, core: str) -> None:
    PAIR_LAYERS[core].check(name)


@pytest.mark.parametrize("name", SPATIAL)
def test_pairs_of_pixels_walk_every_window(name: str) -> None:
    SPATIAL_LAYERS.check(name)


@pytest.mark.parametrize("name", NUMBERS)
def test_all_scales_and_activations_equal_the_meaning(name: str) -> None:
    NUMBER_LAYERS.check(name)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", MATRICES)
def test_rows_of_bytes_equal_the_meaning_on_both_instruction_sets(name: str, core: str) -> None:
    MATRIX_LAYERS[core].check(name)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", POINTWISE)
def test_pixels_of_a_convolution_are_rows(name: str, core: str) -> None:
    POINTWISE_LAYERS[core].check(name)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("depth", [28, 29, 31, 32, 36])
def test_a_group_at_its_bound_stays_within_its_half_word(depth: int, core: str) -> None:
    """Sums of magnitudes up to 256, of which a group keeps 255; inputs at both of their ends."""
    layer = four_bits({"": Case((1, 1, 2, depth), 6, (1, 1), weights=-8, out_scale=40.0)})[""]
    inputs = [[np.full((1, 1, 2, depth), value, np.int8)] for value in (-128, 127)]
    for variant in (PAIRS, ROWS):
        check_forced(conv(layer), variant, core, inputs)


@pytest.mark.parametrize("variant", [PAIRS, ROWS])
@pytest.mark.parametrize("weight", [-9, 8])
def test_one_weight_of_more_bits_leaves_the_layer_to_others(weight: int, variant: str) -> None:
    layer = Case((1, 2, 2, 16), 8, (1, 1), weights=weight)
    assert variant not in variants_of(compile_forced(conv(layer), variant, "cortex-m0plus"))


def test_pixels_apart_stay_with_the_kernel_of_windows() -> None:
    layer = Case((1, 4, 4, 8), 5, (1, 1), (2, 2), weights_type="int4")
    assert variants_of(compile_forced(conv(layer), ROWS, "generic")) != {ROWS}
    assert variants_of(compile_forced(conv(layer), PAIRS, "generic")) == {PAIRS}


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m33", "cortex-m55"])
def test_cores_with_the_instructions_have_kernels_of_their_own(core: str) -> None:
    layer = Case((1, 2, 2, 16), 8, (1, 1), weights_type="int4")
    assert PAIRS not in variants_of(compile_forced(conv(layer), PAIRS, core))


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
    layer = Case((1, 6, 6, 32), 32, (3, 3), padding="SAME", weights_type="int4", out_scale=2.0)
    row = dense_model(Dense(1, 256, 64, weights_type="int4"))
    pairs = ((conv(layer), PAIRS, "conv_2d.pairs_nodsp"), (row, ROWS, "dense.direct_nodsp"))
    for model, own, other in pairs:
        taken, compared = (
            check_forced(model, name, core, counts_cycles=True).cycles for name in (own, other)
        )
        assert taken is not None
        assert compared is not None
        assert taken <= most * compared, (own, taken, compared)
