"""Weights of four bits on Helium: how they are packed, who takes them, what they cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.goals import Goal
from glowmcu.kernels.helium import convolution
from glowmcu.kernels.helium.matrix import BLOCK, nibble_halves, nibble_sums
from glowmcu.pipeline import compile_model
from tests.ops.test_convolution import Case, conv_model
from tests.ops.test_matmul import Dense, dense_model
from tests.support.forced_variant import check_forced, compile_forced, variants_of

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


#: Layers, and what times the cycles of bytes each may take at most.
COSTS = {
    "matrix.nibbles_direct_mve": (conv_model("CONV_2D", small((1, 6, 6, 64), 64, (1, 1))), 1.04),
    "matrix.nibbles_blocks_mve": (conv_model("CONV_2D", small((1, 6, 6, 16), 16, (3, 3))), 1.1),
    "matrix.nibbles_narrow_mve": (conv_model("CONV_2D", small((1, 9, 9, 3), 16, (3, 3))), 1.02),
    "matrix.nibbles_rows_mve": (dense_model(Dense(1, 128, 128, weights_type="int4")), 1.06),
}


@pytest.mark.arm
@pytest.mark.parametrize("name", COSTS)
def test_four_bits_cost_few_cycles(name: str) -> None:
    model, most = COSTS[name]
    own, other = (
        check_forced(model, kernel, CORE, counts_cycles=True).cycles
        for kernel in (name, KERNELS[name])
    )
    assert own is not None
    assert other is not None
    assert own <= most * other, (own, other)


@pytest.mark.parametrize("core", [CORE, "cortex-m85"])
def test_balanced_stores_two_weights_to_a_byte_and_speed_does_not(core: str) -> None:
    model = conv_model("CONV_2D", small((1, 12, 12, 64), 64, (1, 1)))
    for goal, chosen in ((Goal.BALANCED, "matrix.nibbles_direct_mve"), (Goal.SPEED, None)):
        compilation = compile_model(model, "m.tflite", Options("m", core=core, goal=goal))
        found = variants_of(compilation)
        assert (chosen in found) if chosen else not found & set(KERNELS)
