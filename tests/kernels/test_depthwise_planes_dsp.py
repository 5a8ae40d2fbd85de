"""depthwise_conv_2d.planes_dsp and .planes_unrolled_dsp: rows above, inside and below the image."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glowmcu.kernels.kernel import load_kernels
from glowmcu.ops.convolution import DepthwiseConv2D
from tests.kernels.test_depthwise_dsp import (
    BASE,
    EPILOGUES,
    NUMBER_CASES,
    accepted,
    epilogue,
    functions,
)
from tests.kernels.test_depthwise_row_dsp import CASES, same
from tests.ops.test_convolution import Case, conv_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced

PLANES, UNROLLED = "depthwise_conv_2d.planes_dsp", "depthwise_conv_2d.planes_unrolled_dsp"
WIDE = replace(BASE, shape=(1, 6, 11, 6))
STRAIGHT = {
    **{f"{width} columns": same(3, width) for width in (1, 2, 3, 7)},
    **{f"{width} columns, stride 2": same(4, width, 3, 2) for width in (1, 2, 3, 8)},
    **{
        name: case
        for name, case in (CASES | NUMBER_CASES).items()
        if "columns" not in name and not name.startswith("outputs")
    },
}
LOOPED = {
    **{f"{width} columns": same(3, width) for width in (7, 8, 9)},
    **{f"{width} columns, stride 2": same(4, width, 3, 2) for width in (9, 10)},
    "two rows": same(2, 8),
    "two rows, stride 2": same(2, 10, 3, 2),
    "five rows, stride 2": same(5, 10, 3, 2),
    "no padding": CASES["no padding"],
    "strides 2 and 1": CASES["strides 2 and 1"],
    "strides 7 and 2": replace(CASES["strides 7 and 2"], shape=(1, 20, 19, 3)),
    "batch of two": replace(same(5, 9), shape=(2, 5, 9, 3)),
    "multiplier 2": replace(same(5, 9), depth_out=6),
    "multiplier 5, stride 2": replace(same(5, 10, 3, 2), depth_out=15),
    **{
        f"{name}, eleven columns": replace(case, shape=WIDE.shape)
        for name, case in NUMBER_CASES.items()
        if name in ("floor", "literal", "literal, narrow clamp")
    },
}


def depthwise(case: Case) -> bytes:
    return conv_model("DEPTHWISE_CONV_2D", case)


STRAIGHT_LAYERS = ForcedLayers(UNROLLED, STRAIGHT, depthwise)
LOOPED_LAYERS = ForcedLayers(PLANES, LOOPED, depthwise)


@pytest.mark.arm
@pytest.mark.parametrize("name", STRAIGHT)
def test_unrolled_planes_compute_what_the_layer_means(name: str) -> None:
    STRAIGHT_LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", LOOPED)
def test_planes_with_loops_compute_what_the_layer_means(name: str) -> None:
    LOOPED_LAYERS.check(name)


def test_the_cases_reach_every_epilogue_of_planes() -> None:
    names = {epilogue(name) for name in functions(UNROLLED)}
    assert names >= EPILOGUES, names


TAKEN = {
    "rows with a loop": (WIDE, {PLANES, UNROLLED}),
    "rows too short for a loop": (same(5, 5), {UNROLLED}),
    "64 columns": (same(3, 64), {PLANES, UNROLLED}),
    "more columns": (same(3, 65), {PLANES}),
    "columns beyond the reach of offsets": (same(4, 30, 60), {PLANES}),
    "rows beyond the reach of offsets": (same(4, 30, 90), set()),
    "steps beyond the reach of additions": (replace(same(20, 30, 30), strides=(5, 1)), set()),
    "two rows outside the image": (replace(WIDE, shape=(2, 1, *WIDE.shape[2:])), set()),
    "stride 3": (replace(WIDE, strides=(3, 3)), set()),
}


@pytest.mark.parametrize(("case", "taken"), TAKEN.values(), ids=TAKEN)
def test_planes_are_for_3x3_within_reach(case: Case, taken: set[str]) -> None:
    assert accepted(case, "cortex-m4") & {PLANES, UNROLLED} == taken
    assert not accepted(case, "cortex-m3") & {PLANES, UNROLLED}


IN_PLACE = {
    "stride 2, even": (same(8, 8, 4, 2), True),
    "stride 2, odd": (same(9, 9, 4, 2), True),
    "stride 1": (same(8, 8, 4), False),
    "stride 1, no padding": (Case((1, 9, 11, 4), 4, (3, 3), out_scale=2.0), True),
}


@pytest.mark.parametrize(("case", "in_place"), IN_PLACE.values(), ids=IN_PLACE)
def test_results_take_the_place_of_images_that_no_window_comes_back_to(
    case: Case, in_place: bool
) -> None:
    data = conv_model("DEPTHWISE_CONV_2D", case)
    (chosen,) = compile_forced(data, UNROLLED, "cortex-m4").selections.values()
    overlap = chosen.overlaps.get(0)
    assert (overlap is not None and overlap.is_kept(0)) is in_place
    assert overlap is None or not overlap.is_kept(1000)


@pytest.mark.arm
def test_planes_of_short_rows_take_less_than_19_cycles_an_output() -> None:
    data = conv_model("DEPTHWISE_CONV_2D", replace(same(6, 6, 64), out_zero_point=-128))
    cycles = check_forced(data, UNROLLED, counts_cycles=True).cycles
    assert cycles is not None
    assert cycles < 19 * 6 * 6 * 64


@pytest.mark.parametrize("case", [WIDE, same(12, 12, 9)], ids=["6x11", "12x12"])
def test_a_loop_is_less_code_and_no_loop_less_time(case: Case) -> None:
    compilation = compile_forced(conv_model("DEPTHWISE_CONV_2D", case), PLANES, "cortex-m4")
    (chosen,) = compilation.selections.values()
    assert chosen.site is not None
    assert chosen.target is not None
    variants = {variant.name: variant for variant in load_kernels()[DepthwiseConv2D]}
    looped, unrolled = (
        variants[name].calibrated_cost(chosen.site, chosen.target) for name in (PLANES, UNROLLED)
    )
    assert looped.code_bytes < unrolled.code_bytes
    assert looped.cycles > unrolled.cycles
