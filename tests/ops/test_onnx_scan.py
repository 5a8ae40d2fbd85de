"""ArgMax, ArgMin, CumSum, CumProd, TopK and Hardmax of ONNX equal onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.pipeline import compile_model, reference_graph
from glowmcu.verify.host import Host
from tests.support.check_model import check_model, write_bundle
from tests.support.onnx_models import Nodes, finished, onnx_model, run_onnxruntime, run_reference

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


def between_pairs(
    shape: tuple[int, ...], axis: int, exclusive: int, reverse: int, dtype: str = "int8",
    scales: tuple[float, float] = (0.05, 0.15),
) -> bytes:  # fmt: skip
    """Running sums of stored numbers to stored numbers."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    points = (3, -5) if dtype == "int8" else (0, 0)
    nodes = Nodes()
    pairs = [(nodes.number(s), nodes.number(z, dtype)) for s, z in zip(scales, points, strict=True)]
    real = nodes.add("DequantizeLinear", "x", *pairs[0])
    sums = nodes.add(
        "CumSum", real, nodes.number(axis, "int64"), exclusive=exclusive, reverse=reverse
    )
    result = onnx.ValueInfoProto(name=nodes.add("QuantizeLinear", sums, *pairs[1]))
    element = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x = onnx.helper.make_tensor_value_info("x", element, shape)
    return finished(onnx, nodes.nodes, [x], [result], nodes.constants, 21)


def is_real(graph: Graph) -> bool:
    """Whether anything is computed in float32."""
    return any(value.type.element.is_float for node in graph.nodes for value in node.outputs)


@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize(("shape", "axis"), [((3, 5, 4), 1), ((2, 200), -1), ((7,), 0)])
def test_running_sums_between_pairs_are_exact(
    shape: tuple[int, ...], axis: int, exclusive: int, reverse: int
) -> None:
    data = between_pairs(shape, axis, exclusive, reverse)
    found = check_model(data, oracle=run_onnxruntime)
    assert "cumsum" in [node.op.name for node in found.imported.nodes]
    assert not is_real(found.imported)


def test_running_sums_of_16_bits_are_exact() -> None:
    check_model(between_pairs((2, 30), 1, 0, 0, "int16"), oracle=run_onnxruntime)


def test_running_sums_of_a_far_smaller_scale_stay_float() -> None:
    data = between_pairs((2, 9), 1, 0, 0, scales=(1.0, 1e-9))
    assert is_real(compile_model(data, "m.onnx", Options("m")).imported)


def test_sums_that_leave_int32_stay_float() -> None:
    data = between_pairs((1 << 16, 1), 0, 0, 0, "int16")
    assert is_real(reference_graph(data, "m.onnx"))


@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize(("shape", "axis"), [((3, 5, 4), 1), ((2, 33), -1), ((1, 4), 0)])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_running_products(
    shape: tuple[int, ...], axis: int, exclusive: int, reverse: int, dtype: str
) -> None:
    """onnxruntime has no such operator."""
    operands = [("x", dtype, shape), np.array(axis, np.int64)]
    attributes = {"exclusive": exclusive, "reverse": reverse}
    data = onnx_model("CumProd", operands, attributes, opset=26)
    x = np.random.default_rng(3).uniform(0.5, 3, shape).astype(dtype)
    check_model(data, [[x]], run_reference)


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
