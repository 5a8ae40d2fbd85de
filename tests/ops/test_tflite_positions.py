"""TOPK_V2, ONE_HOT and SCATTER_ND equal LiteRT's kernels."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference
from tests.support.single_op import Tensor, ints, single_op_model


@pytest.mark.parametrize("dtype", ["float32", "int8", "int32"])
@pytest.mark.parametrize("count", [1, 3, 7])
def test_the_largest_elements(dtype: str, count: int) -> None:
    results = [Tensor((2, count), dtype), Tensor((2, count), "int32")]
    data = single_op_model("TOPK_V2", [Tensor((2, 7), dtype), ints(count)], results)
    check_model(data, oracle=run_litert_reference)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int8"])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot(dtype: str, axis: int) -> None:
    shape = [3, 2]
    shape.insert(axis % 3, 5)
    model = ModelBuilder()
    indices = model.input("i", (3, 2), "int32")
    quantization = (0.5, -3) if dtype == "int8" else (None, 0)
    values = [
        model.constant(n, np.array(v, dtype), *quantization) for n, v in (("on", 7), ("off", 2))
    ]
    y = model.tensor("y", shape, dtype, *quantization)
    model.op(
        "ONE_HOT",
        [indices, model.constant("d", np.array(5, np.int32)), *values],
        [y],
        {"axis": axis},
    )
    model.output(y)
    given = np.array([[0, 4], [2, -1], [5, 1]], np.int32)
    check_model(model.finish(), [[given]], run_litert_reference)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize(
    ("shape", "indices", "updates"),
    [
        ((6,), (4, 1), (4,)),
        ((3, 4), (4, 2), (4,)),
        ((3, 4), (2, 1), (2, 4)),
        ((2, 2, 3), (2, 2), (2, 3)),
    ],
    ids=str,
)
def test_scatter_nd(
    dtype: str, shape: tuple[int, ...], indices: tuple[int, ...], updates: tuple[int, ...]
) -> None:
    draw = np.random.default_rng(5)
    sizes = shape[: indices[-1]]
    given = np.stack([draw.integers(0, size, indices[:-1]) for size in sizes], -1).astype(np.int32)
    data = single_op_model(
        "SCATTER_ND", [Tensor(indices, "int32"), Tensor(updates, dtype), ints(*shape)],
        [Tensor(shape, dtype)],
    )  # fmt: skip
    values = draw.integers(-9, 9, updates).astype(dtype)
    check_model(data, [[given, values]], run_litert_reference)


REFUSED = {
    "more than there are": ("TOPK_V2", [Tensor((4,)), ints(5)], [(5,), (5,)], "cannot take 5"),
    "no number": ("TOPK_V2", [Tensor((4,)), ints()], [(1,), (1,)], "0 numbers of elements"),
    "no depth": (
        "ONE_HOT", [Tensor((2,), "int32"), ints(0), ints(1), ints(0)], [(2, 1)], r"depth \[0\]"),
    "several values": (
        "ONE_HOT", [Tensor((2,), "int32"), ints(2), ints(1, 2), ints(0)], [(2, 2)], "values"),
    "a place outside": (
        "SCATTER_ND", [np.array([[7]], np.int32), Tensor((1,), "float32"), ints(4)], [(4,)],
        r"index \[7\] is outside \[4\]"),
    "more coordinates than axes": (
        "SCATTER_ND", [Tensor((2, 3), "int32"), Tensor((2,), "float32"), ints(4)], [(4,)],
        "are no coordinates"),
    "an axis of billions": (
        "SCATTER_ND", [Tensor((2, 1), "int32"), Tensor((2,), "float32"), ints(1 << 30)], [(4,)],
        "GM114"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "operands", "results", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused(kind: str, operands: list, results: list, said: str) -> None:
    options = {"axis": -1} if kind == "ONE_HOT" else {}
    tensors = [Tensor(shape, "float32" if kind == "SCATTER_ND" else "int32") for shape in results]
    data = single_op_model(kind, operands, tensors, options)
    with pytest.raises(GlowmcuError, match=said):
        compile_model(data, "m.tflite", Options("m"))
