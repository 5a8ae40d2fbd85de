"""fully_connected.direct_dsp: all sizes around fours and rounds, all forms, C and assembly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.goals import Goal
from glowmcu.ir.interpreter import run_graph
from glowmcu.kernels.common.dense_layer import dense_weights
from glowmcu.kernels.common.layer_fields import constant
from glowmcu.kernels.dsp.dense import stream as dense_stream
from glowmcu.kernels.dsp.dense.direct import direct_stream
from glowmcu.kernels.dsp.dense.direct_assembly import FOUR, ROUND_FOURS, walk
from glowmcu.kernels.dsp.dense.layer import layer_stream
from glowmcu.kernels.dsp.dense.stream import SECTION, BlockLayout, DenseStream
from glowmcu.kernels.kernel import Site, site_of
from glowmcu.kernels.requantization.forms import FormKind
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from tests.kernels.row_layers import ALL_FORMS, layer_without_lines, pixels_model, random_layer
from tests.kernels.test_fully_connected_dsp import CASES as FORMS
from tests.ops.test_matmul import Dense, dense_model
from tests.support.check_model import expect_equal, random_inputs, write_bundle
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

NAME = "fully_connected.direct_dsp"
_ROUND = FOUR * ROUND_FOURS

#: int4 weights can be packed; others, at random, hold -128 beside negative ones.
DEPTHS = (6, 8, 9, 11, 12, 13, _ROUND - 5, _ROUND - 4, _ROUND - 1, _ROUND, _ROUND + 1,
          _ROUND + 4, 2 * _ROUND - 3, 2 * _ROUND, 2 * _ROUND + 5, 3 * _ROUND + 8)  # fmt: skip
CASES = {
    **{f"{depth} inputs": Dense(1, depth, 9, weights_type="int4") for depth in DEPTHS},
    **{f"{depth} inputs, wide": Dense(1, depth, 9) for depth in (1, 3, 4, 5, 8, *DEPTHS[6:11])},
    "rows at every alignment": Dense(5, 13, 11, weights_type="int4"),
    "rows at every alignment, wide": Dense(5, 37, 11),
    "rows of one block": Dense(3, 34, 8, weights_type="int4"),
    **{
        f"{depth} inputs in sections": Dense(1, depth, 9, symmetric=True, out_scale=40.0)
        for depth in (1200, SECTION * 3 - 1, SECTION * 3, SECTION * 3 + 1, 1501, 1535)
    },
    "sections, each a scale": Dense(2, 1203, 17, symmetric=True, per_channel=True, out_scale=40.0),
    "sections, relu": Dense(1, 1300, 8, symmetric=True, activation="RELU", out_scale=40.0),
    "sections, relu, each a scale": Dense(
        1, 1300, 8, symmetric=True, per_channel=True, activation="RELU", out_scale=40.0,
        out_zero_point=-128,
    ),
    "sections of the largest sums": Dense(1, 1442, 8, weights=-127, zero_point=127, out_scale=90.0),
    "one section and a little": Dense(1, 545, 8, weights=127, zero_point=-128, out_scale=90.0),
    "few outputs in sections": Dense(3, 1202, 3, symmetric=True, out_scale=40.0),
    **FORMS,
}  # fmt: skip


def site_for(case: Dense) -> Site:
    compilation = compile_forced(dense_model(case), NAME, "cortex-m4")
    (node,) = compilation.selections
    return site_of(compilation.graph, node)


def stream_of(case: Dense) -> DenseStream:
    stream = direct_stream(site_for(case))
    assert stream is not None
    return stream


LAYERS = ForcedLayers(NAME, CASES, dense_model, count=2)


@pytest.mark.arm
@pytest.mark.parametrize("name", CASES)
def test_every_layer_is_computed_as_it_is_meant(name: str) -> None:
    LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", ["cortex-m7", "cortex-m33"])
def test_other_cores_with_the_instructions_compute_the_same(name: str) -> None:
    check_forced(dense_model(CASES["66 inputs"]), NAME, name)


@pytest.mark.arm
@pytest.mark.parametrize("seed", range(6))
def test_random_layers_are_computed_as_they_are_meant(seed: int) -> None:
    check_forced(dense_model(random_layer(seed)), NAME, count=2)


@pytest.mark.arm
@pytest.mark.parametrize("weights_type", ["int4", "int8"])
def test_where_no_line_is_found_the_literal_form_is_computed(
    weights_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense_stream, "COMMON_POSTSHIFTS", {})
    case = layer_without_lines(weights_type)
    assert stream_of(case).facts[1:] == ("literal requantization", "")
    check_forced(dense_model(case), NAME, count=2)


@pytest.mark.arm
def test_a_convolution_of_one_pixel_is_a_row() -> None:
    check_forced(pixels_model(1), NAME)


def test_a_convolution_of_more_pixels_is_left_to_others() -> None:
    assert NAME not in variants_of(compile_forced(pixels_model(2), NAME, "cortex-m4"))


def test_the_cases_reach_every_form_and_both_layouts() -> None:
    cases = [case for case in CASES.values() if case.depth_in in (10, 16, 31, 33)]
    layouts = {stream_of(case).facts[:2] for case in cases}
    assert layouts >= ALL_FORMS


def test_sums_that_do_not_pack_are_made_in_sections() -> None:
    found = {name: stream_of(case).layout for name, case in CASES.items() if "section" in name}
    assert found
    assert all(layout.sections and layout.wide for layout in found.values())
    # A weight of -128 beside a negative one fits no half of a word.
    assert not stream_of(Dense(1, 1200, 9)).layout.sections
    assert not stream_of(CASES["66 inputs"]).layout.wide


@pytest.mark.parametrize("value", [-127, 127])
@pytest.mark.parametrize("inputs", [-128, 127])
def test_the_sums_of_a_section_fit_whatever_is_read(value: int, inputs: int) -> None:
    assert abs(257 * value * inputs * SECTION) < 2**31
    assert SECTION % _ROUND == 0


@pytest.mark.parametrize("wide", [False, True])
def test_a_block_goes_through_its_inputs_and_weights_once(wide: bool) -> None:
    layout = BlockLayout(FormKind.LITERAL, wide, 8)
    for depth in range(1, 3 * _ROUND):
        way, rest = walk(depth, layout), depth % FOUR > 0
        rounds, left = divmod(way.end_round - way.first_round, _ROUND)
        skipped = -way.jump // (2 * layout.step_bytes)
        assert left == 0
        assert 0 <= skipped < ROUND_FOURS
        assert rounds * ROUND_FOURS - skipped == -(-depth // FOUR)
        assert way.end_round == depth // FOUR * FOUR
        assert way.first_round + FOUR * (skipped + rest) == 0


def test_whole_fours_need_no_more_constants_than_with_scratch() -> None:
    site = site_for(Dense(1, 128, 24, weights_type="int4"))
    direct, other = direct_stream(site), layer_stream(site, 8, uniform=True)
    assert direct is not None
    assert other is not None
    assert direct.words().tobytes() == other.words().tobytes()


@pytest.mark.arm
def test_rows_at_odd_addresses_are_read_as_every_core_can(tmp_path: Path) -> None:
    compilation = compile_forced(dense_model(CASES["rows at every alignment"]), NAME, "cortex-m4")
    folder, inputs = write_bundle(compilation, tmp_path), random_inputs(compilation, 1)
    executor = CortexM("cortex-m4", count=False, check_alignment=True)
    for arrays, found in zip(inputs, executor.run(folder, inputs), strict=True):
        (want,) = run_graph(compilation.imported, arrays)
        expect_equal(np.asarray(found.outputs[0]), want, "C on cortex-m4")


def test_the_least_arena_of_a_dense_layer_is_its_operand_and_result() -> None:
    data = dense_model(Dense(1, 640, 128))
    options = replace(Options("m", core="cortex-m4"), goal=Goal.RAM)
    compilation = compile_model(data, "m.tflite", options)
    assert variants_of(compilation) == {NAME}
    assert compilation.manifest.arena_bytes == 640 + 128


def test_sites_with_other_weights_do_not_take_those_of_one_that_is_gone() -> None:
    """Sites made of one share its memory; an array that is freed leaves its id to the next."""
    site = site_for(Dense(1, 12, 8))
    shape = constant(site, 1).shape
    for fill in range(-20, 20):
        constants = (None, np.full(shape, fill, np.int8), *site.constants[2:])
        found = dense_weights(replace(site, constants=constants))
        assert (found == fill).all()
