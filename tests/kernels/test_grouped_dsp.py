"""Grouped convolutions: groups of every size, all windows, and that they need no loop for one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernels.test_compact_dsp import conv, conv_of_scale
from tests.kernels.test_pointwise_dsp import NUMBERS
from tests.ops.test_convolution import SPATIAL, Case
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

NAME = "conv_2d.grouped_dsp"
GROUPS = {
    f"{groups} groups, {depth} by {outputs}": Case(
        (1, 4, 5, groups * depth), groups * outputs, (3, 3), padding="SAME", groups=groups
    )
    for groups, depth, outputs in ((2, 1, 1), (2, 4, 4), (3, 2, 5), (2, 3, 9), (5, 5, 2), (4, 8, 8))
} | {
    "1x1": Case((1, 3, 5, 8), 12, (1, 1), groups=4),
    "one pixel": Case((1, 3, 3, 8), 8, (3, 3), groups=2),
    "two batches": Case((2, 3, 3, 4), 8, (2, 2), padding="SAME", groups=2),
    "relu6": Case((1, 4, 4, 4), 8, (2, 2), activation="RELU6", out_scale=0.04, groups=2),
    "input zero point 127": Case((1, 5, 5, 4), 4, (3, 3), padding="SAME", zero_point=127, groups=2),
    "all weights -128": Case((1, 4, 3, 6), 8, (3, 3), weights=-128, groups=2),
    "a scale for all": Case((1, 4, 3, 4), 8, (3, 3), per_channel=False, groups=2),
}
#: The windows that any convolution may have, in two groups.
WINDOWS = {name: replace(case, groups=2) for name, case in SPATIAL.items()}
#: 1x1 layers of all scales and zero points, with windows and groups of two.
SCALES = {
    name: replace(case, kernel=(1, 2), padding="SAME", groups=2)
    for name, case in NUMBERS.items()
    if case.shape[3] % 2 == case.depth_out % 2 == 0
}
LAYERS = ForcedLayers(NAME, {**GROUPS, **WINDOWS}, conv_of_scale)
SCALED_LAYERS = ForcedLayers(NAME, SCALES, conv, count=3)


@pytest.mark.arm
@pytest.mark.parametrize("name", {**GROUPS, **WINDOWS})
def test_every_group_and_window_is_computed_as_it_is_meant(name: str) -> None:
    LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", SCALES)
def test_every_number_is_computed_as_it_is_meant(name: str) -> None:
    SCALED_LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("core_name", ["cortex-m7", "cortex-m33"])
def test_other_cores_with_the_instructions_compute_the_same(core_name: str) -> None:
    check_forced(conv(GROUPS["3 groups, 2 by 5"]), NAME, core_name)


def test_convolutions_without_groups_are_left_to_others() -> None:
    whole = replace(GROUPS["4 groups, 8 by 8"], groups=1)
    assert NAME not in variants_of(compile_forced(conv(whole), NAME, "cortex-m4"))
