"""Weights of four bits on Helium: how they are packed, who takes them, what they cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.helium_schedule import turn_cycles
from glowmcu.compilation import Options
from glowmcu.goals import Goal
from glowmcu.kernels.helium import convolution
from glowmcu.kernels.helium.direct_assembly import DirectCode, direct_assembly
from glowmcu.kernels.helium.matrix import BLOCK, nibble_halves, nibble_sums
from glowmcu.pipeline import compile_model
from glowmcu.verify.helium.costs import CORTEX_M55, CORTEX_M85, HeliumCosts
from tests.ops.test_convolution import Case, conv_model
from tests.support.forced_variant import compile_forced, variants_of

CORE = "cortex-m55"
#: Its bytes are read by the kernel behind each one.
KERNELS = {
    "matrix.nibbles_direct_mve": "matrix.direct_mve",
    "matrix.nibbles_masked_mve": "matrix.masked_mve",
    "matrix.nibbles_blocks_mve": "matrix.blocks_mve",
    "matrix.nibbles_narrow_mve": "matrix.narrow_mve",
    "matrix.nibbles_rows_mve": "matrix.rows_mve",
    "matrix.nibbles_windows_mve": "matrix.windows_mve",
}


def small(shape: tuple[int, int, int, int], depth_out: int, kernel: tuple[int, int]) -> Case:
    """A layer in the floor form whose weights are all over four bits."""
    return Case(
        shape, depth_out, kernel, padding="SAME", weights_type="int4", out_zero_point=-128,
        out_scale=0.5,
    )  # fmt: skip


def taking(case: Case) -> set[str]:
    """The kernels of four bits that take the layer."""
    model = conv_model("CONV_2D", case)
    return {name for name in KERNELS if name in variants_of(compile_forced(model, name, CORE))}


def test_a_byte_holds_the_weights_of_two_channels() -> None:
    even, odd = np.meshgrid(np.arange(-8, 8), np.arange(-8, 8))
    pairs = np.stack([even.reshape(-1, BLOCK), odd.reshape(-1, BLOCK)], axis=1).astype(np.int8)
    halves, sums = (packed(pairs)[:, 0].astype(int) for packed in (nibble_halves, nibble_sums))
    for packed in (halves, sums):
        assert len(np.unique(packed)) == 256
        np.testing.assert_array_equal(packed >> 4, pairs[:, 1])
    np.testing.assert_array_equal((halves << 4).astype(np.int8), pairs[:, 0] << 4)
    np.testing.assert_array_equal(sums - 16 * (sums >> 4) - 8, pairs[:, 0])


@pytest.mark.parametrize(("weight", "takes"), [(-9, False), (-8, True), (7, True), (8, False)])
def test_one_weight_of_more_bits_leaves_the_layer_to_others(weight: int, takes: bool) -> None:
    case = replace(small((1, 3, 4, 16), 4, (1, 1)), weights=weight, weights_type="int8")
    assert taking(case) == (set(KERNELS) if takes else set())


def test_sums_that_may_not_fit_leave_the_layer_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 16 * 8 * 128 * (convolution._MOST_NIBBLES - 1) < 2**31
    monkeypatch.setattr(convolution, "_MOST_NIBBLES", 16)
    assert not taking(small((1, 3, 4, 16), 4, (1, 1)))


@pytest.mark.parametrize("name", KERNELS)
def test_the_weights_take_half_the_bytes(name: str) -> None:
    model, streams = conv_model("CONV_2D", small((1, 4, 5, 16), 12, (1, 1))), []
    for kernel in (name, KERNELS[name]):
        compilation = compile_forced(model, kernel, CORE)
        (chosen,) = compilation.selections.values()
        assert chosen.code.parameters is not None
        sizes = [array.data.nbytes for array in chosen.code.parameters.constants]
        assert sum(sizes) == chosen.cost.flash_bytes
        streams.append(max(sizes))
    assert streams[1] - streams[0] == 12 * 16 // 2


@pytest.mark.parametrize("costs", [CORTEX_M55, CORTEX_M85], ids=["m55", "m85"])
@pytest.mark.parametrize("is_literal", [False, True])
@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_four_channels_of_two_windows_cost_few_cycles(
    blocks: int, is_literal: bool, costs: HeliumCosts
) -> None:
    cycles = []
    for nibbles in (True, False):
        code = DirectCode(blocks, True, is_literal, False, nibbles)
        lines = direct_assembly(code)
        start, end = lines.index("1: /* four more channels */"), lines.index("bne 1b")
        tile = [line for line in lines[start + 1 : end + 1] if line != "2:"]
        cycles.append(turn_cycles(tile, costs))
    own, other = cycles
    assert own <= other + (6 if is_literal else 4)


@pytest.mark.parametrize("core", [CORE, "cortex-m85"])
def test_balanced_stores_two_weights_to_a_byte_and_speed_does_not(core: str) -> None:
    model = conv_model("CONV_2D", small((1, 6, 6, 256), 256, (1, 1)))
    for goal, chosen in ((Goal.BALANCED, "matrix.nibbles_direct_mve"), (Goal.SPEED, None)):
        compilation = compile_model(model, "m.tflite", Options("m", core=core, goal=goal))
        found = variants_of(compilation)
        assert (chosen in found) if chosen else not found & set(KERNELS)
