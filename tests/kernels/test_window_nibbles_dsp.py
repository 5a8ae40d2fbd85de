"""conv_2d.nibbles_windows_dsp and .nibbles_compact_dsp: windows of all kinds, their cycles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernels.test_compact_dsp import SPACED, WINDOWS, conv, conv_of_scale
from tests.kernels.test_pair_nibbles_dsp import ROWS
from tests.kernels.test_pair_nibbles_dsp import SHAPES as SHAPES_1X1
from tests.ops.test_convolution import Case
from tests.ops.test_matmul import dense_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

NAME, COMPACT = "conv_2d.nibbles_windows_dsp", "conv_2d.nibbles_compact_dsp"
CASES = {
    name: replace(case, weights_type="int4", least_weight=-7)
    for name, case in {**WINDOWS, **SPACED}.items()
}
CASES |= {
    "two rounds": Case((1, 4, 5, 9), 5, (2, 2), out_scale=2.0, weights_type="int4"),
    "all weights -8, output zero point -128": Case(
        (1, 4, 5, 6), 9, (3, 3), padding="SAME", weights=-8, out_zero_point=-128, out_scale=4.0
    ),
}
LAYERS = {name: ForcedLayers(name, CASES, conv_of_scale) for name in (NAME, COMPACT)}
PIXELS = ForcedLayers(COMPACT, SHAPES_1X1, conv)
ROW_LAYERS = ForcedLayers(COMPACT, ROWS, dense_model, count=2)


@pytest.mark.arm
@pytest.mark.parametrize("variant", LAYERS)
@pytest.mark.parametrize("name", CASES)
def test_every_window_is_computed_as_it_is_meant(name: str, variant: str) -> None:
    LAYERS[variant].check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", SHAPES_1X1)
def test_the_small_kernel_computes_pixels_too(name: str) -> None:
    PIXELS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("name", ROWS)
def test_the_small_kernel_computes_rows_too(name: str) -> None:
    ROW_LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("variant", LAYERS)
@pytest.mark.parametrize("core", ["cortex-m7", "cortex-m33"])
def test_other_cores_with_the_instructions_compute_the_same(core: str, variant: str) -> None:
    LAYERS[variant].elsewhere(core).check_all_on_core()


@pytest.mark.parametrize("case", [CASES["relu6"], SHAPES_1X1["8 inputs"]], ids=["3x3", "1x1"])
def test_pixels_at_equal_distances_are_left_to_the_kernel_that_copies_none(case: Case) -> None:
    taken = variants_of(compile_forced(conv(case), NAME, "cortex-m4")) == {NAME}
    assert taken == (case.kernel != (1, 1))


@pytest.mark.arm
def test_four_bits_cost_few_cycles() -> None:
    case = Case((1, 8, 8, 32), 32, (3, 3), padding="SAME", weights_type="int4", out_scale=2.0)
    model = conv(case)
    for core, most in (("cortex-m4", 1.15), ("cortex-m7", 1.17), ("cortex-m33", 1.17)):
        own = check_forced(model, NAME, core, counts_cycles=True).cycles
        other = check_forced(model, "conv_2d.rows_dsp", core, counts_cycles=True).cycles
        assert own is not None
        assert other is not None
        assert own <= most * other, (core, own, other)
