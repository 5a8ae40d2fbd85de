"""average_pool_2d.dsp and max_pool_2d.dsp: every window, every channel count, every mean."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from tests.ops.test_pooling import CASES, Case, pool_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

VARIANTS = {"AVERAGE_POOL_2D": "average_pool_2d.dsp", "MAX_POOL_2D": "max_pool_2d.dsp"}
SHAPES = {
    "one pixel": Case((1, 1, 1, 4), (1, 1)),
    "kernel of one, stride 2": Case((1, 5, 4, 9), (1, 1), (2, 2)),
    "four channels": Case((1, 4, 4, 4), (2, 2), (2, 2)),
    "five channels": Case((1, 4, 4, 5), (2, 2), (2, 2)),
    "seven channels": Case((1, 4, 4, 7), (2, 2), (2, 2)),
    "eight channels": Case((1, 4, 4, 8), (2, 2), (2, 2)),
    "twelve channels": Case((1, 4, 4, 12), (2, 2), (2, 2)),
    "thirteen channels, whole image": Case((1, 7, 5, 13), (7, 5)),
    "same padding, corner of one pixel": Case((1, 6, 5, 10), (2, 2), (3, 3), "SAME"),
    "odd size, same padding": Case((1, 5, 7, 11), (3, 3), (2, 2), "SAME"),
    "kernel larger than the image": Case((1, 2, 3, 6), (5, 7), (1, 1), "SAME"),
    "batch of three": Case((3, 4, 3, 8), (2, 3), (1, 1), "SAME"),
    "256 taps": Case((1, 16, 16, 9), (16, 16)),
    "relu6": Case((1, 4, 4, 9), (2, 2), (1, 1), "SAME", "RELU6"),
    "relu between -1 and 1": Case((1, 4, 4, 5), (3, 2), (1, 1), "SAME", "RELU_N1_TO_1"),
}
LAYERS = {
    kind: ForcedLayers(variant, SHAPES, partial(pool_model, kind))
    for kind, variant in VARIANTS.items()
}


@pytest.mark.parametrize("kind", VARIANTS)
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape(kind: str, name: str) -> None:
    LAYERS[kind].check(name)


@pytest.mark.parametrize("core", ["cortex-m7", "cortex-m33"])
@pytest.mark.parametrize("kind", VARIANTS)
def test_other_cores(kind: str, core: str) -> None:
    check_forced(pool_model(kind, SHAPES["odd size, same padding"]), VARIANTS[kind], core)


def test_fewer_than_four_channels_and_larger_windows_stay_with_the_portable_kernel() -> None:
    few, large = CASES["odd size, same padding"], Case((1, 17, 16, 8), (17, 16))
    for kind, case in (("AVERAGE_POOL_2D", few), ("MAX_POOL_2D", few), ("AVERAGE_POOL_2D", large)):
        compilation = compile_forced(pool_model(kind, case), VARIANTS[kind], "cortex-m4")
        assert VARIANTS[kind] not in variants_of(compilation)


def rounded(sums: np.ndarray, count: int) -> np.ndarray:
    """Nearest, halves away from zero."""
    return np.sign(sums) * ((np.abs(sums) + count // 2) // count)


def test_the_reciprocal_rounds_every_sum_of_every_window_as_a_division() -> None:
    """What the C computes, in int64."""
    for count in range(1, 257):
        sums = np.arange(-128 * count, 127 * count + 1, dtype=np.int64)
        reciprocal = 0x3FFFFFFF // count + 2
        assert reciprocal < 2**31
        assert np.array_equal((4 * sums * reciprocal + 2**31) >> 32, rounded(sums, count)), count


def test_two_rows_of_one_channel_pool_to_every_mean() -> None:
    builder = ModelBuilder()
    x = builder.input("x", (1, 2, 511, 4), "int8", 0.05, 3)
    y = builder.tensor("y", (1, 1, 511, 4), "int8", 0.05, 3)
    options = {"padding": "VALID", "stride_h": 2, "stride_w": 1, "filter_height": 2}
    builder.op("AVERAGE_POOL_2D", [x], [y], {**options, "filter_width": 1})
    builder.output(y)
    sums = np.arange(-256, 255)
    pairs = np.stack([sums // 2, sums - sums // 2]).astype(np.int8)
    image = np.repeat(pairs[np.newaxis, :, :, np.newaxis], 4, axis=3)
    check_forced(builder.finish(), "average_pool_2d.dsp", inputs=[[np.ascontiguousarray(image)]])
