"""conv_2d.winograd_dsp: tiles at all edges, all requantization forms, on a computer and a core."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.cores import core
from glowmcu.goals import Goal
from glowmcu.ir.graph import Graph, Node
from glowmcu.kernels.dsp.convolution.winograd import transformed
from glowmcu.kernels.kernel import Target, load_kernels, site_of
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.ops.convolution import Conv2D
from glowmcu.pipeline import compile_model
from tests.ops.test_convolution import Case, conv_model
from tests.support.forced_layers import ForcedLayers

NAME = "conv_2d.winograd_dsp"
CORE = "cortex-m4"
PLAIN = Case((1, 8, 8, 8), 8, (3, 3), padding="SAME", out_scale=4.0)

CASES = {
    "whole tiles": PLAIN,
    "no padding": replace(PLAIN, padding="VALID"),
    "one pixel": replace(PLAIN, shape=(1, 1, 1, 8)),
    "one tile": replace(PLAIN, shape=(1, 2, 2, 8)),
    "a tile and a column": replace(PLAIN, shape=(1, 3, 3, 8)),
    "two tiles and a column": replace(PLAIN, shape=(1, 5, 5, 8)),
    "three tiles": replace(PLAIN, shape=(1, 6, 6, 8)),
    "odd rows, even columns": replace(PLAIN, shape=(1, 7, 12, 4)),
    "thirteen columns": replace(PLAIN, shape=(1, 4, 13, 4)),
    "batch of three": replace(PLAIN, shape=(3, 4, 4, 4)),
    "four channels": replace(PLAIN, shape=(1, 4, 4, 4), depth_out=4),
    "forty channels": replace(PLAIN, shape=(1, 4, 4, 40), out_scale=9.0),
    "sixty-four channels": replace(PLAIN, shape=(1, 3, 4, 64), out_scale=12.0),
    "five channels out": replace(PLAIN, depth_out=5),
    "eleven channels out": replace(PLAIN, depth_out=11),
    "floor": replace(PLAIN, out_zero_point=-128),
    "floor, narrow activation": replace(PLAIN, out_zero_point=-100, activation="RELU6"),
    "zero points at both ends": replace(PLAIN, zero_point=127, out_zero_point=-128),
    "weights all -128": replace(PLAIN, weights=-128, out_scale=40.0),
    "weights all 127": replace(PLAIN, weights=127, out_scale=40.0),
    "scales that vanish": replace(PLAIN, out_scale=900.0),
    "a literal form": Case((1, 4, 5, 40), 12, (3, 3), padding="SAME"),
}
REFUSED = {
    "stride 2": replace(PLAIN, strides=(2, 2)),
    "dilation 2": replace(PLAIN, dilations=(2, 2), padding="VALID"),
    "another kernel": replace(PLAIN, kernel=(3, 2)),
    "six channels": replace(PLAIN, shape=(1, 4, 4, 6)),
    "more channels than one straight line takes": replace(PLAIN, shape=(1, 3, 3, 68)),
    "three channels out": replace(PLAIN, depth_out=3),
    "two groups": replace(PLAIN, groups=2),
}


def conv_node(graph: Graph) -> Node:
    (node,) = (node for node in graph.nodes if isinstance(node.op, Conv2D))
    return node


def compiled(case: Case) -> Compilation:
    choices = KernelChoices(forced_variant=NAME)
    options = Options("m", core=CORE, kernels=choices, simplify=False)
    done = compile_model(conv_model("CONV_2D", case), "m.tflite", options)
    assert done.selections[conv_node(done.graph)].kernel_name == NAME
    return done


def accepted(case: Case, core_name: str = CORE) -> bool:
    options = Options("m", simplify=False)
    graph = compile_model(conv_model("CONV_2D", case), "m.tflite", options).graph
    (variant,) = (k for k in load_kernels()[Conv2D] if k.name == NAME)
    return variant.accepts(site_of(graph, conv_node(graph)), Target(core(core_name)))


LAYERS = ForcedLayers(NAME, CASES, lambda case: conv_model("CONV_2D", case), CORE, count=2)


@pytest.mark.parametrize("name", CASES)
def test_the_portable_branch_computes_what_the_layer_means(name: str) -> None:
    LAYERS.check_on_host(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", CASES)
def test_the_assembly_computes_what_the_layer_means(name: str) -> None:
    LAYERS.check_on_core(name)


def test_all_forms_are_among_the_cases() -> None:
    nodes = ((done, conv_node(done.graph)) for done in map(compiled, CASES.values()))
    names = " ".join(done.selections[node].code.function for done, node in nodes)
    for form in ("floor", "two-sided", "literal"):
        assert form in names


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_other_convolutions_are_left_to_others(case: Case) -> None:
    assert not accepted(case)


def test_cores_without_the_instructions_are_not_served() -> None:
    assert accepted(PLAIN, "cortex-m7")
    assert not accepted(PLAIN, "cortex-m3")


def test_extreme_weights_stay_within_sixteen_bits() -> None:
    weights = np.full((2, 3, 3, 4), -128, np.int64)
    weights[1, ::2, ::2], weights[1, 1, 1] = 127, 127
    assert np.abs(transformed(weights)).max() == 9 * 128


def test_speed_takes_it() -> None:
    data = conv_model("CONV_2D", replace(PLAIN, shape=(1, 16, 16, 32), depth_out=32))
    done = compile_model(data, "m.tflite", Options("m", core=CORE, goal=Goal.SPEED))
    assert done.selections[conv_node(done.graph)].kernel_name == NAME
