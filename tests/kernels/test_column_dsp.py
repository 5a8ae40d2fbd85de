"""conv_2d.column_dsp: windows that lie in memory and windows that are gathered, row by row, too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.cores import core
from glowmcu.kernels.kernel import Site, Target, load_kernels, site_of
from glowmcu.ops.convolution import Conv2D
from tests.ops.test_convolution import Case, conv_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced

NAME = "conv_2d.column_dsp"


def column(
    rows: int,
    depth: int,
    depth_out: int,
    kernel: int,
    stride: int = 1,
    dilation: int = 1,
    padding: str = "VALID",
) -> Case:
    """A time series, one column wide."""
    case = Case((1, rows, 1, depth), depth_out, (kernel, 1), (stride, 1), padding=padding)
    return replace(case, dilations=(dilation, 1), least_weight=-127, out_scale=2.0)


#: Around fours of inputs, eights of channels; windows inside, at both ends and beyond them.
CASES = {
    "inside": column(9, 5, 9, 3),
    "inside, one block": column(9, 4, 8, 3),
    "inside, seven channels": column(9, 7, 7, 2),
    "one window": column(5, 6, 10, 5),
    "stride 2": column(10, 4, 9, 3, 2),
    "stride beyond the window": column(11, 4, 9, 2, 4),
    "a single row with a stride": column(11, 12, 16, 1, 3),
    "a single row": column(6, 12, 16, 1),
    "both ends": column(9, 5, 17, 3, padding="SAME"),
    "both ends, stride 2": column(9, 8, 9, 4, 2, padding="SAME"),
    "larger than the image": column(3, 4, 5, 7, padding="SAME"),
    "dilated": column(13, 6, 9, 3, 1, 4),
    "dilated, both ends": column(13, 3, 9, 3, 1, 3, "SAME"),
    "dilated beyond the image": column(5, 4, 9, 3, 1, 7, "SAME"),
    "as wide as three columns": replace(column(7, 4, 9, 2), shape=(1, 7, 3, 4), kernel=(2, 3)),
    "zero point 127": replace(column(7, 4, 9, 3, padding="SAME"), zero_point=127),
    "weights all -128": replace(column(7, 5, 9, 3), weights=-128, out_scale=40.0),
    "relu6": replace(column(7, 5, 9, 3), activation="RELU6", out_scale=0.04),
}


def conv(case: Case) -> bytes:
    return conv_model("CONV_2D", case)


LAYERS = ForcedLayers(NAME, CASES, conv, count=2)


@pytest.mark.arm
@pytest.mark.parametrize("name", CASES)
def test_every_window_is_computed_as_it_is_meant(name: str) -> None:
    LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("seed", range(6))
def test_random_time_series_are_computed_as_they_are_meant(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows, depth, depth_out, kernel = (int(random.integers(1, top)) for top in (20, 40, 40, 6))
    stride, dilation = (int(step) for step in random.integers(1, 4, 2))
    case = column(rows, depth, depth_out, kernel, stride, dilation, "SAME")
    check_forced(conv_model("CONV_2D", replace(case, zero_point=int(random.integers(-128, 128)))),
                 NAME, count=2)  # fmt: skip


@pytest.mark.arm
def test_another_core_with_the_instructions_computes_the_same() -> None:
    check_forced(conv_model("CONV_2D", CASES["dilated, both ends"]), NAME, "cortex-m7")


def site(case: Case) -> Site:
    compilation = compile_forced(conv_model("CONV_2D", case), "conv_2d.portable", "cortex-m4")
    (node,) = compilation.selections
    return site_of(compilation.graph, node)


@pytest.mark.parametrize(
    "case",
    {
        "columns beside the window": replace(CASES["inside"], shape=(1, 9, 2, 5)),
        "padding on the sides": replace(
            CASES["as wide as three columns"], kernel=(2, 3), padding="SAME"
        ),
        "two images": replace(CASES["inside"], shape=(2, 9, 1, 5)),
        "groups": replace(column(9, 4, 8, 3), groups=2),
    }.values(),
    ids=("columns beside the window", "padding on the sides", "two images", "groups"),
)
def test_what_is_no_row_of_a_dense_layer_is_left_to_others(case: Case) -> None:
    (variant,) = (k for k in load_kernels()[Conv2D] if k.name == NAME)
    assert not variant.accepts(site(case), Target(core("cortex-m4")))


def test_scratch_is_one_window_and_only_where_some_are_gathered() -> None:
    (variant,) = (k for k in load_kernels()[Conv2D] if k.name == NAME)
    target = Target(core("cortex-m4"))
    assert variant.generate(site(CASES["inside"]), target).scratch_bytes == 0
    for name, size in {"both ends": 3 * 5, "dilated": 3 * 6}.items():
        assert variant.generate(site(CASES[name]), target).scratch_bytes == size
