"""The small kernels: windows of all kinds, dense rows, few channels, and what they save."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import glowmcu
from glowmcu.compilation import Options
from glowmcu.goals import Goal
from glowmcu.pipeline import compile_model
from glowmcu.verify.verification import seeded_inputs
from tests.kernels.test_pointwise_dsp import NUMBERS, ROWS, SHAPES, layer
from tests.ops.test_convolution import SPATIAL, Case, conv_model
from tests.ops.test_matmul import Dense, dense_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

NAME = "conv_2d.compact_dsp"
PROVED = "conv_2d.compact_proved_dsp"
FEW = {f"{count} channels": layer((1, 1, 5, 6), count) for count in (1, 2, 3)}
WINDOWS = {
    **SPATIAL,
    "one channel, large window": Case((1, 12, 6, 1), 8, (10, 4), (2, 2), padding="SAME"),
    "five channels, odd size": Case((1, 5, 7, 5), 7, (3, 3), padding="SAME"),
    "input zero point 127": Case((1, 5, 5, 3), 4, (3, 3), padding="SAME", zero_point=127),
    "two channels out": Case((1, 3, 4, 3), 2, (2, 2)),
    "some weights -128": Case((1, 4, 4, 6), 5, (3, 3), padding="SAME", least_weight=-128),
    "relu6": Case((1, 4, 4, 3), 6, (2, 2), activation="RELU6", out_scale=0.04),
}
#: 1x1 windows that are not evenly spaced in the image: they are copied, too.
SPACED = {
    "stride 2, odd width": Case((1, 5, 7, 6), 5, (1, 1), (2, 2)),
    "stride 2 down, three channels out": Case((1, 5, 4, 8), 3, (1, 1), (2, 1)),
    "stride 3, one output": Case((1, 3, 3, 9), 4, (1, 1), (3, 3)),
    "two batches, stride 2": Case((2, 5, 5, 7), 4, (1, 1), (2, 2)),
    "dilated and padded": Case((1, 6, 7, 3), 4, (3, 3), dilations=(2, 2), padding="SAME"),
}
#: A right shift is what the literal form begins with.
UNSHIFTED = "scale of exactly 1/2"
SHIFTED = {name: case for name, case in NUMBERS.items() if name != UNSHIFTED}
UNPROVED = "tiny scale"
PROVABLE = {name: case for name, case in NUMBERS.items() if name != UNPROVED}
DENSE = {**ROWS, "three outputs": Dense(1, 32, 3), "one output": Dense(3, 9, 1)}
VARIANTS = (NAME, PROVED)


def conv(case: Case) -> bytes:
    return conv_model("CONV_2D", case)


def conv_of_scale(case: Case) -> bytes:
    return conv(replace(case, out_scale=max(case.out_scale, 0.5)))


SHAPE_LAYERS = {name: ForcedLayers(name, {**SHAPES, **FEW}, conv) for name in VARIANTS}
SPACED_LAYERS = {name: ForcedLayers(name, SPACED, conv_of_scale) for name in VARIANTS}
PROVABLE_LAYERS = ForcedLayers(PROVED, PROVABLE, conv, count=3)
SHIFTED_LAYERS = ForcedLayers(NAME, SHIFTED, conv, count=3)
WINDOW_LAYERS = {name: ForcedLayers(name, WINDOWS, conv_of_scale) for name in VARIANTS}
DENSE_LAYERS = {
    name: ForcedLayers(name, DENSE, dense_model, count=2)
    for name in (*VARIANTS, "fully_connected.compact_dsp")
}


@pytest.mark.arm
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", {**SHAPES, **FEW})
def test_every_shape_of_1x1_is_computed_as_it_is_meant(name: str, variant: str) -> None:
    SHAPE_LAYERS[variant].check(name)


@pytest.mark.arm
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", SPACED)
def test_pixels_that_are_apart_are_copied(name: str, variant: str) -> None:
    SPACED_LAYERS[variant].check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", PROVABLE)
def test_every_number_with_a_proved_form_is_computed_as_it_is_meant(name: str) -> None:
    PROVABLE_LAYERS.check(name)


def test_scales_without_a_proved_form_are_left_to_others() -> None:
    found = compile_forced(conv_model("CONV_2D", NUMBERS[UNPROVED]), PROVED, "cortex-m4")
    assert PROVED not in variants_of(found)


@pytest.mark.arm
@pytest.mark.parametrize("name", SHIFTED)
def test_every_number_is_computed_as_it_is_meant(name: str) -> None:
    SHIFTED_LAYERS.check(name)


def test_scales_without_a_right_shift_are_left_to_others() -> None:
    found = compile_forced(conv_model("CONV_2D", NUMBERS[UNSHIFTED]), NAME, "cortex-m4")
    assert NAME not in variants_of(found)


@pytest.mark.arm
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_are_copied_with_their_padding(name: str, variant: str) -> None:
    WINDOW_LAYERS[variant].check(name)


@pytest.mark.arm
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", DENSE)
def test_rows_of_a_dense_layer_are_pixels(name: str, variant: str) -> None:
    DENSE_LAYERS[variant].check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", DENSE)
def test_short_rounds_compute_dense_rows(name: str) -> None:
    DENSE_LAYERS["fully_connected.compact_dsp"].check(name)


@pytest.mark.arm
@pytest.mark.parametrize("core_name", ["cortex-m7", "cortex-m33"])
def test_other_cores_with_the_instructions_compute_the_same(core_name: str) -> None:
    check_forced(conv(WINDOWS["five channels, odd size"]), NAME, core_name)


def test_all_layers_of_one_model_share_one_function(shared_dir: Path) -> None:
    file = shared_dir / "models" / "ic_int8.tflite"
    options = Options("ic", core="cortex-m4", goal=Goal.SIZE)
    found = compile_model(file.read_bytes(), file.name, options).selections.values()
    functions = {item.code.function for item in found if item.kernel_name == NAME}
    assert len(functions) == 1
    assert sum(item.kernel_name == NAME for item in found) >= 9


@pytest.fixture
def costs(shared_dir: Path, tmp_path: Path) -> Callable[[str, str], tuple[int, int]]:
    """Bytes of code and cycles of a model on a Cortex-M4."""

    def measure(name: str, goal: str) -> tuple[int, int]:
        file = shared_dir / "models" / f"{name}_int8.tflite"
        bundle = glowmcu.compile(
            file, board="nrf52", output=tmp_path / goal, name=name, optimize=goal
        )
        cycles = bundle.measure(seeded_inputs(bundle.manifest, 1)).cycles
        assert bundle.report.code_bytes is not None
        assert cycles is not None
        return bundle.report.code_bytes, cycles

    return measure


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.parametrize("name", ["kws", "vww", "ic", "ad", "sww"])
def test_size_has_three_fifths_of_the_code_at_most_at_1_6_times_the_cycles(
    name: str, costs: Callable[[str, str], tuple[int, int]]
) -> None:
    (code, cycles), (small, slow) = costs(name, "balanced"), costs(name, "size")
    assert small <= 0.6 * code
    assert slow <= 1.6 * cycles
