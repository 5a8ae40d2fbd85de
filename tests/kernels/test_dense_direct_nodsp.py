"""fully_connected and 1x1 conv_2d without DSP and scratch, on a computer and on both cores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.goals import Goal
from glowmcu.kernels.nodsp.pixel_pairs import pack_direct_outputs
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from tests.kernels.test_matmul_nodsp import CORES, Case, fully_connected_model
from tests.support.check_model import expect_equal, random_inputs, write_bundle
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of
from tests.support.oracle import open_tflm

NAME, EIGHTS = "dense.direct_nodsp", "dense.eights_nodsp"
WITH_SCRATCH = "fully_connected.pairs_nodsp"
SHARED = Path(__file__).resolve().parents[3] / "shared"

CASES = {
    "four elements, four outputs": Case(1, 4, 4),
    "five elements, five outputs": Case(1, 5, 5),
    "six elements, one output": Case(1, 6, 1),
    "seven elements, a block of outputs": Case(1, 7, 16),
    "eight elements, a block and one": Case(1, 8, 17),
    "thirteen elements, three rows, three blocks": Case(3, 13, 37),
    "a long row": Case(1, 211, 9, out_scale=4.0),
    "narrow": Case(2, 24, 7, out_zero_point=-128, out_scale=2.0),
    "narrow, relu6": Case(2, 24, 7, activation="RELU6", out_scale=0.04),
    "zero points at both ends": Case(1, 24, 7, zero_point=127, out_zero_point=127),
    "weights all -128": Case(2, 12, 5, weights=-128, out_scale=40.0),
    "weights all 127, large bias, two blocks": Case(
        2, 15, 18, weights=127, out_scale=900.0, bias=2**27
    ),
}
#: Of whole groups of eight inputs.
WHOLE = {
    "eight elements, four outputs": Case(1, 8, 4),
    "sixteen elements, one output": Case(1, 16, 1),
    "a block and one, three rows": Case(3, 24, 17),
    "a long row, three blocks": Case(1, 216, 37, out_scale=4.0),
    "narrow": CASES["narrow"],
    "narrow, relu6": CASES["narrow, relu6"],
    "zero points at both ends": CASES["zero points at both ends"],
    "weights all -128": Case(2, 16, 5, weights=-128, out_scale=40.0),
    "weights all 127, large bias, two blocks": Case(
        2, 16, 18, weights=127, out_scale=900.0, bias=2**27
    ),
}
LAYERS = {core: ForcedLayers(NAME, CASES, fully_connected_model, core, count=2) for core in CORES}

EIGHTS_LAYERS = ForcedLayers(EIGHTS, WHOLE, fully_connected_model, CORES[0], count=2)


@pytest.mark.parametrize("case", WHOLE)
def test_groups_of_eight_inputs_equal_the_meaning(case: str) -> None:
    compilation = compile_forced(fully_connected_model(WHOLE[case]), EIGHTS, CORES[0])
    assert compilation.plan.program.runs[0].scratch is None
    EIGHTS_LAYERS.check(case)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("case", CASES)
def test_rows_of_bytes_equal_the_meaning_on_both_instruction_sets(case: str, core: str) -> None:
    data = fully_connected_model(CASES[case])
    assert compile_forced(data, NAME, core).plan.program.runs[0].scratch is None
    LAYERS[core].check(case)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("weight", [-64, 63])
def test_a_group_at_its_bound_stays_within_its_half_word(weight: int, core: str) -> None:
    """Four magnitudes of 63 or 64, the largest without extras or the least with one: x all -128."""
    data = fully_connected_model(Case(1, 8, 6, weights=weight, out_scale=30.0))
    inputs = [[np.full((1, 8), value, np.int8)] for value in (-128, 127)]
    check_forced(data, NAME, core, inputs)


@pytest.mark.parametrize("weight", [-32, 31])
def test_a_group_of_eight_at_its_bound_stays_within_its_half_word(weight: int) -> None:
    """Eight magnitudes of 31 or 32, the largest without extras or the least with one."""
    data = fully_connected_model(Case(1, 16, 6, weights=weight, out_scale=30.0))
    inputs = [[np.full((1, 16), value, np.int8)] for value in (-128, 127)]
    check_forced(data, EIGHTS, CORES[0], inputs)


def pointwise_model(image: tuple[int, int, int, int], outputs: int, stride: int = 1) -> bytes:
    model = ModelBuilder()
    generator = np.random.default_rng(3)
    weights = generator.integers(-128, 128, (outputs, 1, 1, image[3])).astype(np.int8)
    operands = [
        model.input("x", image, "int8", 0.1, 3),
        model.constant("w", weights, 0.02),
        model.constant("bias", generator.integers(-900, 900, outputs).astype(np.int32), 0.002),
    ]
    batches, height, width, _ = image
    shape = (batches, -(-height // stride), -(-width // stride), outputs)
    y = model.tensor("y", shape, "int8", 0.9, 5)
    options: dict[str, int | str] = {"stride_h": stride, "stride_w": stride, "padding": "VALID"}
    model.op("CONV_2D", operands, [y], options)
    model.output(y)
    return model.finish()


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("image", [(1, 1, 1, 21), (1, 3, 2, 6), (2, 2, 3, 9)])
def test_pixels_of_a_convolution_are_rows(image: tuple[int, int, int, int], core: str) -> None:
    check_forced(pointwise_model(image, 18), NAME, core, count=2)


@pytest.mark.parametrize("image", [(1, 1, 1, 24), (1, 3, 2, 8), (2, 2, 3, 16)])
def test_pixels_of_eights_are_rows(image: tuple[int, int, int, int]) -> None:
    check_forced(pointwise_model(image, 18), EIGHTS, CORES[0], count=2)


@pytest.mark.parametrize("inputs", [4, 12, 20])
def test_rows_of_other_lengths_have_no_groups_of_eight(inputs: int) -> None:
    forced = compile_forced(fully_connected_model(Case(1, inputs, 5)), EIGHTS, CORES[0])
    assert EIGHTS not in variants_of(forced)


def test_groups_of_eight_are_for_small_weights() -> None:
    """Random ones of eight bits exceed most groups, and each is an extra or two."""
    for weights in (9, None):
        data = fully_connected_model(Case(1, 640, 128, weights=weights, out_scale=4.0))
        compilation = compile_model(data, "dense.tflite", Options("m", core=CORES[0]))
        assert (EIGHTS in variants_of(compilation)) == (weights is not None)


def test_pixels_apart_stay_with_others() -> None:
    forced = compile_forced(pointwise_model((1, 4, 4, 8), 5, stride=2), NAME, "generic")
    assert NAME not in variants_of(forced)


@pytest.mark.parametrize("case", [Case(1, 3, 4), Case(1, 9, 5, weights_zero_point=3)])
def test_short_rows_and_weights_with_a_zero_point_stay_with_others(case: Case) -> None:
    assert NAME not in variants_of(compile_forced(fully_connected_model(case), NAME, "generic"))


@pytest.mark.parametrize("core", CORES)
def test_it_takes_little_more_than_the_kernel_with_scratch(core: str) -> None:
    """The widened row saves at most a fifth of the cycles of long rows."""
    data = fully_connected_model(Case(1, 640, 128, out_scale=4.0))
    cycles = {
        name: check_forced(data, name, core, counts_cycles=True).layers[0].cycles or 0
        for name in (NAME, WITH_SCRATCH)
    }
    assert cycles[NAME] <= 1.25 * cycles[WITH_SCRATCH]


@pytest.mark.parametrize("outputs", [1, 4, 7])
@pytest.mark.parametrize(
    ("inputs", "length"), [(4, 4), (5, 4), (7, 4), (8, 4), (11, 4), (8, 8), (24, 8)]
)
def test_packed_words_and_extras_make_up_the_weights(
    outputs: int, inputs: int, length: int
) -> None:
    """The last group is the last inputs; those of the group before have no weight in it."""
    weights = np.random.default_rng(outputs).choice([-128, -90, 5, 127], (outputs, inputs))
    packed = pack_direct_outputs(weights.astype(np.int8), length)
    fours, groups, taps = packed.stream.shape
    assert taps == length
    kept = packed.stream.astype("<i4").view(np.uint8).reshape(fours, groups, length, 4)
    grouped = kept.transpose(0, 3, 1, 2).reshape(4 * fours, groups, length).astype(np.int64) - 128
    assert np.abs(grouped).sum(axis=2).max() <= 255
    whole = np.zeros((4 * fours, inputs), np.int64)
    for group in range(groups):
        first = min(group * length, inputs - length)
        whole[:, first : first + length] += grouped[:, group]
    *extras, last = map(int, packed.extras.view(np.uint32))
    assert extras == sorted(extras)
    assert last == 0xFFFFFFFF
    for extra in extras:
        whole[extra >> 20, extra >> 8 & 0xFFF] += (extra & 0xFF ^ 0x80) - 0x80
    assert (whole[:outputs] == weights).all()


@pytest.mark.arm
@pytest.mark.parametrize("core", CORES)
def test_anomaly_detection_needs_no_more_than_its_tensors_and_little_more_time(
    core: str, tmp_path: Path
) -> None:
    """640 inputs and 128 results, with scratch 4,480 B; the bytes are the interpreter's."""
    data = (SHARED / "models/ad_int8.tflite").read_bytes()
    interpreter = open_tflm(data)
    found = {}
    for goal in (Goal.BALANCED, Goal.SPEED):
        compilation = compile_model(data, "ad.tflite", Options("m", core=core, goal=goal))
        inputs = random_inputs(compilation, 2)
        runs = CortexM(core).run(write_bundle(compilation, tmp_path / goal.value), inputs)
        for arrays, measured in zip(inputs, runs, strict=True):
            expect_equal(measured.outputs[0], interpreter(arrays)[0], f"C on {core}")
        found[goal] = compilation.plan.arena_bytes, runs[0].cycles or 0
    assert found[Goal.BALANCED][0] <= 768
    assert found[Goal.BALANCED][1] <= 1.2 * found[Goal.SPEED][1]
