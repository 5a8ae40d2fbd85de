"""Weights that ONNX stores in four bits are read as int8 of the same values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.read_model import read_model
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.types import ElementType
from glowmcu.lowering.passes import lower
from tests.support.check_model import check_model

onnx = pytest.importorskip("onnx", reason="pip install onnx")
reference = pytest.importorskip("onnx.reference", reason="pip install onnx")

DEPTH, OUTPUTS = 64, 5
RANDOM = np.random.default_rng(4)
SIGNED = RANDOM.integers(-8, 8, (DEPTH, OUTPUTS))
X = RANDOM.integers(-128, 128, (1, DEPTH)).astype(np.int8)


def product(kind: str, stored: Any, points: Any, scales: Any, quantized: bool, **where: int) -> Any:
    """int8 x -> MatMul with weights of `kind` -> int8, or float where not `quantized`."""
    helper = onnx.helper
    type_ = getattr(onnx.TensorProto, kind)
    constants = [
        helper.make_tensor("w", type_, stored.shape, stored.ravel()),
        helper.make_tensor("ws", onnx.TensorProto.FLOAT, scales.shape, scales.ravel()),
        helper.make_tensor("wz", type_, scales.shape, np.full(scales.size, points)),
        *(onnx.numpy_helper.from_array(np.float32(value), name)
          for name, value in (("xs", 0.02), ("ys", 0.25))),
        *(onnx.numpy_helper.from_array(np.int8(value), name)
          for name, value in (("xz", 3), ("yz", -4))),
    ]  # fmt: skip
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["xr"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wr"], **where),
        helper.make_node("MatMul", ["xr", "wr"], ["yr" if quantized else "y"]),
    ]
    if quantized:
        nodes.append(helper.make_node("QuantizeLinear", ["yr", "ys", "yz"], ["y"]))
    result = onnx.TensorProto.INT8 if quantized else onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes, "m",
        [helper.make_tensor_value_info("x", onnx.TensorProto.INT8, (1, DEPTH))],
        [helper.make_tensor_value_info("y", result, (1, OUTPUTS))],
        constants,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    model.ir_version = 10
    return model.SerializeToString()


def layer_of(graph: Graph) -> Any:
    """The product's weights as they are stored."""
    (node,) = (node for node in lower(graph).nodes if node.op.name == "fully_connected")
    assert node.inputs[0].type.element is ElementType.I8
    assert node.inputs[1].type.quantization is not None
    assert set(node.inputs[1].type.quantization.zero_points) == {0}
    return lower(graph).constant_data(node.inputs[1])


@pytest.mark.parametrize(
    ("kind", "point"), [("INT4", 0), ("UINT4", 8), ("UINT4", 7), ("UINT4", 0), ("UINT4", 15)]
)
@pytest.mark.parametrize("per_channel", [True, False], ids=["a scale a channel", "one scale"])
def test_a_product_is_that_of_int8_weights_of_the_same_values(
    kind: str, point: int, per_channel: bool
) -> None:
    scales = np.linspace(0.05, 0.2, OUTPUTS) if per_channel else np.array(0.1)
    stored = SIGNED if kind == "INT4" else SIGNED + 8
    where = {"axis": 1} if per_channel else {}
    data = product(kind, stored, point, scales.astype(np.float32), True, **where)
    same = product("INT8", stored - point, 0, scales.astype(np.float32), True, **where)
    graph, other = (read_model(each, "m.onnx") for each in (data, same))
    weights = layer_of(graph)
    assert weights.dtype == np.int8
    assert np.array_equal(weights, (stored - point).T)
    assert np.array_equal(run_graph(graph, [X])[0], run_graph(other, [X])[0])
    check_model(data, [[X]], oracle=lambda model, inputs: run_graph(other, inputs))
    (want,) = reference.ReferenceEvaluator(data).run(None, {"x": X})
    assert np.abs(run_graph(graph, [X])[0].astype(int) - want).max() <= 1


@pytest.mark.parametrize("quantized", [True, False], ids=["between pairs", "in float"])
@pytest.mark.parametrize("kind", ["INT4", "UINT4"])
def test_blocks_with_a_scale_each_are_computed_in_float(kind: str, quantized: bool) -> None:
    scales = RANDOM.uniform(0.05, 0.2, (2, OUTPUTS)).astype(np.float32)
    stored = SIGNED if kind == "INT4" else SIGNED + 8
    point = 0 if kind == "INT4" else 8
    data = product(kind, stored, point, scales, quantized, axis=0, block_size=32)
    (want,) = reference.ReferenceEvaluator(data).run(None, {"x": X})
    (got,) = run_graph(read_model(data, "m.onnx"), [X])
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got.astype(float), want.astype(float), rtol=1e-5, atol=1e-4)
    check_model(data, [[X]], oracle=lambda model, inputs: [got])


@pytest.mark.parametrize("size", [32, 24, 63, 64, 100])
def test_the_last_block_may_be_shorter(size: int) -> None:
    count = -(-DEPTH // size)
    scales = RANDOM.uniform(0.05, 0.2, (count, OUTPUTS)).astype(np.float32)
    data = product("UINT4", SIGNED + 8, 6, scales, False, axis=0, block_size=size)
    real = (SIGNED + 2) * scales[np.arange(DEPTH) // size]
    (got,) = run_graph(read_model(data, "m.onnx"), [X])
    np.testing.assert_allclose(got, (X - 3.0) * 0.02 @ real, rtol=1e-4, atol=1e-4)
    wrong = product("UINT4", SIGNED + 8, 6, scales[:, :4], False, axis=0, block_size=size)
    with pytest.raises(GlowmcuError, match="expected scales of"):
        read_model(wrong, "m.onnx")


@pytest.mark.parametrize("kind", ["INT4", "UINT4"])
def test_weights_in_a_file_of_their_own_are_the_same(kind: str, tmp_path: Path) -> None:
    point = 8 if kind == "UINT4" else 0
    model = onnx.load_model_from_string(
        product(kind, SIGNED + point, point, np.array(0.1), quantized=True)
    )
    for tensor in model.graph.initializer:  # what is no raw data stays in the model
        raw = onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name)
        tensor.CopyFrom(raw)
    onnx.save(
        model, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0
    )
    assert (tmp_path / "w.bin").stat().st_size >= SIGNED.size // 2
    data = (tmp_path / "m.onnx").read_bytes()
    assert onnx.load_model_from_string(data).graph.initializer[0].external_data
    weights = layer_of(read_model(data, str(tmp_path / "m.onnx")))
    assert weights.tolist() == SIGNED.T.tolist()


def test_an_input_of_four_bits_is_refused() -> None:
    helper = onnx.helper
    graph = helper.make_graph(
        [helper.make_node("DequantizeLinear", ["x", "s"], ["y"])], "m",
        [helper.make_tensor_value_info("x", onnx.TensorProto.INT4, (1, 4))],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (1, 4))],
        [onnx.numpy_helper.from_array(np.float32(0.5), "s")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    with pytest.raises(GlowmcuError) as caught:
        read_model(model.SerializeToString(), "m.onnx")
    assert caught.value.code == "GM105"
    assert "INT4" in str(caught.value)


@pytest.mark.parametrize("kind", ["INT4", "UINT4"])
def test_pairs_of_onnxruntimes_own_domain_mean_the_same(kind: str) -> None:
    """Its quantizer writes these where the file's opset has no pairs of four or 16 bits."""
    point = 8 if kind == "UINT4" else 0
    data = product(kind, SIGNED + point, point, np.array(0.1), quantized=True)
    model = onnx.load_model_from_string(data)
    for node in model.graph.node:
        if node.op_type != "MatMul":
            node.domain = "com.microsoft"
    del model.opset_import[:]
    opsets = {"": 18, "com.microsoft": 1}
    model.opset_import.extend(onnx.helper.make_opsetid(*item) for item in opsets.items())
    graph = read_model(model.SerializeToString(), "m.onnx")
    assert np.array_equal(layer_of(graph), SIGNED.T)
    (want,) = run_graph(read_model(data, "m.onnx"), [X])
    assert np.array_equal(run_graph(graph, [X])[0], want)
