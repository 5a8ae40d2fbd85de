"""Variants on a transposed column: same bits, never slower, and as they are row by row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glowmcu.cores import core
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.selection.select import Selection, select_kernels
from glowmcu.kernels.selection.transposed_variants import (
    Transposed,
    can_transpose,
    transposed,
    untransposed,
)
from glowmcu.lowering.passes import lower
from glowmcu.pipeline import reference_graph
from tests.ops.test_convolution import Case, conv_model
from tests.support.forced_variant import check_forced

COLUMN = Case((1, 20, 1, 8), 12, (5, 1), (1, 1), padding="SAME", least_weight=-127, out_scale=2.0)
DEEP = replace(COLUMN, depth_out=8)
CASES = {
    "conv_2d.rows_dsp.lying": ("CONV_2D", COLUMN),
    "conv_2d.chunks_dsp.lying": ("CONV_2D", COLUMN),
    "conv_2d.portable.lying": ("CONV_2D", replace(COLUMN, kernel=(5, 3))),
    "depthwise_conv_2d.taps_dsp.lying": ("DEPTHWISE_CONV_2D", replace(DEEP, strides=(2, 1))),
}


@pytest.mark.arm
@pytest.mark.parametrize("name", CASES)
def test_a_transposed_column_is_computed_as_it_is_meant(name: str) -> None:
    check_forced(conv_model(*CASES[name]), name, count=2)


def selected(kind: str, case: Case, core_name: str = "cortex-m4") -> Selection:
    graph = lower(reference_graph(conv_model(kind, case), "m.tflite"))
    (found,) = select_kernels(graph, Target(core(core_name))).values()
    return found


@pytest.mark.parametrize("name", ["cortex-m4", "cortex-m0plus", "cortex-m55"])
@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_transposing_is_possible_only_where_it_takes_fewer_cycles(kind: str, name: str) -> None:
    found = selected(kind, DEEP, name)
    assert found.site is not None
    assert found.target is not None
    costs = {
        variant: variant.calibrated_cost(found.site, found.target) for variant in found.possible
    }
    for variant, cost in costs.items():
        if isinstance(variant, Transposed) and untransposed(variant) in costs:
            assert cost.cycles < costs[untransposed(variant)].cycles


def test_rows_of_a_transposed_layer_are_computed_by_the_variant_itself() -> None:
    found = selected("CONV_2D", COLUMN)
    transposed = next(item for item in found.possible if item.name == "conv_2d.rows_dsp.lying")
    chosen = replace(found.exchanged(transposed), possible=(transposed,), of_one_row=())
    assert chosen.code.rows == 1
    assert chosen.row_kernel is not None
    assert chosen.row_kernel.variant is untransposed(transposed)
    assert chosen.row_kernel.code.rows == 20


def test_a_column_that_becomes_a_pixel_can_be_transposed() -> None:
    found = selected("CONV_2D", replace(COLUMN, kernel=(20, 1), padding="VALID"))
    assert found.site is not None
    assert can_transpose(found.site.node)


UPRIGHT = {
    "two columns": replace(COLUMN, shape=(1, 20, 2, 8)),
    "two columns that become one": Case((1, 20, 2, 8), 12, (5, 2), (1, 1), padding="VALID"),
    "two images": replace(COLUMN, shape=(2, 20, 1, 8)),
    "a pixel": replace(COLUMN, shape=(1, 1, 1, 8)),
}


@pytest.mark.parametrize("case", UPRIGHT.values(), ids=UPRIGHT)
def test_nothing_is_transposed_but_one_column_of_several_rows(case: Case) -> None:
    found = selected("CONV_2D", case)
    assert found.site is not None
    assert found.target is not None
    for variant in found.possible:
        assert not isinstance(variant, Transposed)
        assert not transposed(variant).accepts(found.site, found.target)
