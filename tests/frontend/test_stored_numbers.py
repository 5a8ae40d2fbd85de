"""Stored numbers of ONNX, which have no scale: each DequantizeLinear says what it takes them for.

The result of a QuantizeLinear has one here, so that layers become integer ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.ir.types import ElementType
from glowmcu.ops.quantization import Dequantize, Quantize
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.onnx_models import finished, run_onnxruntime

onnx = pytest.importorskip("onnx", reason="pip install onnx")
FLOAT, INT8 = 1, 3


def constant(name: str, data: Any, dtype: Any = np.float32) -> Any:
    return onnx.numpy_helper.from_array(np.asarray(data, dtype), name)


def expect_same(data: bytes, shape: tuple[int, ...]) -> None:
    """Graph, generated C and onnxruntime agree to the bit."""
    for seed in range(3):
        x = np.random.default_rng(seed).normal(0, 3, shape).astype(np.float32)
        check_model(data, [[x]], oracle=run_onnxruntime)


def concatenated(position: int) -> bytes:
    """A tensor quantized by 0.25 beside one that is quantized by 0.5, or by nothing."""
    node = onnx.helper.make_node
    nodes = [
        node("QuantizeLinear", ["x", "quarter", "zero"], ["q"]),
        node("QuantizeLinear", ["x", "half", "zero"], ["h"]),
        node("Concat", [["q", "h"], ["q", "c"], ["c", "q"]][position], ["both"], axis=1),
        node("DequantizeLinear", ["both", "one", "zero"], ["y"]),
    ]
    constants = [
        constant("quarter", 0.25), constant("half", 0.5), constant("one", 1.0),
        constant("zero", 0, np.int8), constant("c", [[5, -3]], np.int8),
    ]  # fmt: skip
    x = onnx.helper.make_tensor_value_info("x", FLOAT, (1, 3))
    return finished(onnx, nodes, [x], [onnx.ValueInfoProto(name="y")], constants)


@pytest.mark.parametrize("position", [0, 1, 2], ids=["two scales", "one first", "one last"])
def test_stored_numbers_of_several_scales_stand_side_by_side(position: int) -> None:
    expect_same(concatenated(position), (1, 3))


def test_a_scale_other_than_the_quantizers_takes_no_real_numbers() -> None:
    """A sigmoid reads the sum of gates at a scale of its own: still one table of int8."""
    node = onnx.helper.make_node
    nodes = [
        node("QuantizeLinear", ["x", "quarter", "zero"], ["q"]),
        node("DequantizeLinear", ["q", "half", "zero"], ["real"]),
        node("Sigmoid", ["real"], ["s"]),
        node("QuantizeLinear", ["s", "small", "zero"], ["sq"]),
        node("DequantizeLinear", ["sq", "small", "zero"], ["y"]),
    ]
    constants = [
        constant("quarter", 0.25), constant("half", 0.5), constant("small", 1 / 128),
        constant("zero", 0, np.int8),
    ]  # fmt: skip
    x = onnx.helper.make_tensor_value_info("x", FLOAT, (1, 7))
    data = finished(onnx, nodes, [x], [onnx.ValueInfoProto(name="y")], constants)
    graph = reference_graph(data, "m.onnx")
    inner = [node for node in graph.nodes if not isinstance(node.op, Quantize | Dequantize)]
    assert all(v.type.element is ElementType.I8 for n in inner for v in n.outputs)
    expect_same(data, (1, 7))


@pytest.mark.parametrize("trips", [2, 40], ids=["written out", "as a loop"])
def test_a_state_that_begins_without_a_scale_is_carried(trips: int) -> None:
    """A Scan over stored numbers: the state is a constant, and the body quantizes the next one."""
    helper, node = onnx.helper, onnx.helper.make_node
    body = helper.make_graph(
        [
            node("Concat", ["slice", "state"], ["both"], axis=0),
            node("DequantizeLinear", ["both", "half", "zero"], ["real"]),
            node("ReduceMean", ["real"], ["mean"], axes=[0], keepdims=1),
            node("QuantizeLinear", ["mean", "small", "zero"], ["next"]),
            node("Identity", ["next"], ["row"]),
        ],
        "body",
        [helper.make_tensor_value_info("state", INT8, (1,)),
         helper.make_tensor_value_info("slice", INT8, (3,))],
        [helper.make_tensor_value_info("next", INT8, (1,)),
         helper.make_tensor_value_info("row", INT8, (1,))],
        [constant("half", 0.5), constant("small", 0.125), constant("zero", 0, np.int8)],
    )  # fmt: skip
    nodes = [
        node("QuantizeLinear", ["x", "quarter", "none"], ["q"]),
        node("Scan", ["start", "q"], ["last", "rows"], body=body, num_scan_inputs=1),
        node("DequantizeLinear", ["rows", "eighth", "none"], ["y"]),
    ]
    constants = [
        constant("quarter", 0.25), constant("eighth", 0.125), constant("none", 0, np.int8),
        constant("start", [4], np.int8),
    ]  # fmt: skip
    x = helper.make_tensor_value_info("x", FLOAT, (trips, 3))
    data = finished(onnx, nodes, [x], [onnx.ValueInfoProto(name="y")], constants, 17)
    expect_same(data, (trips, 3))


def of_stored_numbers() -> dict[str, tuple[Any, list[Any]]]:
    """Operators on stored numbers `q` of 1x2x4x4 that become `r`, with their constants."""
    node, whole = onnx.helper.make_node, np.int64
    return {
        "resize": (node("Resize", ["q", "", "sizes"], ["r"]), [constant("sizes", [1, 1, 2, 2])]),
        "odd resize": (
            node("Resize", ["q", "", "sizes"], ["r"], nearest_mode="ceil"),
            [constant("sizes", [1, 2, 1.7, 1.3])],
        ),
        "gather": (node("Gather", ["q", "at"], ["r"], axis=2), [constant("at", [2, 0, 3], whole)]),
        "pad": (node("Pad", ["q", "pads", "zero"], ["r"]),
                [constant("pads", [0, 0, 1, 0, 0, 0, 0, 1], whole)]),
        "top": (node("TopK", ["q", "k"], ["r", "places"], axis=2), [constant("k", [2], whole)]),
        "most": (node("ReduceMax", ["q"], ["r"], axes=[1]), []),
    }  # fmt: skip


@pytest.mark.parametrize("element", ["int8", "uint8"])
@pytest.mark.parametrize("kind", list(of_stored_numbers()))
def test_what_moves_or_chooses_stored_numbers_keeps_their_scale(kind: str, element: str) -> None:
    """So do files whose operators are quantized ones, which leave the others on the integers."""
    node = onnx.helper.make_node
    moved, constants = of_stored_numbers()[kind]
    nodes = [
        node("QuantizeLinear", ["x", "small", "zero"], ["q"]),
        moved,
        node("Transpose", ["r"], ["t"], perm=[0, 2, 3, 1]),
        node("DequantizeLinear", ["t", "small", "zero"], ["y"]),
    ]
    point = {"int8": 5, "uint8": 120}[element]
    constants = [*constants, constant("small", 0.0625), constant("zero", point, element)]
    x = onnx.helper.make_tensor_value_info("x", FLOAT, (1, 2, 4, 4))
    data = finished(onnx, nodes, [x], [onnx.ValueInfoProto(name="y")], constants, 13)
    graph = reference_graph(data, "m.onnx")
    reals = [n for n in graph.nodes if any(v.type.element.is_float for v in n.outputs)]
    assert all(isinstance(each.op, Dequantize) for each in reals)
    expect_same(data, (1, 2, 4, 4))
