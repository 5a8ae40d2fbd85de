"""What QuantizeLinear stores in four bits ends where these end, in weights and activations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.frontend.read_model import read_model
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.types import ElementType
from tests.support.check_model import check_model
from tests.support.onnx_models import run_onnxruntime

onnx = pytest.importorskip("onnx", reason="pip install onnx")
helper, numpy_helper = onnx.helper, onnx.numpy_helper

LIMITS = {"INT4": (-8, 7), "UINT4": (0, 15)}
#: Type and zero point.
KINDS = [("INT4", 0), ("INT4", 1), ("UINT4", 0), ("UINT4", 3), ("UINT4", 8)]
ROWS, COLUMNS = 8, 4
REAL = np.linspace(-1.9, 1.8, ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
#: Scales and attributes of a pair.
FORMS: dict[str, tuple[Any, dict[str, int]]] = {
    "one scale": (np.float32(0.15), {}),
    "a scale a column": (np.float32([0.15, 0.1, 0.2, 0.05]), {"axis": 1}),
    "blocks": (np.float32([[0.15, 0.1, 0.2, 0.05], [0.1] * 4]), {"axis": 0, "block_size": 4}),
}


def pairs(
    kind: str, point: int | None, form: str, known: bool = True, where: str = "initializer"
) -> bytes:
    """`REAL`, or an input of its shape, through a pair; a pair without a zero point says its type
    itself.
    """
    scale, attributes = FORMS[form]
    type_ = getattr(onnx.TensorProto, kind)
    constants = [numpy_helper.from_array(scale, "s")]
    nodes, operands = [], ["s"]
    if point is not None:
        zero = helper.make_tensor("z", type_, scale.shape, np.full(scale.size, point))
        operands.append("z")
        if where == "initializer":
            constants.append(zero)
        else:
            nodes.append(helper.make_node("Constant", [], ["z"], value=zero))
    said = attributes if point is not None else {**attributes, "output_dtype": type_}
    nodes += [
        helper.make_node("QuantizeLinear", ["x", *operands], ["q"], **said),
        helper.make_node("DequantizeLinear", ["q", *operands], ["r"], **attributes),
        helper.make_node("Add", ["r", "a"], ["y"]),
    ]
    given = [("a", REAL.shape), *([] if known else [("x", REAL.shape)])]
    if known:
        constants.append(numpy_helper.from_array(REAL, "x"))
    infos = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (*given, ("y", None))]
    graph = helper.make_graph(nodes, "m", infos[:-1], infos[-1:], constants)
    opset = [helper.make_opsetid("", 21)]
    model: bytes = helper.make_model(graph, opset_imports=opset, ir_version=10).SerializeToString()
    return model


def expected(kind: str, point: int | None, form: str) -> Any:
    """`REAL` as a pair leaves it, by ONNX's own definition."""
    scales, attributes = FORMS[form]
    scales = np.repeat(scales, attributes.get("block_size", 1), 0) if scales.ndim == 2 else scales
    zero = point or 0
    return (np.clip(np.rint(REAL / scales) + zero, *LIMITS[kind]) - zero) * scales


@pytest.mark.parametrize("known", [True, False], ids=["a constant", "an input"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("kind", "point"), KINDS)
def test_what_is_beyond_four_bits_becomes_their_limit(
    kind: str, point: int, form: str, known: bool
) -> None:
    data, nothing = pairs(kind, point, form, known), np.zeros_like(REAL)
    inputs = [nothing] if known else [nothing, REAL]
    (got,) = run_graph(read_model(data, "m.onnx"), inputs)
    np.testing.assert_allclose(got, expected(kind, point, form), atol=1e-6)
    np.testing.assert_allclose(got, run_onnxruntime(data, inputs)[0], atol=1e-6)


@pytest.mark.parametrize("kind", LIMITS)
def test_a_pair_without_a_zero_point_says_its_four_bits_itself(kind: str) -> None:
    data = pairs(kind, None, "one scale", known=False)
    (got,) = run_graph(read_model(data, "m.onnx"), [np.zeros_like(REAL), REAL])
    np.testing.assert_allclose(got, expected(kind, None, "one scale"), atol=1e-6)


def test_a_zero_point_made_by_a_constant_node_has_four_bits_too() -> None:
    data = pairs("UINT4", 3, "one scale", where="node")
    (got,) = run_graph(read_model(data, "m.onnx"), [np.zeros_like(REAL)])
    np.testing.assert_allclose(got, expected("UINT4", 3, "one scale"), atol=1e-6)


def product_of_pairs(kind: str, point: int) -> bytes:
    """As onnxruntime's quantizer writes it with AddQDQPairToWeight: float weights before their
    pair, scales by column; what goes into the layer has four bits, too, and its results have eight.
    """
    random = np.random.default_rng(3)
    weights = random.normal(size=(64, 32)).astype(np.float32)
    scales = (np.abs(weights).max(0) / 9).astype(np.float32)
    four = getattr(onnx.TensorProto, kind)
    constants = [
        *(numpy_helper.from_array(value, name) for name, value in (
            ("w", weights), ("ws", scales), ("xs", np.float32(0.25)), ("ys", np.float32(0.5)),
            ("yz", np.int8(4)))),
        helper.make_tensor("wz", four, scales.shape, np.full(scales.size, point)),
        helper.make_tensor("xz", four, (), [point]),
    ]  # fmt: skip
    nodes = [
        helper.make_node(f"{step}Linear", [tensor, f"{name}s", f"{name}z"], [result], axis=1)
        for step, name, tensor, result in (
            ("Quantize", "x", "x", "xq"), ("Dequantize", "x", "xq", "xr"),
            ("Quantize", "w", "w", "wq"), ("Dequantize", "w", "wq", "wr"),
            ("Quantize", "y", "p", "yq"), ("Dequantize", "y", "yq", "y"),
        )
    ]  # fmt: skip
    nodes.insert(4, helper.make_node("MatMul", ["xr", "wr"], ["p"]))
    graph = helper.make_graph(
        nodes, "m",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (1, 64))],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (1, 32))],
        constants,
    )  # fmt: skip
    opset = [helper.make_opsetid("", 21)]
    model: bytes = helper.make_model(graph, opset_imports=opset, ir_version=10).SerializeToString()
    return model


@pytest.mark.parametrize(("kind", "point"), [("INT4", 0), ("UINT4", 8)])
def test_a_layer_of_four_bits_equals_onnxruntime_and_keeps_two_weights_in_a_byte(
    kind: str, point: int, tmp_path: Path
) -> None:
    data = product_of_pairs(kind, point)
    inputs = [np.random.default_rng(seed).normal(size=(1, 64)).astype(np.float32)
              for seed in range(8)]  # fmt: skip
    (tmp_path / "m.onnx").write_bytes(data)
    bundle = glowmcu.compile(
        tmp_path / "m.onnx", "nucleo-l4r5zi", tmp_path / "b", rounding="single"
    )
    assert "fully_connected.nibbles_dsp" in [layer.kernel for layer in bundle.manifest.layers]
    for x in inputs:
        (got,) = bundle.run([x])
        np.testing.assert_allclose(got, run_onnxruntime(data, [x])[0], atol=1e-5)


def test_an_integer_layer_takes_what_it_reads_within_four_bits() -> None:
    graph = read_model(product_of_pairs("INT4", 0), "m.onnx")
    largest = np.full((1, 64), 1e3, np.float32)
    (layer,) = (node for node in graph.nodes if node.op.name == "fully_connected")
    assert layer.inputs[0].type.element is ElementType.I8
    assert np.array_equal(run_graph(graph, [largest]), run_graph(graph, [largest * 0 + 7 * 0.25]))
    check_model(product_of_pairs("INT4", 0))
