"""Depthwise windows along one axis on Armv6-M: on a computer and a modelled Cortex-M0+."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.cores import core
from glowmcu.kernels.kernel import Site, Target, site_of
from glowmcu.kernels.nodsp.depthwise_sequence import SequenceDepthwiseConv2D
from glowmcu.ops.convolution import DepthwiseConv2D
from glowmcu.pipeline import compile_model
from tests.ops.test_convolution import Case, conv_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced

NAME = "depthwise_conv_2d.sequence_nodsp"


def _down(steps: int, channels: int, taps: int, padding: str = "VALID") -> Case:
    return Case(
        (1, steps, 1, channels), channels, (taps, 1), padding=padding, out_scale=0.6,
        least_weight=-127,
    )  # fmt: skip


def _along(steps: int, channels: int, taps: int, padding: str = "VALID") -> Case:
    down = _down(steps, channels, taps, padding)
    return replace(down, shape=(1, 1, steps, channels), kernel=(1, taps))


CASES = {
    "two taps, one result, one channel": _down(2, 1, 2),
    "two taps, two results": _down(3, 3, 2),
    "three taps, odd results": _down(9, 5, 3),
    "three taps, even elements": _down(8, 4, 3),
    "five taps": _down(28, 17, 5),
    "ten taps along a row": _along(24, 12, 10),
    "sixteen taps, which a condition reaches": _down(20, 3, 16),
    "seventeen taps, which none reaches": _down(20, 3, 17),
    "as many taps as are unrolled": _down(39, 2, 32),
    "as many elements as taps": _down(6, 7, 6),
    "padded at both ends": _down(9, 4, 5, "SAME"),
    "padded behind alone": _down(9, 4, 2, "SAME"),
    "padded along a row": _along(10, 6, 7, "SAME"),
    "more taps than elements": _down(3, 4, 8, "SAME"),
    "one element, padded": _along(1, 3, 4, "SAME"),
    "wide pixels": _along(7, 130, 3),
    "two images": replace(_down(7, 3, 3), shape=(2, 7, 1, 3)),
    "strides and dilations across": replace(_down(12, 3, 3), strides=(1, 1), dilations=(1, 2)),
    "narrow": replace(_down(12, 6, 4), out_zero_point=-128),
    "relu6": replace(_down(12, 6, 4), activation="RELU6", out_zero_point=-100, out_scale=0.1),
    "between -1 and 1": replace(_down(12, 6, 4), activation="RELU_N1_TO_1", out_scale=0.15),
    "zero points at both ends": replace(_down(12, 6, 4), zero_point=127, out_zero_point=127),
    "the least zero points": replace(_down(12, 6, 4), zero_point=-128, out_zero_point=-127),
    "saturated": replace(_down(12, 6, 5), out_scale=0.12),
    "nothing but 9": replace(_down(12, 6, 5), weights=0, bias=False),
    "weights all 127": replace(_down(12, 6, 5), weights=127, out_scale=4.0),
    "weights all -127": replace(_down(13, 6, 5), weights=-127, out_scale=4.0, zero_point=-128),
    "a single scale": replace(_down(12, 6, 5), per_channel=False),
    "four bits": replace(_down(12, 6, 5), weights_type="int4", out_scale=0.2),
}
REFUSED = {
    "one tap": _down(4, 3, 1),
    "more taps than are unrolled": _down(40, 3, 33),
    "two columns": replace(_down(9, 3, 3), shape=(1, 9, 2, 3)),
    "a square window": replace(_down(9, 3, 3), shape=(1, 9, 9, 3), kernel=(3, 3)),
    "stride 2": replace(_down(9, 3, 3), strides=(2, 2)),
    "dilation 2": replace(_down(9, 3, 3), dilations=(2, 1)),
    "two results a channel": replace(_down(9, 3, 3), depth_out=6),
    "two neighbours of -128": replace(_down(9, 3, 3), weights=-128),
    "a scale above 1/32": replace(_down(9, 3, 3), out_scale=0.06),
}


def _model(case: Case) -> bytes:
    return conv_model("DEPTHWISE_CONV_2D", case)


LAYERS = ForcedLayers(NAME, CASES, _model, "cortex-m0plus", count=3)


@pytest.mark.parametrize("case", CASES)
def test_a_channel_after_another_equals_the_meaning(case: str) -> None:
    LAYERS.check(case)


@pytest.mark.parametrize("case", REFUSED)
def test_other_layers_are_left_to_other_kernels(case: str) -> None:
    assert not _accepts(REFUSED[case], "cortex-m0plus")


def test_only_armv6m_takes_it() -> None:
    assert _accepts(CASES["five taps"], "cortex-m0")
    assert not _accepts(CASES["five taps"], "cortex-m3")


@pytest.mark.parametrize("weight", [-127, 127])
def test_lower_halves_stay_inside_16_bits(weight: int) -> None:
    case = replace(_down(9, 2, 4), weights=weight, out_scale=4.0)
    inputs = [[np.full((1, 9, 1, 2), value, np.int8)] for value in (-128, 127)]
    check_forced(_model(case), NAME, "cortex-m0plus", inputs)


def test_ten_taps_take_fewer_than_nine_cycles_a_product() -> None:
    measured = check_forced(_model(_down(24, 64, 10)), NAME, "cortex-m0plus", counts_cycles=True)
    assert measured.cycles is not None
    assert measured.cycles < 9 * 10 * 15 * 64


def _site(case: Case) -> Site:
    graph = compile_model(_model(case), "m.tflite", Options("m", simplify=False)).graph
    (node,) = (node for node in graph.nodes if isinstance(node.op, DepthwiseConv2D))
    return site_of(graph, node)


def _accepts(case: Case, core_name: str) -> bool:
    return SequenceDepthwiseConv2D().accepts(_site(case), Target(core(core_name)))
