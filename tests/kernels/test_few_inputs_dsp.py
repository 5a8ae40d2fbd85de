"""conv_2d.few_inputs_dsp: every number of inputs, blocks of channels, pixels; C and assembly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.goals import Goal
from glowmcu.ir.kernel_code import KernelCode
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.pipeline import compile_model
from tests.kernels.test_pointwise_dsp import layer
from tests.ops.test_convolution import Case, conv_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

NAME = "conv_2d.few_inputs_dsp"


def floor(case: Case) -> Case:
    """With outputs that one line of integers gives, as behind a RELU."""
    return replace(case, out_zero_point=-128)


CASES = {
    **{f"{depth} inputs": floor(layer((2, 1, 4, depth), 5)) for depth in range(1, 9)},
    **{
        f"{count} channels": floor(layer((2, 1, 4, 8), count))
        for count in (1, 2, 7, 8, 9, 16, 17, 25)
    },
    **{f"{count} pixels": floor(layer((2, 1, count, 6), 3)) for count in (2, 3, 4, 5)},
    "rows of an odd width": floor(layer((1, 5, 3, 7), 4)),
    "three batches": floor(layer((3, 3, 3, 5), 9)),
    "stride 2": floor(layer((2, 6, 7, 8), 6, (2, 2))),
    "stride 2 down only": floor(layer((1, 5, 4, 3), 4, (2, 1))),
    "many channels": floor(layer((2, 1, 2, 3), 2040)),
}
NUMBERS = {
    "weights all -128": replace(CASES["8 inputs"], weights=-128, zero_point=7, out_scale=4.0),
    "weights all 127": replace(CASES["8 inputs"], weights=127, out_scale=4.0),
    "weights all 0": replace(CASES["7 inputs"], weights=0),
    "input zero point -128": replace(CASES["8 inputs"], zero_point=-128),
    "input zero point 127": replace(CASES["8 inputs"], zero_point=127),
    "relu6": replace(CASES["8 inputs"], activation="RELU6", out_scale=0.04),
    "small scale": replace(CASES["8 inputs"], out_scale=20.0),
    "outputs that saturate": replace(CASES["8 inputs"], out_scale=0.02),
}


def conv(case: Case) -> bytes:
    return conv_model("CONV_2D", case)


SHAPE_LAYERS = ForcedLayers(NAME, CASES, conv, count=2)
NUMBER_LAYERS = ForcedLayers(NAME, NUMBERS, conv, count=3)


@pytest.mark.arm
@pytest.mark.parametrize("name", CASES)
def test_every_shape_is_computed_as_it_is_meant(name: str) -> None:
    SHAPE_LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", NUMBERS)
def test_every_number_is_computed_as_it_is_meant(name: str) -> None:
    NUMBER_LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", ["cortex-m7", "cortex-m33"])
def test_other_cores_with_the_instructions_compute_the_same(name: str) -> None:
    check_forced(conv_model("CONV_2D", CASES["17 channels"]), NAME, name)


@pytest.mark.arm
@pytest.mark.parametrize("seed", range(8))
def test_random_layers_are_computed_as_they_are_meant(seed: int) -> None:
    random = np.random.default_rng(seed)
    height, width, depth, channels = (int(random.integers(1, top)) for top in (4, 7, 9, 40))
    case = replace(
        floor(layer((1, height, 1 + width, depth), channels)),
        zero_point=int(random.integers(-128, 128)),
        least_weight=int(random.choice([-128, -127])),
        out_scale=float(random.uniform(0.3, 3)),
    )
    check_forced(conv_model("CONV_2D", case), NAME, count=2)


def accepts(case: Case, core: str = "cortex-m4") -> bool:
    return NAME in variants_of(compile_forced(conv_model("CONV_2D", case), NAME, core))


@pytest.mark.parametrize(
    "case",
    {
        "nine inputs": floor(layer((1, 1, 4, 9), 5)),
        "a single column": floor(layer((1, 5, 1, 8), 5)),
        "too many channels": floor(layer((1, 1, 2, 1), 2041)),
        "outputs rounded away from zero": layer((1, 1, 4, 8), 5),
        "a larger window": Case((1, 3, 4, 3), 6, (2, 2), out_zero_point=-128),
    }.items(),
    ids=lambda item: item[0],
)
def test_what_it_cannot_compute_is_left_to_others(case: tuple[str, Case]) -> None:
    assert not accepts(case[1])


def test_cores_without_the_instructions_are_left_to_others() -> None:
    assert not accepts(CASES["8 inputs"], "cortex-m3")
    assert accepts(CASES["8 inputs"])


def code_of(case: Case, goal: Goal) -> KernelCode:
    options = Options(
        "m", core="cortex-m4", goal=goal, kernels=KernelChoices(forced_variant=NAME), simplify=False
    )
    compilation = compile_model(conv_model("CONV_2D", case), "m.tflite", options)
    (selection,) = compilation.selections.values()
    return selection.code


def test_goals_that_mind_code_unroll_less() -> None:
    most, some, least = (
        code_of(CASES["16 channels"], goal) for goal in (Goal.SPEED, Goal.BALANCED, Goal.SIZE)
    )
    lengths = [len(code.view["assembly"]) for code in (most, some, least)]
    assert sorted(lengths, reverse=True) == lengths
    assert len({code.function for code in (most, some, least)}) == 3


def test_no_scratch_is_needed() -> None:
    assert code_of(CASES["8 inputs"], Goal.SPEED).scratch_bytes == 0
