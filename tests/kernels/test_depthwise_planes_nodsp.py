"""Depthwise 3x3 on Armv6-M, two rows of a channel at a time: on a computer and a modelled M0+."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glowmcu.compilation import Options
from glowmcu.cores import core
from glowmcu.kernels.kernel import Site, Target, site_of
from glowmcu.kernels.nodsp.depthwise_planes import (
    PlanesDepthwiseConv2D,
    StepPlanesDepthwiseConv2D,
    scales_of,
)
from glowmcu.ops.convolution import DepthwiseConv2D
from glowmcu.pipeline import compile_model
from tests.ops.test_convolution import Case, conv_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced

PLANES, STEP = "depthwise_conv_2d.planes_nodsp", "depthwise_conv_2d.planes_step_nodsp"


def _case(rows: int, columns: int, channels: int) -> Case:
    return Case(
        (1, rows, columns, channels), channels, (3, 3), padding="SAME", out_zero_point=-128,
        out_scale=4.0, least_weight=-127,
    )  # fmt: skip


def _step(rows: int, columns: int, channels: int) -> Case:
    return replace(_case(rows, columns, channels), strides=(2, 2))


CASES = {
    "two rows, three columns, one channel": _case(2, 3, 1),
    "two rows of four": _case(2, 4, 3),
    "three rows": _case(3, 3, 5),
    "four rows": _case(4, 6, 2),
    "long rows": _case(5, 17, 4),
    "wide pixels": _case(3, 3, 65),
    "relu6": replace(_case(4, 5, 7), activation="RELU6", out_zero_point=-100, out_scale=0.1),
    "saturated": replace(_case(5, 5, 3), out_scale=0.12),
    "weights all 127": replace(_case(4, 5, 12), weights=127, out_scale=90.0),
    "weights all -127": replace(_case(4, 5, 12), weights=-127, out_scale=90.0),
    "two images": replace(_case(4, 5, 3), shape=(2, 4, 5, 3)),
    "small weights, twice": replace(_case(4, 5, 9), weights=-60, out_scale=0.06),
    "four bits, eight times": replace(_case(4, 5, 9), weights_type="int4", out_scale=0.02),
    "four bits, sixteen times": replace(_case(5, 4, 3), weights=7, out_scale=0.008),
}
STEPS = {
    "one result": _step(2, 2, 1),
    "one row of results": _step(2, 6, 3),
    "two rows of results": _step(4, 4, 5),
    "three rows of results": _step(6, 6, 3),
    "long rows": _step(8, 22, 4),
    "wide pixels": _step(6, 4, 65),
    "relu6": replace(_step(6, 6, 7), activation="RELU6", out_zero_point=-100, out_scale=0.1),
    "saturated": replace(_step(6, 6, 3), out_scale=0.12),
    "weights all 127": replace(_step(6, 6, 12), weights=127, out_scale=90.0),
    "weights all -127": replace(_step(6, 6, 12), weights=-127, out_scale=90.0),
    "two images": replace(_step(4, 6, 3), shape=(2, 4, 6, 3)),
    "four bits, eight times": replace(_step(6, 8, 9), weights_type="int4", out_scale=0.02),
}
REFUSED = {
    "two columns": _case(4, 2, 3),
    "two weights of -128 in a column": replace(_case(4, 5, 3), weights=-128),
    "stride 2 of an odd size": _step(4, 7, 3),
    "stride 2 along rows alone": replace(_case(4, 6, 3), strides=(1, 2)),
    "stride 2 without padding": replace(_step(4, 6, 3), padding="VALID"),
    "dilation 2": replace(_case(4, 6, 3), dilations=(2, 2)),
    "no padding": replace(_case(4, 6, 3), padding="VALID"),
    "two results a channel": replace(_case(4, 6, 3), depth_out=6),
    "a window of five": replace(_case(4, 6, 3), kernel=(5, 5)),
    "a scale above 1/32": replace(_case(4, 6, 3), out_scale=0.06),
    "a scale above 1/2": replace(_case(4, 6, 3), weights=7, out_scale=0.004),
    "two weights of -8 in a column, a scale above 1/4": replace(
        _case(4, 6, 3), weights=-8, out_scale=0.007
    ),
    "a step at zero": replace(_case(4, 6, 3), out_zero_point=17),
}


def _model(case: Case) -> bytes:
    return conv_model("DEPTHWISE_CONV_2D", case)


LAYERS = ForcedLayers(PLANES, CASES, _model, "cortex-m0plus", count=3)
STEP_LAYERS = ForcedLayers(STEP, STEPS, _model, "cortex-m0plus", count=3)


@pytest.mark.parametrize("case", CASES)
def test_rows_of_a_channel_equal_the_meaning(case: str) -> None:
    LAYERS.check(case)


@pytest.mark.parametrize("case", STEPS)
def test_rows_two_lines_apart_equal_the_meaning(case: str) -> None:
    STEP_LAYERS.check(case)


@pytest.mark.parametrize("case", REFUSED)
def test_other_layers_are_left_to_other_kernels(case: str) -> None:
    assert not _accepts(REFUSED[case], "cortex-m0plus")


def test_only_armv6m_takes_it() -> None:
    assert _accepts(_case(4, 6, 3), "cortex-m0")
    assert not _accepts(_case(4, 6, 3), "cortex-m3")


@pytest.mark.parametrize(("columns", "most"), [(5, 8.0), (24, 7.0)])
def test_a_product_takes_fewer_than_eight_cycles(columns: int, most: float) -> None:
    assert _cycles(_case(24, columns, 16), PLANES) < most * 9 * 24 * columns * 16


def test_a_product_takes_fewer_than_nine_cycles_with_stride_two() -> None:
    assert _cycles(_step(24, 24, 16), STEP) < 8.5 * 9 * 12 * 12 * 16


def _cycles(case: Case, variant: str) -> int:
    measured = check_forced(_model(case), variant, "cortex-m0plus", counts_cycles=True)
    assert measured.cycles is not None
    return measured.cycles


def _site(case: Case) -> Site:
    graph = compile_model(_model(case), "m.tflite", Options("m", simplify=False)).graph
    (node,) = (node for node in graph.nodes if isinstance(node.op, DepthwiseConv2D))
    return site_of(graph, node)


def _accepts(case: Case, core_name: str) -> bool:
    site, target = _site(case), Target(core(core_name))
    variants = PlanesDepthwiseConv2D(), StepPlanesDepthwiseConv2D()
    return any(variant.accepts(site, target) for variant in variants)


@pytest.mark.parametrize(
    ("case", "shift"),
    [("saturated", 0), ("small weights, twice", 1), ("four bits, eight times", 3),
     ("four bits, sixteen times", 4)],
)  # fmt: skip
def test_small_weights_are_stored_as_many_times_as_the_scale_needs(case: str, shift: int) -> None:
    scales = scales_of(_site(CASES[case]))
    assert scales is not None
    assert scales.weight_shift == shift
