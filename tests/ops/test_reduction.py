"""Reductions equal TensorFlow Lite Micro: any axes, rescaling up and down, rounding of halves."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm
from tests.support.single_op import Tensor, ints, single_op_model

KINDS = ["MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"]
# shape, axes
AXES = {
    "image to channels": ((1, 5, 7, 3), (1, 2)),
    "axes in any order, one twice": ((2, 3, 4, 2), (2, -3, 2)),
    "innermost": ((3, 13), (1,)),
    "outermost": ((13, 3), (0,)),
    "every other axis": ((2, 3, 4, 5), (0, 2)),
    "all but the middle": ((2, 3, 4), (0, -1)),
    "everything": ((2, 3, 5), (0, 1, 2)),
    "an axis of one": ((3, 1, 4), (1,)),
    "no axis": ((2, 3), ()),
    "256 elements": ((1, 16, 16, 1), (1, 2)),
}


def reduced_shape(shape, axes, keep_dims: bool):
    positive = {axis % len(shape) for axis in axes}
    sizes = [1 if axis in positive else size for axis, size in enumerate(shape)]
    return tuple(n for axis, n in enumerate(sizes) if keep_dims or axis not in positive)


def reduction_model(kind, shape, axes, keep_dims, x=(0.5, -3), y=(0.5, -3)) -> bytes:
    out = reduced_shape(shape, axes, keep_dims)
    return single_op_model(
        kind,
        [Tensor(shape, "int8", *x), ints(*axes)],
        [Tensor(out, "int8", *y)],
        {"keep_dims": keep_dims},
    )


def all_reductions(shape, axes) -> bytes:
    """Every kind, with and without `keep_dims`, of one input: eight outputs."""
    model = ModelBuilder()
    x = model.input("x", shape, "int8", 0.5, -3)
    where = model.constant("axes", ints(*axes))
    for kind in KINDS:
        quantization = (0.75, 5) if kind in ("MEAN", "SUM") else (0.5, -3)
        for keep_dims in (True, False):
            out = reduced_shape(shape, axes, keep_dims)
            y = model.tensor(f"{kind}_{keep_dims}", out, "int8", *quantization)
            model.op(kind, [x, where], [y], {"keep_dims": keep_dims})
            model.output(y)
    return model.finish()


@pytest.mark.parametrize(("shape", "axes"), AXES.values(), ids=AXES)
def test_reductions_equal_tflm(shape, axes) -> None:
    check_model(all_reductions(shape, axes), oracle=run_tflm)


SCALES = {
    "the same": ((0.02, 3), (0.02, 3)),
    "larger result": ((0.1, -128), (0.011, -128)),
    "far larger result": ((3.7, 127), (0.0013, 0)),
    "smaller result": ((0.013, 0), (0.9, 127)),
    "tiny result": ((1e-5, 17), (35.0, -7)),
    "beyond any shift": ((1e-9, 17), (35.0, -7)),
}


@pytest.mark.parametrize("kind", ["MEAN", "SUM"])
@pytest.mark.parametrize(("x", "y"), SCALES.values(), ids=SCALES)
def test_rescaling_sums_equals_tflm(kind: str, x, y) -> None:
    check_model(reduction_model(kind, (2, 3, 5), (1,), False, x, y), oracle=run_tflm, count=8)
    check_model(reduction_model(kind, (1, 7, 11, 2), (1, 2), True, x, y), oracle=run_tflm, count=8)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 9, 31, 32, 33, 49, 127, 128])
def test_means_of_any_count_equal_tflm(count: int) -> None:
    data = reduction_model("MEAN", (40, count), (1,), False, (0.05, -3), (0.05, 4))
    check_model(data, oracle=run_tflm, count=3)


def test_means_halfway_between_integers_round_as_tflm() -> None:
    pairs = np.array([(a, b) for a in range(-6, 7) for b in range(-6, 7)], np.int8)
    data = reduction_model("MEAN", pairs.shape, (1,), False, (0.5, 0), (0.5, 0))
    check_model(data, [[pairs]], run_tflm)


def test_largest_and_smallest_of_extremes() -> None:
    x = np.array([[-128, -128], [127, 127], [-128, 127], [0, -1]], np.int8)
    for kind in ("REDUCE_MAX", "REDUCE_MIN"):
        check_model(reduction_model(kind, (4, 2), (1,), False), [[x]], run_tflm)


@pytest.mark.parametrize("axes", [(1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize(
    ("kind", "oracle"), [("REDUCE_ALL", run_tflm), ("REDUCE_ANY", run_litert_reference)]
)
def test_all_and_any_of_bools(kind: str, oracle, axes) -> None:
    """TFLM has no REDUCE_ANY."""
    out = Tensor(reduced_shape((3, 4, 2), axes, False), "bool")
    operands = [Tensor((3, 4, 2), "bool"), ints(*axes)]
    data = single_op_model(kind, operands, [out], {"keep_dims": False})
    generator = np.random.default_rng(3)
    sets = [[generator.random((3, 4, 2)) < share] for share in (0.0, 0.05, 0.5, 0.95, 1.0)]
    check_model(data, sets, oracle)


def test_the_emitted_comment_states_the_accumulator_bound() -> None:
    data = reduction_model("MEAN", (1, 5, 7, 3), (1, 2), True)
    text = compile_model(data, "m.tflite", Options("m")).files["m.c"]
    assert "35 elements a result; |acc| <= 4 585 < 2^31" in text


def test_another_scale_for_an_extreme_is_refused() -> None:
    operands, results = [Tensor((2, 3)), ints(1)], [Tensor((2,), scale=0.25)]
    data = single_op_model("REDUCE_MAX", operands, results, {"keep_dims": False})
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert "expected a result quantized as int8[2x3] scale 0.5 zp -3" in str(caught.value)


def test_an_axis_outside_the_rank_is_refused() -> None:
    data = single_op_model("SUM", [Tensor((2, 3)), ints(2)], [Tensor((2, 3))], {"keep_dims": True})
    with pytest.raises(GlowmcuError, match="sum: axis 2 is outside rank 2"):
        compile_model(data, "m.tflite", Options("m"))


def test_a_sum_that_could_leave_int32_is_refused() -> None:
    data = single_op_model(
        "SUM", [Tensor((1 << 24,), zero_point=-3), ints(0)], [Tensor(())], {"keep_dims": False}
    )
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert "GM502" in str(caught.value)
    assert "a sum of 16777216 elements can reach 2197815296" in str(caught.value)


@pytest.mark.parametrize("axes", [(1,), (0, 2)], ids=["one axis", "two axes"])
@pytest.mark.parametrize(("dtype", "scales"), [("int8", (0.01, 0.02)), ("int16", (4e-5, 1e-4))])
def test_products_of_stored_numbers_are_the_nearest_to_the_real_ones(
    dtype: str, scales: tuple[float, float], axes: tuple[int, ...]
) -> None:
    """LiteRT rounds after every factor, and is off by some steps."""
    shape = (2, 4, 2)
    kept = tuple(n for axis, n in enumerate(shape) if axis not in axes)
    x, y = Tensor(shape, dtype, scales[0]), Tensor(kept, dtype, scales[1])
    data = single_op_model("REDUCE_PROD", [x, ints(*axes)], [y], {"keep_dims": False})
    graph = check_model(data).imported
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    stored = np.random.default_rng(4).integers(low, high, shape, dtype)
    (found,) = run_graph(graph, [stored])
    offsets = stored.astype(float) - x.quantization[1]
    real = np.prod(offsets * scales[0], axes) / scales[1] + y.quantization[1]
    assert np.abs(found - np.clip(real, low, high)).max() <= 0.51
    (litert,) = run_litert_reference(data, [stored])
    assert np.abs(found.astype(int) - litert).max() <= (high - low) / 50


@pytest.mark.parametrize("kind", ["FLOOR_DIV", "FLOOR_MOD"])
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_quotients_of_plain_integers_are_rounded_down(kind: str, dtype: str) -> None:
    x = Tensor((2, 40), dtype, None)
    data = single_op_model(kind, [x, x], [x])
    random, limits = np.random.default_rng(5), np.iinfo(dtype)
    a = random.integers(limits.min, limits.max, (2, 40), dtype)
    b = random.choice(np.array([-7, -1, 1, 2, 3, 100, limits.max], dtype), (2, 40))
    a[0, 0], b[0, 0] = limits.min, 2
    a[b == -1] = np.maximum(a[b == -1], -limits.max)
    check_model(data, [[a, b]], run_litert_reference)
