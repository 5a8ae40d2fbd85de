"""Reductions of ONNX equal onnxruntime: axes by attribute or operand, types, empty axes."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.onnx_models import onnx_model, run_onnxruntime, run_reference

KINDS = ["ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1",
         "ReduceSumSquare"]  # fmt: skip
AXES = {
    "image to channels": ((1, 5, 7, 3), (1, 2)),
    "every other axis": ((2, 3, 4, 5), (-4, 2)),
    "innermost": ((3, 13), (1,)),
    "everything": ((2, 3, 5), (0, 1, 2)),
    "an axis of one": ((3, 1, 4), (1,)),
}


def axes_of(*axes: int) -> np.ndarray:
    return np.array(axes, np.int64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "axes"), AXES.values(), ids=AXES)
def test_real_numbers_equal_onnxruntime(kind: str, shape, axes) -> None:
    attributes = {"keepdims": len(axes) % 2}
    x = ("x", "float32", shape)
    if kind == "ReduceSum":
        data = onnx_model(kind, [x, axes_of(*axes)], attributes)
    else:
        data = onnx_model(kind, [x], {**attributes, "axes": axes}, opset=13)
    check_model(data, oracle=run_onnxruntime, count=2)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("ReduceSum", "int32"), ("ReduceSum", "int64"), ("ReduceProd", "int32"),
     ("ReduceL1", "int32"), ("ReduceSumSquare", "int32"), ("ReduceMax", "int8"),
     ("ReduceMin", "uint8"), ("ReduceMax", "int32"), ("ReduceMin", "int64")],
)  # fmt: skip
def test_integers_equal_onnxruntime(kind: str, dtype: str) -> None:
    data = onnx_model(kind, [("x", dtype, (2, 3, 4)), axes_of(0, 2)], {"keepdims": 0})
    if kind in ("ReduceL1", "ReduceProd", "ReduceSumSquare", "ReduceMax", "ReduceMin"):
        data = onnx_model(kind, [("x", dtype, (2, 3, 4))], {"keepdims": 0, "axes": [0, 2]}, 1, 13)
    x = np.random.default_rng(1).integers(-9 if dtype != "uint8" else 0, 9, (2, 3, 4))
    check_model(data, [[x.astype(dtype)]], run_onnxruntime)


@pytest.mark.parametrize("kind", ["ReduceL2", "ReduceLogSum", "ReduceLogSumExp"])
@pytest.mark.parametrize(("axes", "keep"), [((1,), 0), ((0, 2), 1), ((0, 1, 2), 0)])
def test_functions_of_sums_equal_onnxruntime(kind: str, axes, keep: int) -> None:
    data = onnx_model(kind, [("x", "float32", (2, 3, 4))], {"axes": axes, "keepdims": keep}, 1, 13)
    x = np.random.default_rng(4).normal(size=(2, 3, 4)).astype(np.float32)
    large = x * 50 if kind == "ReduceLogSumExp" else np.abs(x)
    check_model(data, [[np.abs(x)], [large]], run_onnxruntime)


def test_sums_of_integers_wrap() -> None:
    data = onnx_model("ReduceSum", [("x", "int32", (3, 2)), axes_of(0)])
    x = np.array([[2**31 - 1, -(2**31)], [1, -1], [5, -7]], np.int32)
    check_model(data, [[x]])


def test_without_axes_everything_is_reduced_or_nothing() -> None:
    x = ("x", "float32", (3, 4))
    check_model(onnx_model("ReduceMax", [x], opset=13), oracle=run_onnxruntime)
    noop = {"noop_with_empty_axes": 1}
    check_model(onnx_model("ReduceSum", [x, axes_of()], noop), oracle=run_onnxruntime)
    # onnxruntime 1.23, the last one for Python 3.10, refuses it.
    check_model(onnx_model("ReduceSum", [x], noop), oracle=run_reference)


def test_a_long_sum_keeps_its_precision() -> None:
    data = onnx_model("ReduceMean", [("x", "float32", (1, 3, 200, 150))], {"axes": [2, 3]}, 1, 13)
    x = np.random.default_rng(0).random((1, 3, 200, 150)).astype(np.float32) + 1
    check_model(data, [[x]])


def test_bools_are_reduced_by_any_and_all() -> None:
    x = np.array([[False, False, True], [True, True, True], [False, False, False]])
    for kind, want in (("ReduceMax", x.any(1)), ("ReduceMin", x.all(1))):
        data = onnx_model(kind, [("x", "bool", (3, 3)), axes_of(1)], {"keepdims": 0}, opset=20)
        check_model(data, [[x]], lambda _data, _inputs, want=want: [want])


def test_an_axis_outside_the_rank_is_refused() -> None:
    data = onnx_model("ReduceSum", [("x", "float32", (2, 3)), axes_of(2)])
    with pytest.raises(GlowmcuError, match="ReduceSum: axis 2 is outside rank 2"):
        compile_model(data, "m.onnx", Options("m"))


def test_a_mean_of_integers_is_refused() -> None:
    data = onnx_model("ReduceMean", [("x", "int32", (2, 3))])
    with pytest.raises(GlowmcuError, match="a mean of plain integers is not supported"):
        compile_model(data, "m.onnx", Options("m"))


def test_of_no_bools_there_is_no_result_and_nothing_is_said_of_a_scale() -> None:
    data = onnx_model("ReduceMax", [("x", "bool", (2, 0, 4)), axes_of(1)], {}, opset=20)
    with pytest.raises(GlowmcuError, match=r"nothing to reduce in bool\[2x0x4\]: only f32") as told:
        compile_model(data, "m.onnx", Options("m"))
    assert "quantized" not in str(told.value)
