"""Quantized ONNX files become integer graphs: onnxruntime's own quantizer makes the files.

Every layer may differ from onnxruntime by a step, since it rounds halves to even; the C equals our
Python meaning in every byte.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.types import ElementType
from glowmcu.ops.quantization import Dequantize, Quantize
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.onnx_models import finished, run_onnxruntime

onnx = pytest.importorskip("onnx", reason="pip install onnx")
quantization = pytest.importorskip("onnxruntime.quantization", reason="pip install onnxruntime")
Array = npt.NDArray[Any]


def float_model(name: str) -> bytes:
    """A small network of the kind that is named, weights at random."""
    generator = np.random.default_rng(2)
    nodes: list[Any] = []
    constants: list[Any] = []
    last = "x"

    def add(kind: str, *shapes: tuple[int, ...], others: tuple[str, ...] = (), **attributes: Any):
        nonlocal last
        names = [last, *others]
        for shape in shapes:
            names.append(f"c{len(constants)}")
            data = generator.normal(0, 0.5, shape).astype(np.float32)
            constants.append(onnx.numpy_helper.from_array(data, names[-1]))
        last = f"v{len(nodes)}"
        nodes.append(onnx.helper.make_node(kind, names, [last], **attributes))
        return last

    shape: tuple[int, ...] = (1, 2, 8, 8)
    if name == "convolutions":
        add("Conv", (4, 2, 3, 3), (4,), pads=[1, 1, 1, 1])
        skip = add("Relu")
        add("Conv", (4, 1, 3, 3), (4,), pads=[1, 1, 1, 1], group=4)
        add("Add", others=(skip,))
        add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
        add("Conv", (6, 4, 1, 1), (6,))
        add("Flatten")
        add("Gemm", (5, 96), (5,), transB=1)
    elif name == "functions":
        shape = (3, 8)
        add("Gemm", (8, 16), (16,))
        add("Tanh")
        add("Gemm", (16, 12), (12,))
        add("HardSigmoid")
        add("Gemm", (12, 4), (4,))
        add("Softmax", axis=1)
    else:
        assert name == "layers", name
        shape = (2, 8)
        add("Gemm", (8, 16), (16,))
        add("Relu")
        add("Gemm", (16, 4), (4,))
    x = onnx.helper.make_tensor_value_info("x", 1, shape)
    return finished(onnx, nodes, [x], [onnx.ValueInfoProto(name=last)], constants)


def input_shape(data: bytes) -> tuple[int, ...]:
    sizes = onnx.load_model_from_string(data).graph.input[0].type.tensor_type.shape.dim
    return tuple(size.dim_value for size in sizes)


class Samples(quantization.CalibrationDataReader):  # type: ignore[misc]
    """Twenty normal random tensors."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._left = [np.random.default_rng(i).normal(size=shape) for i in range(20)]

    def get_next(self) -> dict[str, Array] | None:
        return {"x": self._left.pop().astype(np.float32)} if self._left else None


def quantized(
    name: str, folder: Path, activations: str, per_channel: bool, weights: str = "QInt8"
) -> bytes:
    """The network as QDQ, by onnxruntime's quantizer."""
    data = float_model(name)
    source, target = folder / "float.onnx", folder / "qdq.onnx"
    source.write_bytes(data)
    quantization.quantize_static(
        str(source),
        str(target),
        Samples(input_shape(data)),
        quant_format=quantization.QuantFormat.QDQ,
        activation_type=getattr(quantization.QuantType, activations),
        weight_type=getattr(quantization.QuantType, weights),
        per_channel=per_channel,
        op_types_to_quantize=["Conv", "Relu", "Add", "MaxPool", "Gemm", "Tanh", "HardSigmoid",
                              "Softmax", "Flatten"],
    )  # fmt: skip
    return target.read_bytes()


def last_scale(graph: Graph) -> float:
    """What a step of the last stored tensor is worth."""
    return (
        [node for node in graph.nodes if isinstance(node.op, Dequantize)][-1].inputs[0].type.scale
    )


WAYS = {
    "int8": ("QInt8", False),
    "uint8": ("QUInt8", False),
    "uint8, a scale a channel": ("QUInt8", True),
}


@pytest.mark.parametrize(("activations", "per_channel"), WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("name", ["layers", "convolutions", "functions"])
def test_a_quantized_file_is_an_integer_graph(
    name: str, activations: str, per_channel: bool, tmp_path: Path
) -> None:
    data = quantized(name, tmp_path, activations, per_channel)
    graph = reference_graph(data, "m.onnx")
    inner = [node for node in graph.nodes if not isinstance(node.op, Quantize | Dequantize)]
    for node in inner:
        assert ElementType.F32 not in [value.type.element for value in node.outputs], node.op.name
    generator = np.random.default_rng(9)
    shape = graph.inputs[0].type.shape
    inputs = [[generator.normal(size=shape).astype(np.float32)] for _ in range(4)]
    check_model(data, inputs)  # Python meaning == lowered == C, in every byte
    steps = [
        np.abs(run_graph(graph, x)[0] - run_onnxruntime(data, x)[0]) / last_scale(graph)
        for x in inputs
    ]
    assert np.max(steps) <= 1.001
    assert np.mean(np.array(steps) < 0.5) > 0.5


def test_uint8_weights_around_another_zero_point_are_integers_too(tmp_path: Path) -> None:
    """No kernel of convolutions has a zero point of weights; a channel that is beyond int8 takes a
    wider step.
    """
    data = quantized("convolutions", tmp_path, "QUInt8", False, "QUInt8")
    points = [
        int(onnx.numpy_helper.to_array(item))
        for item in onnx.load_model_from_string(data).graph.initializer
        if re.fullmatch(r"c\d+_zero_point", item.name)
    ]
    assert any(point not in (0, 128) for point in points)
    graph = reference_graph(data, "m.onnx")
    inner = [node for node in graph.nodes if not isinstance(node.op, Quantize | Dequantize)]
    for node in inner:
        assert ElementType.F32 not in [value.type.element for value in node.outputs], node.op.name
    generator = np.random.default_rng(9)
    shape = graph.inputs[0].type.shape
    inputs = [[generator.normal(size=shape).astype(np.float32)] for _ in range(4)]
    check_model(data, inputs)
    steps = [
        np.abs(run_graph(graph, x)[0] - run_onnxruntime(data, x)[0]) / last_scale(graph)
        for x in inputs
    ]
    assert np.max(steps) <= 3


def pair(name: str, dtype: str, scale: float, zero_point: int) -> tuple[list[Any], list[Any]]:
    """Quantize and dequantize `name` to `name/r`."""
    constants = [
        onnx.numpy_helper.from_array(np.array(scale, np.float32), f"{name}/s"),
        onnx.numpy_helper.from_array(np.array(zero_point, dtype), f"{name}/z"),
    ]
    operands = [f"{name}/s", f"{name}/z"]
    nodes = [
        onnx.helper.make_node("QuantizeLinear", [name, *operands], [f"{name}/q"]),
        onnx.helper.make_node("DequantizeLinear", [f"{name}/q", *operands], [f"{name}/r"]),
    ]
    return nodes, constants


def sandwich(kind: str, out: tuple[str, float, int], **attributes: Any) -> bytes:
    """A function between two pairs; all 256 stored values go through it."""
    before, constants = pair("x", "uint8", 0.05, 128)
    after, more = pair("y", *out)
    node = onnx.helper.make_node(kind, ["x/r"], ["y"], **attributes)
    x = onnx.helper.make_tensor_value_info("x", 1, (1, 256))
    output = onnx.ValueInfoProto(name="y/r")
    return finished(onnx, [*before, node, *after], [x], [output], constants + more, 20)


ALL = ((np.arange(256) - 128) * 0.05).astype(np.float32).reshape(1, 256)
FUNCTIONS = {
    "Sigmoid": ("uint8", 1 / 256, 0),
    "Tanh": ("uint8", 0.0079, 127),
    "Sin": ("int8", 0.0079, 0),
    "Erf": ("int8", 0.009, -3),
    "HardSwish": ("uint8", 0.03, 13),
    "Gelu": ("uint8", 0.03, 7),
    "Softplus": ("uint8", 0.027, 0),
    "Mish": ("int8", 0.03, -110),
    "Exp": ("uint8", 0.9, 0),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_function_between_pairs_is_a_table_that_equals_onnxruntime(kind: str) -> None:
    if kind == "Mish":
        pytest.importorskip("onnxruntime", minversion="1.15")
    data = sandwich(kind, FUNCTIONS[kind])
    compilation = check_model(data, [[ALL]], oracle=run_onnxruntime, rtol=0, atol=1e-6)
    assert "lookup" in [node.op.name for node in compilation.imported.nodes]


def test_a_constant_beside_an_activation_keeps_its_stored_form() -> None:
    generator = np.random.default_rng(5)
    before, constants = pair("x", "uint8", 0.05, 100)
    after, more = pair("y", "uint8", 0.06, 120)
    stored = generator.integers(0, 256, (1, 256)).astype(np.uint8)
    constants += [
        onnx.numpy_helper.from_array(stored, "c/q"),
        onnx.numpy_helper.from_array(np.array(0.011, np.float32), "c/s"),
        onnx.numpy_helper.from_array(np.array(90, np.uint8), "c/z"),
    ]
    inner = [
        onnx.helper.make_node("DequantizeLinear", ["c/q", "c/s", "c/z"], ["c"]),
        onnx.helper.make_node("Add", ["x/r", "c"], ["y"]),
    ]
    x = onnx.helper.make_tensor_value_info("x", 1, (1, 256))
    output = onnx.ValueInfoProto(name="y/r")
    data = finished(onnx, [*before, *inner, *after], [x], [output], constants + more)
    compilation = check_model(data, [[ALL]])
    (got,), (want,) = run_graph(compilation.imported, [ALL]), run_onnxruntime(data, [ALL])
    assert np.abs(got - want).max() < 0.0601  # a step
    add = next(node for node in compilation.imported.nodes if node.op.name == "add")
    assert [str(value.type) for value in add.inputs] == [
        "int8[1x256] scale 0.05 zp -28", "int8[1x256] scale 0.011 zp -38",
    ]  # fmt: skip


def test_what_lacks_a_pair_stays_float() -> None:
    before, constants = pair("x", "int8", 0.05, 0)
    node = onnx.helper.make_node("Sin", ["x/r"], ["y"])
    x = onnx.helper.make_tensor_value_info("x", 1, (1, 256))
    data = finished(onnx, [*before, node], [x], [onnx.ValueInfoProto(name="y")], constants)
    compilation = check_model(data, [[ALL]], oracle=run_onnxruntime)
    names = [node.op.name for node in compilation.imported.nodes]
    assert names == ["quantize", "dequantize", "sin"]


def test_a_result_that_is_read_as_float_too_is_not_computed_on_integers() -> None:
    before, constants = pair("x", "int8", 0.05, 0)
    after, more = pair("y", "int8", 0.1, 0)
    nodes = [*before, onnx.helper.make_node("Add", ["x/r", "x/r"], ["y"]), *after,
             onnx.helper.make_node("Add", ["y", "y/r"], ["z"])]  # fmt: skip
    x = onnx.helper.make_tensor_value_info("x", 1, (1, 256))
    data = finished(onnx, nodes, [x], [onnx.ValueInfoProto(name="z")], constants + more)
    check_model(data, [[ALL]], oracle=run_onnxruntime)


@pytest.mark.parametrize(("scale", "on_integers"), [(0.2, True), (0.05, False)])
def test_a_result_is_computed_on_integers_where_all_its_parts_are_stored_alike(
    scale: float, on_integers: bool
) -> None:
    before, constants = pair("x", "int8", 0.05, 3)
    (first, more), (second, others) = pair("a", "int8", 0.2, -7), pair("b", "int8", scale, -7)
    sizes = onnx.numpy_helper.from_array(np.array([128, 128]), "sizes")
    nodes = [*before, onnx.helper.make_node("Add", ["x/r", "x/r"], ["y"]),
             onnx.helper.make_node("Split", ["y", "sizes"], ["a", "b"], axis=1),
             *first, *second]  # fmt: skip
    x = onnx.helper.make_tensor_value_info("x", 1, (1, 256))
    outputs = [onnx.ValueInfoProto(name=f"{name}/r") for name in "ab"]
    data = finished(onnx, nodes, [x], outputs, [*constants, *more, *others, sizes])
    graph = reference_graph(data, "m.onnx")
    (add,) = (node for node in graph.nodes if node.op.name == "add")
    assert (add.output.type.element is ElementType.I8) == on_integers
    for got, want in zip(run_graph(graph, [ALL]), run_onnxruntime(data, [ALL]), strict=True):
        assert np.abs(got - want).max() < (0.2001 if on_integers else 1e-6)


def test_uint8_at_the_border_stays_uint8() -> None:
    before, constants = pair("x", "uint8", 0.05, 128)
    x = onnx.helper.make_tensor_value_info("x", 1, (1, 256))
    nodes = [before[0], before[1], onnx.helper.make_node("Relu", ["x/r"], ["y"]),
             onnx.helper.make_node("QuantizeLinear", ["y", "x/s", "x/z"], ["z"])]  # fmt: skip
    data = finished(onnx, nodes, [x], [onnx.ValueInfoProto(name="z")], constants)
    check_model(data, [[ALL]], oracle=run_onnxruntime)


def dequantized(name: str, stored: Array, scale: float) -> tuple[Any, list[Any]]:
    """A constant of the file with a scale, and the real numbers `name` of it."""
    constants = [
        onnx.numpy_helper.from_array(stored, f"{name}/q"),
        onnx.numpy_helper.from_array(np.array(scale, np.float32), f"{name}/s"),
    ]
    return onnx.helper.make_node("DequantizeLinear", [f"{name}/q", f"{name}/s"], [name]), constants


def between_pairs(
    kind: str, constants: dict[str, tuple[Array, float | None]], **attributes: Any
) -> bytes:
    """An operator on a quantized tensor and constants, which have a scale or are float."""
    before, data = pair("x", "int8", 0.05, 3)
    after, more = pair("y", "int8", 0.5, -7)
    nodes, data = [*before], data + more
    for name, (values, scale) in constants.items():
        if scale is None:
            data.append(onnx.numpy_helper.from_array(values, name))
        else:
            node, own = dequantized(name, values, scale)
            nodes, data = [*nodes, node], data + own
    nodes += [onnx.helper.make_node(kind, ["x/r", *constants], ["y"], **attributes), *after]
    x = onnx.helper.make_tensor_value_info("x", 1, (1, 256))
    return finished(onnx, nodes, [x], [onnx.ValueInfoProto(name="y/r")], data)


CODES = (np.arange(256 * 3) % 15 - 7).astype(np.int8).reshape(256, 3)
SCALE = 0.01 * 0.05
#: An operator's constants with their scales, and whether it is computed on integers.
BESIDE = {
    "weights of a pair": ("Gemm", {"w": (CODES, 0.01)}, True),
    "float weights": ("Gemm", {"w": (CODES.astype(np.float32), None)}, False),
    "a large bias": (
        "Gemm", {"w": (CODES, 0.01), "b": (np.full(3, 2**30 - 2**20, np.int32), SCALE)}, True,
    ),
    "a bias that sums could exceed": (
        "Gemm", {"w": (CODES, 0.01), "b": (np.full(3, 2**30 + 2**20, np.int32), SCALE)}, False,
    ),
    "a summand of bytes": ("Add", {"c": (CODES[:1, :1], 0.01)}, True),
    "a summand of more bits": ("Add", {"c": (CODES[:1, :1].astype(np.int32), 0.01)}, False),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "constants", "on_integers"), BESIDE.values(), ids=BESIDE)
def test_an_operator_is_computed_on_integers_where_its_constants_are_such(
    kind: str, constants: dict[str, tuple[Array, float | None]], on_integers: bool
) -> None:
    graph = reference_graph(between_pairs(kind, constants), "m.onnx")
    (node,) = (n for n in graph.nodes if n.op.name in ("fully_connected", "add"))
    assert (node.output.type.element is ElementType.I8) == on_integers


@pytest.mark.parametrize(("value", "on_integers"), [(0.5, True), (0.52, False), (100.0, False)])
def test_padding_is_on_integers_where_its_number_is_one(value: float, on_integers: bool) -> None:
    pads, fill = np.array([0, 2, 0, 1], np.int64), np.array(value, np.float32)
    data = between_pairs("Pad", {"pads": (pads, None), "fill": (fill, None)})
    graph = reference_graph(data, "m.onnx")
    (node,) = (n for n in graph.nodes if n.op.name == "pad")
    assert (node.output.type.element is ElementType.I8) == on_integers
    (got,), (want,) = run_graph(graph, [ALL]), run_onnxruntime(data, [ALL])
    assert np.abs(got - want).max() <= (0.501 if on_integers else 1e-6)


def test_a_clamp_between_pairs_is_in_steps_of_its_result() -> None:
    low, high = np.array(-1.2, np.float32), np.array(4.6, np.float32)
    data = between_pairs("Clip", {"low": (low, None), "high": (high, None)})
    graph = reference_graph(data, "m.onnx")
    (node,) = (n for n in graph.nodes if n.op.name == "relu")
    assert node.output.type.element is ElementType.I8
    (got,), (want,) = run_graph(graph, [ALL]), run_onnxruntime(data, [ALL])
    assert (got.min(), got.max()) == (want.min(), want.max()) == (-1.0, 4.5)
    assert np.abs(got - want).max() <= 0.501


def test_stored_numbers_that_are_moved_keep_their_scale() -> None:
    (first, last), constants = pair("x", "int8", 0.05, 3)
    last.input[0] = "turned"
    turn = onnx.helper.make_node("Transpose", ["x/q"], ["turned"], perm=[1, 0])
    x = onnx.helper.make_tensor_value_info("x", 1, (1, 256))
    output = onnx.ValueInfoProto(name="x/r")
    data = finished(onnx, [first, turn, last], [x], [output], constants)
    compilation = check_model(data, [[ALL]], oracle=run_onnxruntime)
    assert [(node.op.name, str(node.output.type)) for node in compilation.imported.nodes] == [
        ("quantize", "int8[1x256] scale 0.05 zp 3"),
        ("transpose", "int8[256x1] scale 0.05 zp 3"),
        ("dequantize", "float32[256x1]"),
    ]
