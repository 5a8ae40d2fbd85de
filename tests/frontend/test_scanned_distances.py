"""Scans of skl2onnx that take squared distances, and some that do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.frontend.onnx.reader import read_onnx
from tests.support.check_model import check_model
from tests.support.onnx_models import finished, run_onnxruntime

onnx = pytest.importorskip("onnx", reason="pip install onnx")
helper, REAL = onnx.helper, onnx.TensorProto.FLOAT
ROWS = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)


def scan(change: str = "", **attributes: Any) -> bytes:
    """`x` (2, 3) goes from trip to trip, and its distances from each of `ROWS` are stacked."""
    carried = "Neg" if change == "changes what it carries" else "Identity"
    kind = "ReduceSum" if change == "no squares" else "ReduceSumSquare"
    axes = {"axes": [0]} if change == "along rows" else {}
    if kind != "ReduceSum" and not axes:
        axes = {"axes": [1]}
    inputs = ["d", "axis"] if kind == "ReduceSum" else ["d"]
    nodes = [
        helper.make_node(carried, ["x"], ["x_out"]),
        helper.make_node("Sub", ["row", "x"] if change == "turned" else ["x", "row"], ["d"]),
        helper.make_node(kind, inputs, ["sums"], keepdims=0, **axes),
        helper.make_node("Identity", ["sums"], ["out"]),
    ]
    axis = onnx.numpy_helper.from_array(np.array([1]), "axis")
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        nodes, "body", [value("x", REAL, [None, 3]), value("row", REAL, [3])],
        [value("x_out", REAL, [None, 3]), value("out", REAL, [None])], [axis],
    )  # fmt: skip
    node = helper.make_node(
        "Scan", ["q", "rows"], ["last", "y"], body=body, num_scan_inputs=1, **attributes
    )
    return finished(
        onnx, [node], [value("q", REAL, [2, 3])],
        [value("last", REAL, [2, 3]), value("y", REAL, None)],
        [onnx.numpy_helper.from_array(ROWS, "rows")], 17,
    )  # fmt: skip


def kinds(data: bytes) -> set[str]:
    return {node.op.name for node in read_onnx(data, "m.onnx").nodes}


@pytest.mark.parametrize("change", ["", "turned"])
def test_squared_distances_are_one_operator(change: str) -> None:
    data = scan(change)
    assert "squared_distances" in kinds(data)
    check_model(data, oracle=run_onnxruntime)


@pytest.mark.parametrize("change", ["no squares", "along rows", "changes what it carries"])
def test_other_bodies_stay_loops(change: str) -> None:
    data = scan(change)
    assert "squared_distances" not in kinds(data)
    check_model(data, oracle=run_onnxruntime)


@pytest.mark.parametrize("name", ["scan_input_directions", "scan_output_directions"])
def test_other_directions_stay_loops(name: str) -> None:
    data = scan(**{name: [1]})
    assert "squared_distances" not in kinds(data)
    check_model(data, oracle=run_onnxruntime)
