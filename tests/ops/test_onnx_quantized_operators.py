"""Quantized operators of ONNX run on integers and equal what ONNX says of them to a step.

ONNX rounds halves to even and multiplies in float; the int8 kernels do as TensorFlow Lite. Sums of
products are computed here: onnxruntime's depend on the processor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.types import ElementType
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model, random_inputs
from tests.support.onnx_integers import run_integer_operator
from tests.support.onnx_models import finished, onnx_model, run_onnxruntime

Oracle = Callable[[bytes, Sequence[np.ndarray]], list[np.ndarray]]
DTYPES = ["int8", "uint8"]


def scale(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def point(dtype: str, value: int) -> np.ndarray:
    return np.array(value + (128 if dtype == "uint8" else 0), dtype)


def stored(dtype: str, shape: tuple[int, ...], seed: int = 3) -> np.ndarray:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return np.random.default_rng(seed).integers(low, high + 1, shape).astype(dtype)


def check_to_a_step(
    data: bytes, *operators: str, oracle: Oracle = run_integer_operator
) -> Compilation:
    """C equals its own meaning to the byte, and the oracle to a step; `operators` are run."""
    compilation = check_model(data, count=2)
    kinds = [run.node.op.name for run in compilation.plan.program.runs]
    assert set(operators) <= set(kinds), kinds
    assert not any(run.node.output.type.element.is_float for run in compilation.plan.program.runs)
    for inputs in random_inputs(compilation, 3, seed=5):
        (want,) = oracle(data, inputs)
        (got,) = run_graph(compilation.imported, inputs)
        assert got.dtype == want.dtype
        assert np.abs(got.astype(int) - want.astype(int)).max(initial=0) <= 1
    return compilation


def microsoft_model(kind: str, operands: list[Any], attributes: dict[str, Any]) -> bytes:
    """An operator of onnxruntime's own domain; the first operand that is a tuple is the input."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    helper, inputs, constants, names = onnx.helper, [], [], []
    for position, operand in enumerate(operands):
        if isinstance(operand, tuple):
            name, dtype, shape = operand
            element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            inputs.append(helper.make_tensor_value_info(name, element, shape))
            names.append(name)
        else:
            names.append(f"c{position}")
            constants.append(onnx.numpy_helper.from_array(operand, names[-1]))
    node = helper.make_node(kind, names, ["y"], domain="com.microsoft", **attributes)
    element = inputs[-1].type.tensor_type.elem_type
    y = helper.make_tensor_value_info("y", element, None)
    graph = helper.make_graph([node], "main", inputs, [y], constants)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    data: bytes = model.SerializeToString()
    return data


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("per_channel", [False, True], ids=["per tensor", "per channel"])
@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
def test_convolutions(dtype: str, per_channel: bool, bias: bool) -> None:
    scales = np.float32([0.01, 0.02, 0.004, 0.03]) if per_channel else scale(0.01)
    points = np.zeros(4, np.int8) if per_channel else np.array(0, np.int8)
    operands = [
        ("x", dtype, (1, 3, 5, 6)), scale(0.05), point(dtype, -7),
        stored("int8", (4, 3, 3, 2)), scales, points, scale(0.5), point(dtype, 5),
    ]  # fmt: skip
    if bias:
        operands.append(np.array([-3000, 0, 77, 5000], np.int32))
    attributes = {"pads": [1, 0, 1, 1], "strides": [2, 1]}
    check_to_a_step(onnx_model("QLinearConv", operands, attributes), "conv_2d")


def test_depthwise_convolutions() -> None:
    operands = [
        ("x", "uint8", (1, 4, 5, 6)), scale(0.05), point("uint8", -7),
        stored("int8", (4, 1, 3, 3)), scale(0.01), np.array(0, np.int8),
        scale(0.1), point("uint8", 5),
    ]  # fmt: skip
    data = onnx_model("QLinearConv", operands, {"group": 4})
    check_to_a_step(data, "depthwise_conv_2d")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("known", [True, False], ids=["known", "computed"])
def test_products(dtype: str, known: bool) -> None:
    right: Any = stored(dtype, (4, 5)) if known else ("b", dtype, (4, 5))
    operands = [
        ("a", dtype, (2, 3, 4)), scale(0.05), point(dtype, -7),
        right, scale(0.03), point(dtype, 0), scale(0.2), point(dtype, 5),
    ]  # fmt: skip
    operator = "fully_connected" if known else "batch_matmul"
    check_to_a_step(onnx_model("QLinearMatMul", operands), operator)


@pytest.mark.parametrize("transposed", [0, 1])
def test_dense_layers_of_onnxruntime(transposed: int) -> None:
    operands = [
        ("a", "uint8", (2, 6)), scale(0.05), point("uint8", -7),
        stored("int8", (4, 6) if transposed else (6, 4)), scale(0.01), np.array(0, np.int8),
        np.array([-3000, 0, 77, 5000], np.int32), scale(0.1), point("uint8", 5),
    ]  # fmt: skip
    data = microsoft_model("QGemm", operands, {"transB": transposed})
    check_to_a_step(data, "fully_connected")


@pytest.mark.parametrize("value", [-128, 127])
def test_sums_of_two_products_beyond_16_bits_are_exact(value: int) -> None:
    """Where a processor has no VNNI, onnxruntime gives 32767 for 2 * 255 * 127."""
    weights, points = np.full((6, 4), value, np.int8), (np.array(0, np.uint8), np.array(0, np.int8))
    operands = [("a", "uint8", (2, 6)), scale(1), points[0], weights, scale(0.001), points[1],
                scale(3), point("uint8", 0)]  # fmt: skip
    data = onnx_model("QLinearMatMul", operands)
    ones = np.full((2, 6), 255, np.uint8)
    (want,) = run_integer_operator(data, [ones])
    assert np.unique(want) == np.clip(np.rint(6 * 255 * value * 0.001 / 3) + 128, 0, 255)
    check_model(data, [[ones]])
    (got,) = run_graph(check_to_a_step(data, "fully_connected").imported, [ones])
    assert np.abs(got.astype(int) - want).max() <= 1


@pytest.mark.parametrize("kind", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_arithmetic_of_onnxruntime(kind: str, dtype: str) -> None:
    operands = [
        ("a", dtype, (2, 3, 4)), scale(0.05), point(dtype, -7),
        ("b", dtype, (2, 3, 4)), scale(0.03), point(dtype, 4), scale(0.1), point(dtype, 5),
    ]  # fmt: skip
    check_to_a_step(microsoft_model(kind, operands, {}), oracle=run_onnxruntime)


def test_functions_of_onnxruntime() -> None:
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    for kind, attributes, out in (
        ("QLinearAveragePool", pool, 0.05),
        ("QLinearAveragePool", pool, 0.011),
        ("QLinearAveragePool", {"kernel_shape": [3, 2]}, 0.023),
        ("QLinearGlobalAveragePool", {"channels_last": 0}, 0.05),
        ("QLinearGlobalAveragePool", {"channels_last": 0}, 0.006),
        ("QLinearLeakyRelu", {"alpha": 0.1}, 0.04),
        ("QLinearSigmoid", {}, 1 / 256),
    ):
        operands = [("x", "uint8", (1, 3, 4, 6)), scale(0.05), point("uint8", -7),
                    scale(out), point("uint8", -7)]  # fmt: skip
        check_to_a_step(microsoft_model(kind, operands, attributes), oracle=run_onnxruntime)


def test_concatenations_of_onnxruntime() -> None:
    operands = [
        scale(0.1), point("uint8", 5),
        ("a", "uint8", (2, 3)), scale(0.05), point("uint8", -7),
        ("b", "uint8", (2, 2)), scale(0.1), point("uint8", 5),
    ]  # fmt: skip
    data = microsoft_model("QLinearConcat", operands, {"axis": 1})
    check_to_a_step(data, oracle=run_onnxruntime)


def test_choices_of_onnxruntime() -> None:
    operands = [
        ("mask", "bool", (2, 1)),
        ("a", "uint8", (2, 3)), scale(0.05), point("uint8", -7),
        ("b", "uint8", (3,)), scale(0.1), point("uint8", 5),
        scale(0.1), point("uint8", 5),
    ]  # fmt: skip
    check_to_a_step(microsoft_model("QLinearWhere", operands, {}), oracle=run_onnxruntime)


@pytest.mark.parametrize("known", [True, False], ids=["known", "computed"])
@pytest.mark.parametrize("kind", ["ConvInteger", "MatMulInteger"])
def test_integer_sums_are_exact(kind: str, known: bool) -> None:
    shapes = ((2, 3, 4, 5), (4, 3, 2, 2)) if kind == "ConvInteger" else ((2, 3, 7), (7, 4))
    weights: Any = stored("uint8", shapes[1]) if known else ("w", "uint8", shapes[1])
    points = np.array([3, 200, 0, 255], np.uint8)
    operands = [("x", "uint8", shapes[0]), weights, np.array(131, np.uint8), points]
    if kind == "MatMulInteger":
        check_model(onnx_model(kind, operands), oracle=run_integer_operator, count=2)
        return
    operands[3] = np.array(9, np.uint8)
    attributes = {"strides": [2, 1]}
    check_model(onnx_model(kind, operands, attributes), oracle=run_integer_operator, count=2)


LONG: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], int]] = {
    "rows": ("MatMulInteger", (2, 600), (600, 3), 3),
    "a vector": ("MatMulInteger", (600,), (600, 3), 3),
    "two vectors": ("MatMulInteger", (517,), (517,), 3),
    "one part": ("MatMulInteger", (2, 258), (258, 2), 1),
    "one more": ("MatMulInteger", (2, 259), (259, 2), 2),
    "a batch": ("MatMulInteger", (2, 3, 300), (2, 300, 4), 2),
    "windows": ("ConvInteger", (1, 60, 4, 5), (2, 60, 3, 3), 3),
}  # fmt: skip


@pytest.mark.parametrize("known", [True, False], ids=["known", "computed"])
@pytest.mark.parametrize("name", LONG)
def test_integer_sums_beyond_float32_are_sums_of_int32(name: str, known: bool) -> None:
    """Products of 255 and 255 throughout: each sum is what an int32 holds."""
    kind, left, right, parts = LONG[name]
    weights: Any = np.full(right, 255, np.uint8) if known else ("w", "uint8", right)
    data = onnx_model(kind, [("x", "uint8", left), weights])
    x, w = np.full(left, 255, np.uint8), np.full(right, 255, np.uint8)
    x.reshape(-1)[::2] -= 1
    w.reshape(-1)[::3] -= 1
    inputs = [x] if known else [x, w]
    compilation = check_model(data, [inputs], oracle=run_integer_operator)
    casts = [n for n in compilation.imported.nodes if n.output.type.element is ElementType.I32]
    assert len(casts) == 2 * parts - 1


def test_integer_sums_that_no_part_makes_exact_are_refused() -> None:
    window = [("x", "uint8", (1, 1, 20, 20)), ("w", "uint8", (1, 1, 17, 17))]
    with pytest.raises(GlowmcuError, match="sums of 289 products may reach 18792225") as caught:
        compile_model(onnx_model("ConvInteger", window), "m.onnx", Options("m"))
    assert caught.value.problems[0].code == "GM105"
    groups = [("x", "uint8", (1, 600, 1, 1)), ("w", "uint8", (2, 300, 1, 1))]
    with pytest.raises(GlowmcuError, match="sums of 300 products"):
        compile_model(onnx_model("ConvInteger", groups, {"group": 2}), "m.onnx", Options("m"))


def test_small_weights_need_no_parts() -> None:
    small = [("x", "uint8", (1, 600)), stored("int8", (600, 2)) // 8]
    compilation = check_model(
        onnx_model("MatMulInteger", small), oracle=run_integer_operator, count=1
    )
    assert "add" not in [node.op.name for node in compilation.imported.nodes]


def test_a_layout_of_onnxruntime_alone_is_refused() -> None:
    operands = [("x", "uint8", (1, 3, 4, 6)), scale(0.05), point("uint8", -7),
                scale(0.05), point("uint8", -7)]  # fmt: skip
    data = microsoft_model("QLinearGlobalAveragePool", operands, {"channels_last": 1})
    with pytest.raises(GlowmcuError, match="channels_last is not supported"):
        compile_model(data, "m.onnx", Options("m"))


def test_maxima_between_quantized_convolutions() -> None:
    """MaxPool takes uint8 as it is; ONNX says the scale again behind it."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    helper, constants = onnx.helper, {
        "w": stored("int8", (2, 2, 3, 3)), "w_scale": scale(0.01), "w_point": np.array(0, np.int8),
        "scale": scale(0.1), "point": point("uint8", -7),
    }  # fmt: skip
    weights = ["scale", "point", "w", "w_scale", "w_point", "scale", "point"]
    nodes = [
        helper.make_node("QLinearConv", ["x", *weights], ["a"]),
        helper.make_node("MaxPool", ["a"], ["b"], kernel_shape=[2, 2]),
        helper.make_node("QLinearConv", ["b", *weights], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", onnx.TensorProto.UINT8, (1, 2, 8, 7))
    data = finished(
        onnx, nodes, [x], [onnx.ValueInfoProto(name="y")],
        [onnx.numpy_helper.from_array(data, name) for name, data in constants.items()],
    )  # fmt: skip
    compilation = check_model(data, count=2)
    kinds = [run.node.op.name for run in compilation.plan.program.runs]
    assert kinds.count("conv_2d") == 2
    assert not any(run.node.output.type.element.is_float for run in compilation.plan.program.runs)
