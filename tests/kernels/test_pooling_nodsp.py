"""average_pool_2d.words_nodsp and max_pool_2d.words_nodsp: windows, limits, every mean and pair."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from tests.kernels.test_pooling_dsp import rounded
from tests.ops.test_pooling import Case, pool_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

VARIANTS = {
    "AVERAGE_POOL_2D": "average_pool_2d.words_nodsp",
    "MAX_POOL_2D": "max_pool_2d.words_nodsp",
}
SHAPES = {
    "one pixel": Case((1, 1, 1, 4), (1, 1)),
    "kernel of one, stride 2": Case((1, 5, 4, 8), (1, 1), (2, 2)),
    "four channels": Case((1, 4, 4, 4), (2, 2), (2, 2)),
    "twelve channels, whole image": Case((1, 7, 5, 12), (7, 5)),
    "same padding, corner of one pixel": Case((1, 6, 5, 8), (2, 2), (3, 3), "SAME"),
    "odd size, same padding": Case((1, 5, 7, 12), (3, 3), (2, 2), "SAME"),
    "kernel larger than the image": Case((1, 2, 3, 4), (5, 7), (1, 1), "SAME"),
    "batch of three": Case((3, 4, 3, 8), (2, 3), (1, 1), "SAME"),
    "256 taps": Case((1, 16, 16, 8), (16, 16)),
    "relu6": Case((1, 4, 4, 8), (2, 2), (1, 1), "SAME", "RELU6"),
    "relu between -1 and 1": Case((1, 4, 4, 4), (3, 2), (1, 1), "SAME", "RELU_N1_TO_1"),
}
LAYERS = {
    kind: ForcedLayers(variant, SHAPES, partial(pool_model, kind), "cortex-m0plus")
    for kind, variant in VARIANTS.items()
}


@pytest.mark.parametrize("kind", VARIANTS)
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape(kind: str, name: str) -> None:
    LAYERS[kind].check(name)


@pytest.mark.parametrize(
    ("kind", "core"),
    [("AVERAGE_POOL_2D", "cortex-m3"), ("MAX_POOL_2D", "cortex-m3"), ("MAX_POOL_2D", "hazard3")],
)
def test_other_cores(kind: str, core: str) -> None:
    check_forced(pool_model(kind, SHAPES["odd size, same padding"]), VARIANTS[kind], core)


@pytest.mark.parametrize(
    ("kind", "case"),
    [
        ("MAX_POOL_2D", Case((1, 4, 4, 6), (2, 2))),
        ("AVERAGE_POOL_2D", Case((1, 4, 4, 6), (2, 2))),
        ("AVERAGE_POOL_2D", Case((1, 17, 16, 8), (17, 16))),
    ],
)
def test_channels_that_fill_no_word_and_larger_windows_stay_portable(kind: str, case: Case) -> None:
    compilation = compile_forced(pool_model(kind, case), VARIANTS[kind], "cortex-m0plus")
    assert VARIANTS[kind] not in variants_of(compilation)


@pytest.mark.parametrize(("first", "is_aligned"), [(8, True), (6, False), (5, False)])
def test_a_view_at_any_byte_is_read_by_bytes(first: int, is_aligned: bool) -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 140), "int8", 0.1, 3)
    begin, size = (
        model.constant(n, np.array(v, np.int32)) for n, v in (("b", [0, first]), ("s", [1, 128]))
    )
    part = model.tensor("part", (1, 128), "int8", 0.1, 3)
    model.op("SLICE", [x, begin, size], [part])
    image = model.tensor("image", (1, 4, 4, 8), "int8", 0.1, 3)
    model.op("RESHAPE", [part, model.constant("shape", np.array([1, 4, 4, 8], np.int32))], [image])
    y = model.tensor("y", (1, 2, 2, 8), "int8", 0.1, 3)
    options = {"padding": 1, "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
    model.op("MAX_POOL_2D", [image], [y], options)
    model.output(y)
    data, variant = model.finish(), VARIANTS["MAX_POOL_2D"]
    assert (variant in variants_of(compile_forced(data, variant, "cortex-m0plus"))) is is_aligned
    check_forced(data, variant if is_aligned else "max_pool_2d.portable", "cortex-m0plus")


def test_the_reciprocal_rounds_every_sum_of_every_window_as_a_division() -> None:
    """What the C computes, in uint32."""
    for count in range(1, 257):
        sums = np.arange(-128 * count, 127 * count + 1, dtype=np.int64)
        products = (np.abs(sums) + count // 2) * (0xFFFFFF // count + 1)
        assert products.max() < 2**32
        assert np.array_equal(np.sign(sums) * (products >> 24), rounded(sums, count)), count


def test_the_larger_of_every_pair_of_bytes_is_found() -> None:
    """Each byte beside others, which must not carry into it."""
    builder = ModelBuilder()
    x = builder.input("x", (1, 2, 65536, 4), "int8", 0.05, 3)
    y = builder.tensor("y", (1, 1, 65536, 4), "int8", 0.05, 3)
    options = {"padding": "VALID", "stride_h": 2, "stride_w": 1, "filter_height": 2}
    builder.op("MAX_POOL_2D", [x], [y], {**options, "filter_width": 1})
    builder.output(y)
    values = np.arange(-128, 128).astype(np.int8)
    pairs = np.stack(np.meshgrid(values, values)).reshape(2, -1)
    image = np.stack([pairs, pairs[::-1], np.roll(pairs, 77, axis=1), pairs], axis=2)
    inputs = [[np.ascontiguousarray(image[np.newaxis])]]
    check_forced(builder.finish(), "max_pool_2d.words_nodsp", "hazard3", inputs=inputs)
