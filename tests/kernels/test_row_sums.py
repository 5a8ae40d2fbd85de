"""average_pool_2d.rows, reduce_sum.rows and depthwise_conv_2d.row_sums: every shape as one call.

`tests/test_accumulating.py` takes the same samples in parts.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.calibration_layers import model as layers
from benchmarks.calibration_layers import sample_count
from tests.kernels.test_reduction_dsp import model as reduction_model
from tests.ops.test_convolution import Case as Convolution
from tests.ops.test_convolution import conv_model
from tests.ops.test_pooling import Case, pool_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of
from tests.support.single_op import Tensor, ints, single_op_model

POOL, REDUCTION, DEPTHWISE = (
    "average_pool_2d.rows",
    "reduce_sum.rows",
    "depthwise_conv_2d.row_sums",
)
CORES = ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33")
POOLS = {
    "one pixel, one channel": Case((1, 1, 1, 1), (1, 1)),
    "two channels": Case((1, 5, 3, 2), (5, 3)),
    "three channels": Case((1, 3, 5, 3), (3, 5)),
    "four channels": Case((1, 2, 2, 4), (2, 2)),
    "odd size": Case((1, 7, 5, 5), (7, 5)),
    "six channels, one column": Case((1, 11, 1, 6), (11, 1)),
    "seven channels, one row": Case((1, 1, 13, 7), (1, 13)),
    "eight channels": Case((1, 3, 3, 8), (3, 3)),
    "nine channels, batch of two": Case((2, 4, 3, 9), (4, 3)),
    "sixty-four channels": Case((1, 25, 5, 64), (25, 5)),
    "256 pixels": Case((1, 16, 16, 4), (16, 16)),
    "257 pixels": Case((1, 257, 1, 5), (257, 1)),
    "rows of more than 256 pixels": Case((1, 2, 300, 4), (2, 300)),
    "many pixels, three channels": Case((1, 20, 17, 3), (20, 17)),
    "kernel larger than the image": Case((1, 2, 3, 6), (5, 7), (2, 3), "SAME"),
    "relu6": Case((1, 4, 4, 9), (4, 4), (4, 4), "SAME", "RELU6"),
    "relu between -1 and 1": Case((1, 17, 16, 5), (17, 16), (1, 1), "VALID", "RELU_N1_TO_1"),
}
#: Shape and axes.
REDUCTIONS = {
    "one channel": ((1, 5, 3, 1), (1, 2)),
    "three channels": ((1, 5, 3, 3), (1, 2)),
    "image": ((1, 7, 7, 12), (1, 2)),
    "batch of images": ((2, 3, 5, 9), (1, 2)),
    "rows only": ((1, 9, 3, 2), (1,)),
    "rank 3": ((2, 11, 6), (1,)),
    "everything but the batch": ((2, 3, 4, 5), (1, 2, 3)),
    "everything": ((1, 4, 3, 2), (0, 1, 2, 3)),
    "256 pixels": ((1, 16, 16, 4), (1, 2)),
    "257 pixels": ((1, 257, 1, 7), (1, 2)),
    "more than twice 256 pixels": ((1, 24, 24, 6), (1, 2)),
}
WINDOWS = {
    "one pixel, one channel": Convolution((1, 1, 1, 1), 1, (1, 1)),
    "one column": Convolution((1, 15, 1, 64), 64, (15, 1)),
    "three channels": Convolution((1, 5, 3, 3), 3, (5, 3)),
    "five channels, two columns out": Convolution((1, 7, 5, 5), 5, (7, 4), out_scale=2.0),
    "eight channels, stride 2": Convolution((1, 3, 7, 8), 8, (3, 3), (1, 2), out_scale=2.0),
    "padding below": Convolution((1, 2, 2, 9), 9, (3, 3), (2, 2), padding="SAME"),
    "padding on all sides": Convolution((1, 3, 7, 6), 6, (5, 3), (3, 1), padding="SAME"),
    "depth multiplier, batch of two": Convolution((2, 4, 3, 2), 6, (4, 2)),
    "dilation": Convolution((1, 9, 3, 5), 5, (5, 1), dilations=(2, 1)),
    "last row unused": Convolution((1, 4, 4, 4), 4, (3, 3), (2, 2)),
    "relu": Convolution((1, 6, 1, 7), 7, (6, 1), activation="RELU6"),
    "saturation": Convolution((1, 6, 1, 7), 7, (6, 1), out_scale=0.003),
    "scale above one": Convolution((1, 2, 1, 7), 7, (2, 1), out_scale=0.0004),
    "zero points at the ends": Convolution(
        (1, 6, 2, 9), 9, (7, 3), (6, 2), padding="SAME", zero_point=-128, out_zero_point=127
    ),
}
LOWEST, QUICK = "cortex-m0", "cortex-m4"


def pool(case: Case) -> bytes:
    return pool_model("AVERAGE_POOL_2D", case)


def mean(case: tuple[tuple[int, ...], tuple[int, ...]]) -> bytes:
    return reduction_model("MEAN", *case)


def total(case: tuple[tuple[int, ...], tuple[int, ...]]) -> bytes:
    return reduction_model("SUM", *case)


def depthwise(case: Convolution) -> bytes:
    return conv_model("DEPTHWISE_CONV_2D", case)


POOL_LAYERS = [ForcedLayers(POOL, POOLS, pool, core) for core in (LOWEST, QUICK)]
REDUCTION_LAYERS = {
    "MEAN": ForcedLayers(REDUCTION, REDUCTIONS, mean),
    "SUM": ForcedLayers(REDUCTION, REDUCTIONS, total),
}
WINDOW_LAYERS = [ForcedLayers(DEPTHWISE, WINDOWS, depthwise, core) for core in (LOWEST, QUICK)]


def real_reduction(kind: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> bytes:
    kept = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    operands = [Tensor(shape, "float32"), ints(*axes)]
    return single_op_model(kind, operands, [Tensor(kept, "float32")], {"keep_dims": False})


def samples() -> dict[str, bytes]:
    """Models of one operator that some accumulating variant accepts."""
    found = {f"pool, {name}": pool_model("AVERAGE_POOL_2D", case) for name, case in POOLS.items()}
    for kind in ("MEAN", "SUM"):
        for name, case in REDUCTIONS.items():
            found[f"{kind}, {name}"] = reduction_model(kind, *case)
    for name in ("odd size", "nine channels, batch of two", "relu6", "one pixel, one channel"):
        data = pool_model("AVERAGE_POOL_2D", POOLS[name], dtype="float32")
        found[f"pool, {name}, real numbers"] = data
    for kind in ("MEAN", "SUM"):
        for name in ("three channels", "batch of images", "rows only", "rank 3"):
            data = real_reduction(kind, *REDUCTIONS[name])
            found[f"{kind}, {name}, real numbers"] = data
    for name, window in WINDOWS.items():
        found[f"depthwise, {name}"] = conv_model("DEPTHWISE_CONV_2D", window)
    return found


@pytest.mark.parametrize("name", POOLS)
def test_every_pool(name: str) -> None:
    for layers_of_core in POOL_LAYERS:
        layers_of_core.check(name)


@pytest.mark.parametrize("kind", REDUCTION_LAYERS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_every_reduction(kind: str, name: str) -> None:
    REDUCTION_LAYERS[kind].check(name)


@pytest.mark.parametrize("name", WINDOWS)
def test_every_window_of_one_row(name: str) -> None:
    for layers_of_core in WINDOW_LAYERS:
        layers_of_core.check(name)


@pytest.mark.parametrize("core", CORES)
def test_every_core(core: str) -> None:
    check_forced(pool_model("AVERAGE_POOL_2D", POOLS["odd size"]), POOL, core)
    check_forced(reduction_model("MEAN", *REDUCTIONS["image"]), REDUCTION, core)
    window = WINDOWS["five channels, two columns out"]
    check_forced(conv_model("DEPTHWISE_CONV_2D", window), DEPTHWISE, core)


@pytest.mark.parametrize("name", ["256 pixels", "257 pixels", "two channels"])
@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4"])
def test_the_largest_sums(name: str, core: str) -> None:
    case = POOLS[name]
    alternating = np.where(np.arange(case.shape[3]) % 2, -128, 127).astype(np.int8)
    sets = [np.full(case.shape, value, np.int8) for value in (-128, 127)]
    sets += [np.broadcast_to(sign, case.shape).copy() for sign in (alternating, ~alternating)]
    inputs = [[x] for x in sets]
    check_forced(pool_model("AVERAGE_POOL_2D", case), POOL, core, inputs=inputs)
    data = reduction_model("SUM", case.shape, (1, 2), 200.0)
    check_forced(data, REDUCTION, core, inputs=inputs)


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4"])
def test_every_half_of_a_mean_of_two_rounds_away_from_zero(core: str) -> None:
    data = pool_model("AVERAGE_POOL_2D", Case((1, 2, 1, 511), (2, 1)))
    sums = np.arange(-256, 255)
    pairs = np.stack([sums // 2, sums - sums // 2]).astype(np.int8)
    check_forced(data, POOL, core, inputs=[[pairs.reshape(1, 2, 1, 511)]])


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4"])
@pytest.mark.parametrize("kind", ["AVERAGE_POOL_2D", "MEAN"])
def test_layers_of_all_sizes_share_functions(kind: str, core: str) -> None:
    samples = list(range(sample_count(kind)))
    name = POOL if kind == "AVERAGE_POOL_2D" else REDUCTION
    compilation = compile_forced(layers(kind, samples), name, core)
    chosen = [item for item in compilation.selections.values() if item.kernel_name == name]
    assert {item.code.view["sums"] for item in chosen} == {"few", "narrow", "wide"}
    assert len({item.code.function for item in chosen}) == 3 < len(chosen)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (pool_model("AVERAGE_POOL_2D", Case((1, 4, 4, 4), (2, 2), (2, 2))), POOL),
        (pool_model("AVERAGE_POOL_2D", Case((1, 4, 4, 4), (3, 3), (4, 4))), POOL),
        (reduction_model("MEAN", (1, 5, 4, 8), (1, 3)), REDUCTION),
        (reduction_model("MEAN", (1, 5, 4, 8), (2,)), REDUCTION),
        (reduction_model("MEAN", (2, 5, 4, 8), (0, 1)), REDUCTION),
        (conv_model("DEPTHWISE_CONV_2D", Convolution((1, 4, 4, 4), 4, (3, 3))), DEPTHWISE),
    ],
    ids=["two windows", "a window of a part", "channels", "columns", "batch", "two rows out"],
)
def test_what_is_not_one_sum_a_channel_stays_with_others(data: bytes, name: str) -> None:
    assert name not in variants_of(compile_forced(data, name, "cortex-m4"))
