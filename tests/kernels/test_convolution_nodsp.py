"""Convolutions without DSP instructions, on a computer and on the instructions of both cores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.kernels.nodsp.pixel_pairs import GROUP_WORDS, pack_pairs
from tests.ops.test_convolution import NUMBERS, SPATIAL, Case, conv_model
from tests.support.forced_layers import ForcedLayers

CONV, DEPTHWISE = "conv_2d.pairs_nodsp", "depthwise_conv_2d.taps_nodsp"
CORES = ("cortex-m0plus", "cortex-m3")

SHAPES = {
    "one tap": Case((1, 1, 1, 1), 1, (1, 1)),
    "three taps, three outputs": Case((1, 3, 3, 3), 3, (1, 1)),
    "four taps, two outputs": Case((1, 2, 2, 4), 2, (1, 1)),
    "five taps, one output": Case((1, 3, 5, 5), 1, (1, 1)),
    "eight taps, one pixel": Case((1, 1, 1, 8), 6, (1, 1)),
    "thirteen taps, odd pixels": Case((1, 3, 3, 13), 5, (1, 1)),
    "groups across rows of the window": Case((1, 5, 7, 3), 4, (3, 3), padding="SAME"),
    "a long column": Case((1, 21, 10, 1), 8, (10, 4), (2, 2), padding="SAME"),
}
FORMS = {
    "narrow": Case((1, 4, 5, 12), 7, (3, 3), padding="SAME", out_zero_point=-128, out_scale=4.0),
    "narrow, relu6": Case(
        (1, 4, 5, 12), 7, (3, 3), padding="SAME", out_zero_point=-100, activation="RELU6",
        out_scale=0.04,
    ),
    "mirrored": Case((1, 4, 5, 12), 7, (3, 3), padding="SAME", out_zero_point=17, out_scale=4.0),
    "mirrored, saturated": Case((1, 4, 5, 12), 7, (3, 3), out_zero_point=-50, out_scale=0.1),
    "mirrored, a single scale": Case(
        (1, 4, 5, 12), 7, (3, 3), per_channel=False, out_zero_point=-1, out_scale=4.0
    ),
    "mirrored, nothing but 127": Case(
        (1, 4, 5, 12), 7, (3, 3), weights=0, out_zero_point=127, out_scale=1e-5
    ),
    "literal": Case(
        (1, 4, 5, 12), 7, (3, 3), padding="SAME", activation="RELU_N1_TO_1", out_zero_point=17,
        out_scale=0.05,
    ),
    "weights all -128": Case((1, 4, 5, 12), 7, (3, 3), weights=-128, out_scale=90.0),
    "weights all 127": Case((1, 4, 5, 12), 7, (3, 3), weights=127, out_scale=90.0),
}  # fmt: skip


DEPTHWISE_SHAPES = {
    "one tap, one channel": Case((1, 2, 3, 1), 1, (1, 1)),
    "nine taps, seven channels": Case((1, 4, 5, 7), 7, (3, 3), padding="SAME"),
    "multiplier 5": Case((1, 4, 4, 3), 15, (3, 3), padding="SAME"),
    "two channels to sixteen": Case((1, 6, 5, 2), 16, (3, 3), (2, 2), padding="SAME"),
    "twenty taps": Case((1, 24, 1, 5), 5, (20, 1)),
    "twenty-one taps": Case((1, 24, 1, 5), 5, (21, 1)),
    "5x5": Case((1, 6, 7, 9), 9, (5, 5), padding="SAME"),
    "as many taps as are unrolled": Case((1, 9, 5, 2), 2, (8, 4)),
    "two rows of five": Case((1, 5, 9, 4), 4, (2, 5), padding="SAME"),
}


def _depthwise(case: Case) -> Case:
    return replace(case, depth_out=case.shape[3])


def conv(case: Case) -> bytes:
    return conv_model("CONV_2D", case)


def depthwise(case: Case) -> bytes:
    return conv_model("DEPTHWISE_CONV_2D", case)


PAIRS = {**SHAPES, **FORMS}
UNROLLED = {**DEPTHWISE_SHAPES, **{name: _depthwise(case) for name, case in FORMS.items()}}
PAIR_LAYERS = {core: ForcedLayers(CONV, PAIRS, conv, core, count=2) for core in CORES}
WINDOW_LAYERS = ForcedLayers(CONV, SPATIAL, conv, "cortex-m0plus")
TAP_LAYERS = {core: ForcedLayers(DEPTHWISE, UNROLLED, depthwise, core, count=2) for core in CORES}
NUMBER_LAYERS = {
    "CONV_2D": ForcedLayers(CONV, NUMBERS, conv, "generic"),
    "DEPTHWISE_CONV_2D": ForcedLayers(DEPTHWISE, NUMBERS, depthwise, "generic"),
}


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("case", PAIRS)
def test_pairs_of_pixels_equal_the_meaning_on_both_instruction_sets(case: str, core: str) -> None:
    PAIR_LAYERS[core].check(case)


@pytest.mark.parametrize("case", SPATIAL)
def test_pairs_of_pixels_walk_every_window(case: str) -> None:
    WINDOW_LAYERS.check(case)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("case", UNROLLED)
def test_unrolled_taps_equal_the_meaning_on_both_instruction_sets(case: str, core: str) -> None:
    TAP_LAYERS[core].check(case)


@pytest.mark.parametrize("kind", NUMBER_LAYERS)
@pytest.mark.parametrize("case", NUMBERS)
def test_all_scales_and_activations_equal_the_meaning(case: str, kind: str) -> None:
    NUMBER_LAYERS[kind].check(case)


@pytest.mark.parametrize("taps", [1, 4, 5, 9])
def test_packed_groups_stay_in_sixteen_bits_and_extras_make_up_for_them(taps: int) -> None:
    weights = np.random.default_rng(taps).choice([-128, -100, 3, 127], (5, taps))
    packed = pack_pairs(weights.astype(np.int8))
    pairs, groups = packed.stream.shape[:2]
    kept = packed.stream.astype(np.int64) - 128
    assert np.abs(kept).sum(axis=2).max() <= 255
    whole = kept.transpose(0, 3, 1, 2).reshape(2 * pairs, 4 * groups)
    for extra in packed.extras.view(np.uint32):
        group, tap = divmod(int(extra) >> 20, GROUP_WORDS)
        output = int(extra) >> 8 & 0xFFF
        whole[output, 4 * group + tap - 1] += (int(extra) & 0xFF ^ 0x80) - 0x80
    assert (whole[:5, :taps] == weights).all()
    assert not whole[5:].any()
    assert not whole[:, taps:].any()
