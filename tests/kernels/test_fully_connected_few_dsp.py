"""fully_connected.few_dsp: all sizes around words and pairs of outputs, C and modelled cores."""

from __future__ import annotations

import pytest

from glowmcu.compilation import Options
from glowmcu.goals import Goal
from glowmcu.pipeline import compile_model
from tests.ops.test_matmul import Dense, dense_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

NAME = "fully_connected.few_dsp"

CASES = {
    **{f"{depth} inputs": Dense(1, depth, 3) for depth in (1, 2, 3, 4, 5, 7, 8, 9, 64, 131)},
    **{f"{count} outputs": Dense(1, 10, count) for count in (1, 2, 4, 5, 6, 7)},
    "three rows": Dense(3, 13, 5),
    "a scale for each output": Dense(2, 33, 3, per_channel=True),
    "relu": Dense(2, 16, 2, activation="RELU"),
    "relu6": Dense(2, 16, 3, activation="RELU6", out_scale=0.04),
    "weights all -128, input zero point 127": Dense(2, 16, 3, zero_point=127, weights=-128),
    "weights all -128, input zero point -128": Dense(2, 16, 3, zero_point=-128, weights=-128),
    "weights all 0": Dense(2, 16, 3, weights=0),
    "tiny scale": Dense(2, 16, 3, out_scale=500.0),
    "fine scale": Dense(2, 3, 3, out_scale=0.01),
    "input of rank 4": Dense(1, 24, 3, shape=(1, 2, 3, 4)),
}


LAYERS = ForcedLayers(NAME, CASES, dense_model, count=2)


@pytest.mark.arm
@pytest.mark.parametrize("name", CASES)
def test_every_layer_is_computed_as_it_is_meant(name: str) -> None:
    LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", ["cortex-m7", "cortex-m33"])
def test_other_cores_with_the_instructions_compute_the_same(name: str) -> None:
    check_forced(dense_model(CASES["131 inputs"]), NAME, name)


@pytest.mark.parametrize(
    "case",
    [Dense(1, 16, 8), Dense(1, 16, 3, weights_zero_point=5)],
    ids=["many outputs", "weights with a zero point"],
)
def test_other_layers_are_left_to_others(case: Dense) -> None:
    assert NAME not in variants_of(compile_forced(dense_model(case), NAME, "cortex-m4"))


@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m3", "cortex-m55"])
def test_cores_without_the_instructions_or_with_better_ones_have_others(core: str) -> None:
    assert NAME not in variants_of(compile_forced(dense_model(CASES["4 outputs"]), NAME, core))


@pytest.mark.arm
@pytest.mark.parametrize(("outputs", "most"), [(1, 3.7), (4, 2.7)])
def test_a_detector_takes_few_cycles_a_product(outputs: int, most: float) -> None:
    """The portable kernel takes 10 for a single output and 4.8 for four."""
    data = dense_model(Dense(1, 2048, outputs))
    options = Options("m", core="cortex-m4", goal=Goal.BALANCED)
    assert variants_of(compile_model(data, "m.tflite", options)) == {NAME}
    measured = check_forced(data, NAME, counts_cycles=True)
    assert measured.cycles is not None
    assert measured.cycles <= most * 2048 * outputs
