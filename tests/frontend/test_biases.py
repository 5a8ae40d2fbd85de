"""MatMul and Add are one fully connected layer, as Gemm is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.frontend.onnx.reader import read_onnx
from glowmcu.ir.graph import Node
from glowmcu.ops.matmul import FullyConnected
from tests.support.check_model import check_model
from tests.support.onnx_models import finished, run_onnxruntime

onnx = pytest.importorskip("onnx", reason="pip install onnx")
helper, REAL = onnx.helper, onnx.TensorProto.FLOAT


def model(row: Any, shape: tuple[int, ...] = (2, 4), turned: bool = False, again: bool = False,
          gemm: bool = False) -> bytes:  # fmt: skip
    draw = np.random.default_rng(0)
    constants = [
        onnx.numpy_helper.from_array(draw.normal(size=(4, 3)).astype(np.float32), "w"),
        onnx.numpy_helper.from_array(np.array(row, np.float32), "row"),
    ]
    operands = ["row", "p"] if turned else ["p", "row"]
    product = ("Gemm", ["x", "w", "row"]) if gemm else ("MatMul", ["x", "w"])
    nodes = [helper.make_node(*product, ["p"]), helper.make_node("Add", operands, ["y"])]
    value = helper.make_tensor_value_info
    results = [value("y", REAL, None)] + [value("p", REAL, None)] * again
    return finished(onnx, nodes, [value("x", REAL, shape)], results, constants)


def layers(data: bytes) -> list[Node]:
    nodes = read_onnx(data, "m.onnx").nodes
    assert any(isinstance(node.op, FullyConnected) for node in nodes)
    return [node for node in nodes if node.op.name != "constant"]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("shape", [(2, 4), (2, 5, 4)], ids=["rows", "sequences"])
def test_a_row_that_is_added_is_the_bias(shape: tuple[int, ...], turned: bool) -> None:
    data = model([[1, -2, 0.5]], shape, turned)
    (layer,) = layers(data)
    assert layer.output.name == "y"
    check_model(data, oracle=run_onnxruntime)


OTHERS: dict[str, dict[str, Any]] = {
    "a number": {"row": 2.0},
    "a column": {"row": [[1.0], [2.0]]},
    "more rows than products": {"row": [[[1.0, 2.0, 3.0]]] * 3},
    "the product is an output": {"row": [1, 2, 3], "again": True},
    "there is a bias": {"row": [1, 2, 3], "gemm": True},
}


@pytest.mark.parametrize("options", OTHERS.values(), ids=OTHERS)
def test_what_else_is_added_stays(options: dict[str, Any]) -> None:
    data = model(**options)
    assert len(layers(data)) == 2
    check_model(data, oracle=run_onnxruntime)
