"""ArgMax, ArgMin, CumSum, TopK and Hardmax of ONNX equal onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model
from glowmcu.verify.host import Host
from tests.support.check_model import check_model, write_bundle
from tests.support.onnx_models import onnx_model, run_onnxruntime

# With ties: few different values.
TIES = np.random.default_rng(5).integers(-2, 3, (3, 5, 4))


@pytest.mark.parametrize("kind", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1], ids=["first of equal ones", "last of equal ones"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "uint8"])
def test_positions_of_extremes(kind: str, last: int, dtype: str) -> None:
    x = (TIES if dtype != "uint8" else TIES + 2).astype(dtype)
    attributes = {"axis": -2, "select_last_index": last, "keepdims": last}
    data = onnx_model(kind, [("x", dtype, x.shape)], attributes)
    check_model(data, [[x]], run_onnxruntime)


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_running_sums(exclusive: int, reverse: int, dtype: str) -> None:
    attributes = {"exclusive": exclusive, "reverse": reverse}
    operands = [("x", dtype, TIES.shape), np.array(1, np.int64)]
    check_model(onnx_model("CumSum", operands, attributes), [[TIES.astype(dtype)]], run_onnxruntime)


def test_running_sums_of_integers_wrap() -> None:
    x = np.array([2**31 - 1, 1, -(2**31), -1], np.int32)
    check_model(onnx_model("CumSum", [("x", "int32", (4,)), np.array(0, np.int64)]), [[x]])


@pytest.mark.parametrize("largest", [0, 1], ids=["smallest", "largest"])
@pytest.mark.parametrize(("axis", "count"), [(1, 1), (1, 5), (-1, 3), (0, 2)])
def test_the_best_of_equal_ones_comes_first(largest: int, axis: int, count: int) -> None:
    operands = [("x", "float32", TIES.shape), np.array([count], np.int64)]
    data = onnx_model("TopK", operands, {"axis": axis, "largest": largest}, outputs=2)
    check_model(data, [[TIES.astype(np.float32)]], run_onnxruntime)


def test_top_k_of_more_than_there_are_is_refused() -> None:
    data = onnx_model("TopK", [("x", "float32", (2, 3)), np.array([4], np.int64)], outputs=2)
    with pytest.raises(GlowmcuError, match="cannot take 4 elements along axis 1"):
        compile_model(data, "m.onnx", Options("m"))


@pytest.mark.parametrize(("axis", "opset"), [(0, 13), (1, 13), (-1, 13), (1, 11), (2, 11)])
def test_one_at_the_largest(axis: int, opset: int) -> None:
    x = TIES.astype(np.float32)
    data = onnx_model("Hardmax", [("x", "float32", x.shape)], {"axis": axis}, opset=opset)
    check_model(data, [[x]], run_onnxruntime)


def test_not_a_number_never_leads_out_of_the_tensor(tmp_path) -> None:
    data = onnx_model("TopK", [("x", "float32", (3,)), np.array([3], np.int64)], outputs=2)
    write_bundle(compile_model(data, "m.onnx", Options("m")), tmp_path)
    (result,) = Host().run(tmp_path, [[np.array([np.nan, 1.0, np.nan], np.float32)]])
    assert set(result.outputs[1]) <= {0, 1, 2}
