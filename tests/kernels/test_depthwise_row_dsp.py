"""depthwise_conv_2d.row_dsp: edges of its loops and of the image, all epilogues, long rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernels.test_depthwise_dsp import (
    BASE,
    EPILOGUES,
    NUMBER_CASES,
    accepted,
    epilogue,
    functions,
)
from tests.ops.test_convolution import Case, conv_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced

ROW = "depthwise_conv_2d.row_dsp"


def same(height: int, width: int, channels: int = 3, stride: int = 1) -> Case:
    shape = (1, height, width, channels)
    return Case(shape, channels, (3, 3), (stride, stride), padding="SAME", out_scale=2.0)


CASES = {
    **{f"{width} columns": same(3, width) for width in range(1, 13)},
    **{f"{width} columns, stride 2": same(4, width, 3, 2) for width in range(1, 14)},
    **{f"{height} rows": same(height, 4) for height in (2, 3, 4)},
    **{f"{height} rows, stride 2": same(height, 4, 3, 2) for height in (2, 3, 4, 5)},
    "one channel": same(5, 6, 1),
    "thirteen channels": same(4, 5, 13),
    "no padding": Case((1, 9, 11, 4), 4, (3, 3), out_scale=2.0),
    "no padding, stride 2, even": Case((1, 8, 10, 4), 4, (3, 3), (2, 2), out_scale=2.0),
    "one window": Case((1, 3, 3, 4), 4, (3, 3), out_scale=2.0),
    "strides 1 and 2": replace(same(9, 12), strides=(1, 2)),
    "strides 2 and 1": replace(same(9, 12), strides=(2, 1)),
    "strides 7 and 2": replace(same(20, 9), strides=(7, 2)),
    "batch of two": replace(same(5, 6), shape=(2, 5, 6, 3)),
    **{f"multiplier {m}": replace(same(4, 7), depth_out=3 * m) for m in (2, 3, 8)},
    "multiplier 2, stride 2": replace(same(6, 9, 5, 2), depth_out=10),
    "multiplier 4, no padding": Case((1, 5, 12, 4), 16, (3, 3), out_scale=2.0),
    "multiplier 2, batch of two": replace(same(5, 6), shape=(2, 5, 6, 3), depth_out=6),
}
#: Three rows are more than offsets reach.
FAR = {
    "stride 1": same(4, 3, 700),
    "stride 1, loop": same(3, 29, 60),
    "stride 1, loop entered in its middle": same(3, 30, 60),
    "stride 2": same(4, 4, 500, 2),
    "stride 2, loop": same(4, 41, 50, 2),
    "no padding": Case((1, 4, 24, 85), 85, (3, 3), out_scale=2.0),
    "multiplier 2": replace(same(4, 3, 500), depth_out=1000),
    "multiplier 3, stride 2, loop": replace(same(4, 41, 50, 2), depth_out=150),
}


def depthwise(case: Case) -> bytes:
    return conv_model("DEPTHWISE_CONV_2D", case)


SHAPE_LAYERS = ForcedLayers(ROW, CASES, depthwise)
NUMBER_LAYERS = ForcedLayers(ROW, NUMBER_CASES, depthwise)


@pytest.mark.arm
@pytest.mark.parametrize("name", CASES)
def test_rows_compute_what_the_layer_means(name: str) -> None:
    SHAPE_LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", NUMBER_CASES)
def test_all_numbers_come_out_of_rows_exactly(name: str) -> None:
    NUMBER_LAYERS.check(name)


POINTS = {"floor": -128, "literal": 5}
ACTIVATIONS = ("NONE", "RELU_N1_TO_1")
FAR_LAYERS = {
    (point, activation): ForcedLayers(
        ROW,
        {
            name: replace(case, out_zero_point=zero_point, activation=activation, out_scale=0.3)
            for name, case in FAR.items()
        },
        depthwise,
    )
    for point, zero_point in POINTS.items()
    for activation in ACTIVATIONS
}


@pytest.mark.arm
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("name", FAR)
def test_rows_beyond_the_reach_of_offsets_come_out_as_well(
    name: str, point: str, activation: str
) -> None:
    FAR_LAYERS[point, activation].check(name)


def test_the_cases_reach_every_epilogue_of_rows() -> None:
    names = {epilogue(name) for name in functions(ROW)}
    assert names >= EPILOGUES, names


TAKEN = {
    "3x3": (BASE, True),
    "stride 3 from row to row": (replace(BASE, strides=(3, 1)), True),
    "two rows": (same(2, 5), True),
    "one row": (replace(BASE, shape=(2, 1, *BASE.shape[2:])), False),
    "two batches": (replace(BASE, shape=(2, *BASE.shape[1:])), True),
    "stride 3": (replace(BASE, strides=(3, 3)), False),
    "3x2": (replace(BASE, kernel=(3, 2)), False),
    "dilation": (replace(BASE, dilations=(1, 2)), False),
    "multiplier 2": (replace(BASE, depth_out=12), True),
    "multiplier 255": (replace(same(4, 4, 2), depth_out=510), True),
    "multiplier 256": (replace(same(4, 4, 2), depth_out=512), False),
    "rows of 60,000 bytes": (same(3, 60, 1000), True),
    "rows of 70,000 bytes": (same(3, 70, 1000), False),
    "outputs 5,000 bytes apart": (same(3, 4, 5000), False),
}


@pytest.mark.parametrize(("case", "taken"), TAKEN.values(), ids=TAKEN)
def test_rows_are_for_3x3_with_at_most_one_row_outside_the_image(case: Case, taken: bool) -> None:
    assert (ROW in accepted(case, "cortex-m4")) is taken
    assert ROW not in accepted(case, "cortex-m3")


@pytest.mark.arm
def test_rows_need_no_scratch_and_less_than_24_cycles_an_output() -> None:
    data = conv_model("DEPTHWISE_CONV_2D", replace(same(6, 5, 64), out_zero_point=-128))
    (chosen,) = compile_forced(data, ROW, "cortex-m4").selections.values()
    assert chosen.scratch_bytes == 0
    cycles = check_forced(data, ROW, counts_cycles=True).cycles
    assert cycles is not None
    assert cycles < 24 * 6 * 5 * 64
