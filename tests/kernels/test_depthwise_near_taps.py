"""depthwise_conv_2d.near_taps_dsp: distances built in, no scratch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glowmcu.compilation import Options
from glowmcu.cores import core
from glowmcu.kernels.kernel import Target, load_kernels, site_of
from glowmcu.ops.convolution import DepthwiseConv2D
from glowmcu.pipeline import compile_model
from tests.kernels.test_depthwise_dsp import EPILOGUES, epilogue
from tests.ops.test_convolution import Case, conv_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import compile_forced

NAME = "depthwise_conv_2d.near_taps_dsp"


def column(taps: int, outputs: int, channels: int) -> Case:
    return Case((1, taps + outputs - 1, 1, channels), channels, (taps, 1), out_scale=2.0)


WINDOWS = {
    **{f"{taps} taps": column(taps, 3, 8) for taps in (1, 2, 3, 4, 31, 32)},
    **{f"{channels} channels": column(3, 2, channels) for channels in (4, 5, 6, 7, 8, 9, 13)},
    "3x3": Case((1, 5, 7, 6), 6, (3, 3), out_scale=2.0),
    "2x5, strides 2 and 3": Case((1, 7, 12, 5), 5, (2, 5), (2, 3), out_scale=2.0),
    "3x2, dilations 2 and 3": Case((1, 9, 9, 4), 4, (3, 2), dilations=(2, 3), out_scale=2.0),
    "batch of two": Case((2, 4, 5, 5), 5, (2, 2), out_scale=2.0),
}
BASE = Case((1, 5, 4, 7), 7, (3, 2), out_scale=2.0)
NUMBERS = {
    "floor": replace(BASE, out_zero_point=-128),
    "floor, narrow clamp": replace(BASE, out_zero_point=-128, activation="RELU6", out_scale=0.06),
    "literal": replace(BASE, out_zero_point=5),
    "literal, narrow clamp": replace(BASE, activation="RELU"),
    "input zero point 127": replace(BASE, zero_point=127),
    "weights all -128": replace(BASE, weights=-128, out_scale=9.0),
    "weights all 127": replace(BASE, weights=127, out_scale=9.0),
    "weights all 0": replace(BASE, weights=0),
    "outputs that saturate": replace(BASE, out_scale=0.01),
    "large biases": replace(BASE, scale=1e-5, out_scale=1e-4),
}


def depthwise(case: Case) -> bytes:
    return conv_model("DEPTHWISE_CONV_2D", case)


WINDOW_LAYERS = ForcedLayers(NAME, WINDOWS, depthwise)
NUMBER_LAYERS = ForcedLayers(NAME, NUMBERS, depthwise)


@pytest.mark.arm
@pytest.mark.parametrize("name", WINDOWS)
def test_near_taps_compute_what_the_layer_means(name: str) -> None:
    WINDOW_LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", NUMBERS)
def test_all_numbers_come_out_of_near_taps_exactly(name: str) -> None:
    NUMBER_LAYERS.check(name)


def function(case: Case) -> str:
    done = compile_forced(conv_model("DEPTHWISE_CONV_2D", case), NAME, "cortex-m4")
    (selection,) = done.selections.values()
    assert selection.kernel_name == NAME
    return selection.code.function


def test_the_numbers_reach_every_epilogue() -> None:
    names = {epilogue(function(case)) for case in NUMBERS.values()}
    assert names >= EPILOGUES, names


#: Windows of which no two may share a function: their taps lie differently.
APART = (
    Case((1, 9, 1, 8), 8, (3, 1)),
    Case((1, 9, 2, 8), 8, (3, 1)),
    Case((1, 9, 1, 8), 8, (3, 1), dilations=(3, 1)),
    Case((1, 9, 1, 8), 8, (4, 1)),
    Case((1, 9, 8, 8), 8, (1, 3)),
    Case((1, 9, 8, 8), 8, (3, 3)),
    Case((1, 9, 9, 8), 8, (3, 3)),
    Case((1, 9, 8, 8), 8, (3, 3), dilations=(2, 1)),
    Case((1, 9, 8, 8), 8, (3, 3), dilations=(1, 2)),
)


def test_windows_whose_taps_lie_differently_have_functions_of_their_own() -> None:
    names = [function(replace(case, out_scale=2.0)) for case in APART]
    assert len(set(names)) == len(names), names


def accepted(case: Case, core_name: str = "cortex-m4") -> bool:
    data = conv_model("DEPTHWISE_CONV_2D", replace(case, out_scale=2.0))
    graph = compile_model(data, "m.tflite", Options("m", simplify=False)).graph
    (node,) = (node for node in graph.nodes if isinstance(node.op, DepthwiseConv2D))
    (variant,) = (k for k in load_kernels()[DepthwiseConv2D] if k.name == NAME)
    return variant.accepts(site_of(graph, node), Target(core(core_name)))


OTHERS = {
    "padding": replace(BASE, padding="SAME"),
    "a depth multiplier": replace(BASE, depth_out=14),
    "three channels": Case((1, 5, 4, 3), 3, (3, 2)),
    "33 taps": column(33, 2, 4),
    "a tap 4096 bytes away": Case((1, 3, 1, 2048), 2048, (3, 1)),
}


@pytest.mark.parametrize("case", OTHERS.values(), ids=OTHERS)
def test_other_windows_are_left_to_tables(case: Case) -> None:
    assert not accepted(case)


def test_a_tap_4092_bytes_away_is_near() -> None:
    assert accepted(Case((1, 3, 1, 2044), 2044, (3, 1)))


def test_cores_without_the_instructions_are_not_served() -> None:
    assert accepted(BASE, "cortex-m33")
    assert not accepted(BASE, "cortex-m3")
