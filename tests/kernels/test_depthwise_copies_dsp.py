"""depthwise_conv_2d.copies_dsp: windows of every size that it takes, edges, ends of rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glowmcu.kernels.dsp.depthwise.copies_assembly import CopiesShape
from tests.kernels.test_depthwise_dsp import (
    EPILOGUES,
    NUMBER_CASES,
    accepted,
    epilogue,
    functions,
)
from tests.ops.test_convolution import Case, conv_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced

COPIES = "depthwise_conv_2d.copies_dsp"


def same(height: int, width: int, kernel: int = 5, stride: int = 1, channels: int = 3) -> Case:
    return Case(
        (1, height, width, channels), channels, (kernel, kernel), (stride, stride),
        padding="SAME", out_scale=2.0,
    )  # fmt: skip


CASES = {
    **{f"{width} columns": same(3, width) for width in range(1, 10)},
    **{f"{width} columns, stride 2": same(4, width, 5, 2) for width in (*range(1, 12), 15, 16)},
    **{f"{kernel}x{kernel}": same(6, 7, kernel) for kernel in (7, 9)},
    **{f"{kernel}x{kernel}, stride 2": same(9, 10, kernel, 2) for kernel in (7, 9)},
    "windows of one row": Case((1, 3, 30, 4), 4, (1, 9), padding="SAME", out_scale=2.0),
    "three rows and five columns": Case((1, 9, 11, 4), 4, (3, 5), out_scale=2.0),
    "nine rows and five columns": Case((1, 6, 6, 4), 4, (9, 5), padding="SAME", out_scale=2.0),
    "no padding": Case((1, 9, 11, 4), 4, (5, 5), out_scale=2.0),
    "columns that no window reads": Case((1, 8, 14, 4), 4, (5, 7), (2, 2), out_scale=2.0),
    "one window": Case((1, 5, 5, 4), 4, (5, 5), out_scale=2.0),
    "one pixel": same(1, 1, 7),
    "strides 1 and 2": replace(same(7, 9), strides=(1, 2)),
    "strides 3 and 1": replace(same(11, 9), strides=(3, 1)),
    "strides 7 and 2": replace(same(20, 9), strides=(7, 2)),
    "one channel": same(5, 6, channels=1),
    "thirteen channels": same(4, 5, channels=13),
    "batch of two": replace(same(5, 6), shape=(2, 5, 6, 3)),
    "multiplier 2": replace(same(5, 6), depth_out=6),
    "two channels to eight": replace(same(6, 6, 7, 2, channels=2), depth_out=8),
    **{name: replace(case, kernel=(5, 5)) for name, case in NUMBER_CASES.items()},
}  # fmt: skip
LAYERS = ForcedLayers(COPIES, CASES, lambda case: conv_model("DEPTHWISE_CONV_2D", case))


@pytest.mark.arm
@pytest.mark.parametrize("name", CASES)
def test_copies_compute_what_the_layer_means(name: str) -> None:
    LAYERS.check(name)


def test_the_cases_reach_every_epilogue_of_copies() -> None:
    names = {epilogue(name) for name in functions(COPIES)}
    assert names >= EPILOGUES, names


TAKEN = {
    "5x5": (same(6, 7), True),
    "9x9": (same(6, 7, 9), True),
    "3x3": (same(6, 7, 3), False),
    "an even width": (replace(same(6, 7), kernel=(5, 6)), False),
    "wider": (replace(same(6, 20), kernel=(3, 11)), False),
    "an even height": (replace(same(6, 7), kernel=(4, 5)), True),
    "more taps than are unrolled": (replace(same(20, 9), kernel=(17, 5)), False),
    "stride 3": (replace(same(8, 9), strides=(1, 3)), False),
    "dilated": (replace(same(9, 9), dilations=(1, 2)), False),
}


@pytest.mark.parametrize(("case", "taken"), TAKEN.values(), ids=TAKEN)
def test_copies_are_for_wide_windows_side_by_side(case: Case, taken: bool) -> None:
    assert (COPIES in accepted(case, "cortex-m4")) is taken
    for other in ("cortex-m3", "cortex-m0plus", "cortex-m55", "generic"):
        assert COPIES not in accepted(case, other)


@pytest.mark.parametrize(
    ("case", "in_place"),
    [
        (same(8, 8), True),
        (same(8, 8, stride=2), True),
        (replace(same(5, 6), depth_out=6), False),
        (replace(same(5, 6), shape=(2, 5, 6, 3)), False),
    ],
    ids=["stride 1", "stride 2", "multiplied", "batch of two"],
)
def test_results_take_the_place_of_the_image(case: Case, in_place: bool) -> None:
    data = conv_model("DEPTHWISE_CONV_2D", case)
    (chosen,) = compile_forced(data, COPIES, "cortex-m4").selections.values()
    overlap = chosen.overlaps.get(0)
    assert (overlap is not None and overlap.is_kept(0)) is in_place
    assert overlap is None or not overlap.is_kept(case.shape[3])


@pytest.mark.arm
@pytest.mark.parametrize(
    ("case", "most"),
    [(same(16, 16, 5, 1, 16), 2.6), (same(16, 16, 7, 1, 16), 2.1), (same(16, 16, 5, 2, 16), 3.4)],
    ids=["5x5", "7x7", "5x5, stride 2"],
)
def test_cycles_of_a_multiply_accumulate(case: Case, most: float) -> None:
    data = conv_model("DEPTHWISE_CONV_2D", replace(case, out_zero_point=-128))
    cycles = check_forced(data, COPIES, counts_cycles=True).cycles
    assert cycles is not None
    stride = case.strides[0]
    results = case.shape[1] * case.shape[2] * case.shape[3] // stride**2
    assert cycles < most * results * case.kernel[0] * case.kernel[1]


def test_words_of_a_row_of_the_window() -> None:
    """Seven weights at even columns in four words; with stride 1 once more, a column further."""
    dense, strided = CopiesShape((7, 7), 1), CopiesShape((7, 7), 2)
    assert (dense.even_words, dense.weight_words, dense.input_words, dense.products) == (
        4,
        8,
        5,
        16,
    )
    assert (strided.weight_words, strided.input_words, strided.products) == (4, 7, 16)
