"""conv_2d.rows_dsp: all shapes of the walk, all requantization forms, on a computer and a core."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.cores import core
from glowmcu.goals import Goal
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.interpreter import run_graph
from glowmcu.kernels.dsp.convolution.pixel_pairs import channel_order
from glowmcu.kernels.dsp.convolution.row_window import RowWindow
from glowmcu.kernels.dsp.convolution.rows import stream_of, window_of, window_rows
from glowmcu.kernels.kernel import Target, load_kernels, site_of
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.ops.convolution import Conv2D
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.host import Host
from tests.ops.test_convolution import CONV_CASES, Case, conv_model
from tests.support.check_model import random_inputs, write_bundle
from tests.support.forced_layers import ForcedLayers
from tests.support.one_unit import QUICK_LINK, write_unit

NAME = "conv_2d.rows_dsp"
CORE = "cortex-m4"

#: Widths and heights around whole pairs, channels around groups of four, values around steps.
SHAPES = {
    "3x3, sixteen channels": Case((1, 6, 8, 16), 8, (3, 3), padding="SAME"),
    "3x3, odd width": Case((1, 5, 7, 16), 4, (3, 3), padding="SAME"),
    "3x3, one pixel": Case((1, 1, 1, 8), 4, (3, 3), padding="SAME"),
    "3x3, two pixels": Case((1, 1, 2, 8), 5, (3, 3), padding="SAME"),
    "3x3, odd rows below each other": Case((1, 5, 3, 8), 5, (3, 3), padding="SAME"),
    "3x3, stride 2, sixteen channels": Case((1, 8, 8, 16), 8, (3, 3), (2, 2), padding="SAME"),
    "RGB, stride 2": Case((1, 12, 12, 3), 8, (3, 3), (2, 2), padding="SAME"),
    "RGB, stride 1, odd pixels": Case((1, 5, 9, 3), 6, (3, 3), padding="SAME"),
    "10x4 on one channel": Case((1, 21, 10, 1), 8, (10, 4), (2, 2), padding="SAME"),
    "7x1": Case((1, 20, 1, 5), 7, (7, 1), padding="SAME"),
    "1x7": Case((1, 1, 20, 5), 7, (1, 7), padding="SAME"),
    "thirteen channels": Case((1, 4, 5, 13), 13, (3, 3), padding="SAME"),
    "forty channels, parts that are not full": Case((1, 4, 4, 40), 4, (3, 3), padding="SAME"),
    "one channel out": Case((1, 5, 5, 4), 1, (3, 3), padding="SAME"),
    "three channels out": Case((1, 5, 5, 4), 3, (3, 3), padding="SAME"),
    "nine channels out": Case((1, 5, 5, 4), 9, (3, 3), padding="SAME"),
    "dilated segments in a row": Case((1, 7, 9, 16), 4, (3, 3), dilations=(2, 2)),
    "dilated long segments": Case((1, 6, 9, 52), 4, (2, 3), dilations=(2, 3)),
    "two blocks of pairs": Case((1, 3, 70, 36), 4, (3, 3), (1, 2), padding="SAME"),
    "three blocks, last not full": Case((1, 3, 91, 24), 5, (2, 3)),
}
#: As converters write weights: without -128, so that they can be packed.
SHAPES = {name: replace(case, least_weight=-127) for name, case in SHAPES.items()}
NUMBERS = {
    "floor": Case((1, 4, 6, 12), 8, (3, 3), padding="SAME", out_zero_point=-128, out_scale=4.0),
    "floor, packed": Case(
        (1, 4, 6, 12), 8, (3, 3), padding="SAME", out_zero_point=-128, out_scale=4.0,
        least_weight=-127,
    ),
    "floor, narrow activation": Case(
        (1, 4, 6, 12), 8, (3, 3), padding="SAME", activation="RELU6", out_scale=4.0
    ),
    "two-sided": Case((1, 4, 6, 12), 8, (3, 3), padding="SAME", out_zero_point=17, out_scale=4.0),
    "zero points at both ends": Case(
        (1, 4, 6, 12), 8, (3, 3), padding="SAME", zero_point=127, out_zero_point=127, out_scale=6.0
    ),
    "weights all -128": Case((1, 4, 6, 12), 8, (3, 3), weights=-128, out_scale=40.0),
    "weights all 127": Case((1, 4, 6, 12), 8, (3, 3), weights=127, out_scale=40.0),
    "scales that saturate": Case((1, 4, 6, 12), 8, (3, 3), out_scale=0.002, weights_scale=0.02),
    "scales that vanish": Case((1, 4, 6, 12), 8, (3, 3), out_scale=900.0),
}  # fmt: skip


def options(goal: Goal = Goal.BALANCED) -> Options:
    return Options(
        "m", core=CORE, goal=goal, kernels=KernelChoices(forced_variant=NAME), simplify=False
    )


def conv_node(graph: Graph) -> Node:
    (node,) = (node for node in graph.nodes if isinstance(node.op, Conv2D))
    return node


def accepted(case: Case) -> bool:
    graph = compile_model(conv_model("CONV_2D", case), "m.tflite", options()).graph
    (variant,) = (k for k in load_kernels()[Conv2D] if k.name == NAME)
    return variant.accepts(site_of(graph, conv_node(graph)), Target(core(CORE)))


def compiled(case: Case, goal: Goal = Goal.BALANCED) -> Compilation:
    done = compile_model(conv_model("CONV_2D", case), "m.tflite", options(goal))
    assert done.selections[conv_node(done.graph)].kernel_name == NAME
    return done


Check = Callable[[Compilation, Host | CortexM], None]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Compares an executor's results with the Python meaning."""

    def check(done: Compilation, executor: Host | CortexM) -> None:
        inputs = random_inputs(done, 2)
        write = write_unit if isinstance(executor, Host) else write_bundle
        folder = write(done, tmp_path / "bundle")
        for arrays, result in zip(inputs, executor.run(folder, inputs), strict=True):
            (want,) = run_graph(done.imported, arrays)
            assert np.array_equal(result.outputs[0], want)

    return check


CASES = {**CONV_CASES, **SHAPES, **NUMBERS}
#: What stays with the portable kernel: groups, and scales above 1.
NOT_TAKEN = (
    "two groups",
    "three groups of five outputs",
    "as many groups as channels",
    "groups and dilation",
    "scale above 1",
    "scales that saturate",
)


def taken() -> dict[str, Case]:
    return {name: case for name, case in CASES.items() if name not in NOT_TAKEN}


LAYERS = ForcedLayers(NAME, taken(), lambda case: conv_model("CONV_2D", case), CORE, count=2)


@pytest.mark.parametrize("name", taken())
def test_the_portable_branch_computes_what_the_layer_means(name: str) -> None:
    LAYERS.check_on_host(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", taken())
def test_the_assembly_computes_what_the_layer_means(name: str) -> None:
    LAYERS.check_on_core(name)


@pytest.mark.parametrize("name", NOT_TAKEN)
def test_what_has_no_exact_form_stays_with_the_portable_kernel(name: str) -> None:
    assert not accepted(CASES[name])


def test_cores_without_the_instructions_are_not_served() -> None:
    graph = compile_model(conv_model("CONV_2D", SHAPES["7x1"]), "m.tflite", options()).graph
    (variant,) = (k for k in load_kernels()[Conv2D] if k.name == NAME)
    assert not variant.accepts(site_of(graph, conv_node(graph)), Target(core("cortex-m3")))
    assert variant.accepts(site_of(graph, conv_node(graph)), Target(core("cortex-m33")))


def sums_of(case: Case) -> str:
    done = compiled(case)
    return done.selections[conv_node(done.graph)].code.function


def test_all_layouts_and_forms_are_among_the_cases() -> None:
    names = " ".join(map(sums_of, taken().values()))
    for layout in ("loop", "wide"):
        for form in ("floor", "two-sided"):
            assert f", {layout}, {form} requantization" in names
    assert ", loop, literal requantization" in names


def first_pixels(window: RowWindow) -> Iterator[int]:
    """The columns that begin pairs, as glowmcu_conv_2d_rows_row goes through a row."""
    if window.across == 0:
        yield from range(window.out_columns)
    for x in range(0, window.out_columns, 2 * window.across or window.out_columns):
        yield from range(x, x + min(window.out_columns - x, window.across or 0))


@pytest.mark.parametrize("case", taken().values(), ids=taken())
def test_no_read_goes_beyond_the_scratch(case: Case) -> None:
    graph = compile_model(conv_model("CONV_2D", case), "m.tflite", options()).graph
    window = window_of(site_of(graph, conv_node(graph)))
    for rows in {window_rows(window, goal) for goal in Goal}:
        top = 2 * (rows - window.least_rows) * window.pitch
        reads = [
            top + 2 * pixel * window.pixel_values + window.distance + place + offset + 2
            for pixel in first_pixels(window)
            for place in window.chunk_places
            for pair in window.chunk.offsets
            for offset in pair
        ]
        assert max(reads) <= window.scratch_bytes(rows)
        assert 2 * rows * window.pitch <= window.scratch_bytes(rows)


@pytest.mark.parametrize("name", ["3x3, odd rows below each other", "7x1", "RGB, stride 2"])
@pytest.mark.parametrize("goal", [Goal.SPEED, Goal.BALANCED])
def test_windows_of_any_size_give_the_same(name: str, goal: Goal, check: Check) -> None:
    check(compiled(SHAPES[name], goal), Host(("-O1", *QUICK_LINK)))


def test_a_last_group_overlaps_the_one_before() -> None:
    assert channel_order(8).tolist() == list(range(8))
    assert channel_order(6).tolist() == [0, 1, 2, 3, 2, 3, 4, 5]
    assert channel_order(3).tolist() == [0, 1, 2, -1]


def test_weights_take_no_more_flash_than_in_int8() -> None:
    case = SHAPES["3x3, sixteen channels"]
    done = compiled(replace(case, weights=127, out_scale=40.0))
    site = site_of(done.graph, conv_node(done.graph))
    stream = stream_of(site, window_of(site))
    assert stream is not None
    requantization = 16 * 8
    assert stream.nbytes == stream.words().nbytes <= 8 * 9 * 16 + requantization + 3 * 4 * 2
