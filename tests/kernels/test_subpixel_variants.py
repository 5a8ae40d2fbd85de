"""Transposed convolutions as convolutions of blocks of pixels: same bits, in less time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.cores import core
from glowmcu.goals import Goal
from glowmcu.ir.interpreter import run_graph
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.selection.select import Selection, select_kernels
from glowmcu.kernels.selection.subpixel_variants import SUFFIX, SubPixel
from glowmcu.lowering.passes import lower
from glowmcu.pipeline import compile_model, reference_graph
from tests.ops.test_transpose_conv import Case, transpose_conv_model
from tests.support.check_model import expect_equal, random_inputs, write_bundle
from tests.support.forced_variant import check_forced, compile_forced
from tests.support.placed import HostLayer, PlacedLayer
from tests.support.quick_host import QuickHost

CASES = {
    "blocks of 2x2": Case((1, 4, 6, 16), 8, (2, 2), (2, 2)),
    "taps of some pixels only": Case((1, 4, 3, 8), 7, (3, 3), (2, 2), "SAME"),
    "an odd result": Case((1, 4, 3, 4), 4, (3, 3), (2, 2), "SAME", (7, 5)),
    "two taps each": Case((1, 5, 4, 8), 4, (4, 4), (2, 2), "SAME"),
    "three taps each": Case((1, 4, 5, 4), 4, (5, 5), (2, 2), "SAME"),
    "fewer taps than pixels": Case((1, 3, 3, 4), 4, (1, 2), (3, 3), "SAME"),
    "a column": Case((1, 21, 1, 8), 4, (4, 1), (2, 1), "SAME"),
    "a row": Case((1, 1, 21, 8), 4, (1, 4), (1, 2), "SAME"),
    "stride 1": Case((1, 5, 4, 4), 8, (3, 3)),
    "relu": Case((1, 3, 4, 4), 4, (3, 2), (3, 1), activation="RELU"),
}
VARIANTS = [
    ("conv_2d.rows_dsp", "cortex-m4"), ("conv_2d.chunks_dsp", "cortex-m4"),
    ("conv_2d.compact_dsp", "cortex-m7"), ("conv_2d.pairs_nodsp", "cortex-m0plus"),
    ("conv_2d.pairs_riscv", "hazard3"), ("conv_2d.portable", "cortex-m3"),
    ("matrix.direct_mve", "cortex-m55"),
]  # fmt: skip
#: Networks of one layer that are drawn.
SEEDS = range(24)


@pytest.mark.arm
@pytest.mark.parametrize(("variant", "core_name"), VARIANTS)
@pytest.mark.parametrize("name", ["taps of some pixels only", "a column"])
def test_blocks_are_computed_as_the_layer_is_meant(name: str, variant: str, core_name: str) -> None:
    check_forced(transpose_conv_model(CASES[name]), variant + SUFFIX, core_name)


@pytest.mark.parametrize("name", CASES)
def test_every_shape_is_computed_as_it_is_meant(name: str, tmp_path: Path) -> None:
    check_on_host(CASES[name], "conv_2d.portable" + SUFFIX, tmp_path)


def check_on_host(case: Case, variant: str, folder: Path) -> None:
    done = compile_forced(transpose_conv_model(case), variant, "cortex-m4")
    assert {item.kernel_name for item in done.selections.values()} == {variant}
    sets = random_inputs(done, 2)
    bundle = write_bundle(done, folder / "bundle")
    for arrays, got in zip(sets, QuickHost().run(bundle, sets), strict=True):
        for index, want in enumerate(run_graph(done.imported, arrays)):
            expect_equal(np.asarray(got.outputs[index]), want, variant)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_layers_are_computed_as_they_are_meant(seed: int, tmp_path: Path) -> None:
    generator = np.random.default_rng([2016, seed])
    height, width, channels, depth, kernel_h, kernel_w, stride_y, stride_x = generator.integers(
        1, (9, 9, 20, 12, 6, 6, 4, 4)
    ).tolist()
    padding = "SAME" if generator.random() < 0.7 else "VALID"
    kernel, strides = (kernel_h, kernel_w), (stride_y, stride_x)
    case = Case((1, height, width, channels), depth, kernel, strides, padding)
    if padding == "SAME" and generator.random() < 0.5:
        case = replace(case, size=(height * stride_y - stride_y // 2, width * stride_x))
    core_name = ("cortex-m4", "cortex-m0plus", "cortex-m55", "cortex-m33")[seed % 4]
    options = Options("m", core=core_name, goal=Goal.SPEED, simplify=False)
    done = compile_model(transpose_conv_model(case), "m.tflite", options)
    sets = random_inputs(done, 1)
    got, *_ = QuickHost().run(write_bundle(done, tmp_path / "bundle"), sets)
    (chosen,) = {item.kernel_name for item in done.selections.values()}
    expect_equal(np.asarray(got.outputs[0]), run_graph(done.imported, sets[0])[0], chosen)


def test_most_of_the_random_layers_are_convolutions() -> None:
    chosen = [
        selected(Case((1, height, 5, 8), 6, (kernel, 3), (2, 2), "SAME")).kernel_name
        for height in (2, 5)
        for kernel in (1, 2, 3, 4, 5)
    ]
    assert sum(name.endswith(SUFFIX) for name in chosen) == len(chosen)


def selected(case: Case, core_name: str = "cortex-m4") -> Selection:
    graph = lower(reference_graph(transpose_conv_model(case), "m.tflite"))
    (found,) = select_kernels(graph, Target(core(core_name))).values()
    return found


@pytest.mark.parametrize(
    "case",
    [
        Case((2, 3, 3, 4), 4, (3, 3), (2, 2), "SAME"),  # of two images
        Case((1, 2, 2, 2), 2, (2, 2), (2, 2), "VALID", (5, 6)),  # larger than what is reached
    ],
)
def test_what_is_no_convolution_stays_what_it_is(case: Case) -> None:
    found = selected(case)
    assert not any(isinstance(variant, SubPixel) for variant in found.possible)


@pytest.mark.arm
@pytest.mark.parametrize(
    ("core_name", "most"),
    [("cortex-m4", 0.2), ("cortex-m0plus", 0.58), ("cortex-m55", 0.09), ("hazard3", 0.62)],
)
def test_it_takes_about_the_cycles_that_are_estimated(core_name: str, most: float) -> None:
    case = Case((1, 8, 12, 16), 8, (2, 2), (2, 2))
    found = selected(case, core_name)
    assert isinstance(found.kernel, SubPixel)
    run = check_forced(transpose_conv_model(case), found.kernel_name, core_name, counts_cycles=True)
    assert run.cycles is not None
    assert 0.65 * found.cost.cycles < run.cycles < 0.95 * found.cost.cycles
    assert found.cost.cycles < most * dict(found.alternatives)["transpose_conv_2d.portable"].cycles


@pytest.mark.parametrize("name", ["taps of some pixels only", "a column", "stride 1"])
def test_results_at_every_allowed_distance_are_as_apart(name: str, tmp_path: Path) -> None:
    done = compile_forced(
        transpose_conv_model(CASES[name]), "conv_2d.portable" + SUFFIX, "cortex-m4"
    )
    layer = PlacedLayer(done)
    host = HostLayer(layer, tmp_path / "layer")
    inputs = dict(zip(layer.program.inputs, random_inputs(done, 1)[0], strict=True))
    apart = host.run(inputs, layer.places())
    least = layer.code.overlaps[0].least_gap_bytes
    assert least is not None
    for more in (0, 1, 3, 64):
        assert host.run(inputs, layer.places(0, least + more)) == apart, more
    # Results that begin where the input does overwrite what is read later.
    assert host.run(inputs, layer.places(0, 0)) != apart
