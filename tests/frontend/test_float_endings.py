"""What follows the last pair of a quantized ONNX file is float, as in ONNX's reference evaluator.

That evaluator computes in numpy, so nothing here depends on the processor, as onnxruntime's
quantized kernels do. Every ending stands behind a pair through which all 256 stored values go.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.ir.interpreter import run_graph
from glowmcu.ops.quantization import Dequantize, Quantize
from tests.support.check_model import check_model
from tests.support.onnx_models import finished, run_reference

onnx = pytest.importorskip("onnx", reason="pip install onnx")
Array = npt.NDArray[Any]

SCALE = 0.05
#: Every stored value once, in another order than theirs.
X = ((np.random.default_rng(4).permutation(256) - 128) * SCALE).astype(np.float32)
GENERATOR = np.random.default_rng(1)
WEIGHTS = GENERATOR.normal(size=(16, 4)).astype(np.float32)
FILTER = GENERATOR.normal(size=(2, 4, 3, 3)).astype(np.float32)
ROWS, IMAGE = (16, 16), (1, 4, 8, 8)


def number(value: float) -> Array:
    return np.array(value, np.float32)


def whole(*values: int) -> Array:
    return np.array(values, np.int64)


#: Operator, shape of the operand, constants behind it, attributes, number of results.
ENDINGS: dict[str, tuple[str, tuple[int, ...], list[Array | None], dict[str, Any], int]] = {
    "Softmax": ("Softmax", ROWS, [], {"axis": 1}, 1),
    "Softmax of the first axis": ("Softmax", ROWS, [], {"axis": 0}, 1),
    "LogSoftmax": ("LogSoftmax", ROWS, [], {"axis": 1}, 1),
    "Sigmoid": ("Sigmoid", ROWS, [], {}, 1),
    "Tanh": ("Tanh", ROWS, [], {}, 1),
    "Exp": ("Exp", ROWS, [], {}, 1),
    "Relu": ("Relu", ROWS, [], {}, 1),
    "LeakyRelu": ("LeakyRelu", ROWS, [], {"alpha": 0.3}, 1),
    "HardSwish": ("HardSwish", ROWS, [], {}, 1),
    "Clip": ("Clip", ROWS, [number(-1.01), number(2.02)], {}, 1),
    "PRelu": ("PRelu", ROWS, [WEIGHTS[:, 0]], {}, 1),
    "Gemm": ("Gemm", ROWS, [WEIGHTS], {}, 1),
    "MatMul": ("MatMul", ROWS, [WEIGHTS], {}, 1),
    "Conv": ("Conv", IMAGE, [FILTER], {}, 1),
    "Add a constant": ("Add", ROWS, [number(0.33)], {}, 1),
    "Mul by a constant": ("Mul", ROWS, [number(0.33)], {}, 1),
    "Max with a constant": ("Max", ROWS, [number(0.33)], {}, 1),
    "Greater than a constant": ("Greater", ROWS, [number(0.33)], {}, 1),
    "AveragePool": ("AveragePool", IMAGE, [], {"kernel_shape": [3, 3]}, 1),
    "GlobalAveragePool": ("GlobalAveragePool", IMAGE, [], {}, 1),
    "MaxPool": ("MaxPool", IMAGE, [], {"kernel_shape": [3, 3]}, 1),
    "ReduceMean": ("ReduceMean", ROWS, [whole(1)], {}, 1),
    "ReduceSum": ("ReduceSum", ROWS, [whole(1)], {}, 1),
    "ReduceMax": ("ReduceMax", ROWS, [whole(1)], {}, 1),
    "LpNormalization": ("LpNormalization", ROWS, [], {"axis": 1}, 1),
    "ArgMax": ("ArgMax", ROWS, [], {"axis": 1}, 1),
    "ArgMin": ("ArgMin", ROWS, [], {"axis": 1, "keepdims": 0}, 1),
    "TopK": ("TopK", ROWS, [whole(3)], {"axis": 1}, 2),
    "Resize, linear": ("Resize", IMAGE, [None, number(2) * np.float32([0.5, 0.5, 1, 1])],
                       {"mode": "linear"}, 1),
    "Pad with no stored number": ("Pad", ROWS, [whole(1, 0, 0, 2), number(0.33)], {}, 1),
    "Pad with a stored number": ("Pad", ROWS, [whole(1, 0, 0, 2), number(SCALE * 3)], {}, 1),
    "Reshape": ("Reshape", ROWS, [whole(4, 64)], {}, 1),
    "Transpose": ("Transpose", ROWS, [], {"perm": [1, 0]}, 1),
    "Slice": ("Slice", ROWS, [whole(3), whole(9), whole(1)], {}, 1),
    "Gather": ("Gather", ROWS, [whole(3, 1)], {"axis": 1}, 1),
}  # fmt: skip


def pair(name: str, real: str, scale: float, dtype: str, point: int) -> tuple[list[Any], list[Any]]:
    """`name` is quantized, and dequantized as `real`."""
    operands = [f"{real}/scale", f"{real}/point"]
    constants = [
        onnx.numpy_helper.from_array(np.array(scale, np.float32), operands[0]),
        onnx.numpy_helper.from_array(np.array(point, dtype), operands[1]),
    ]
    nodes = [
        onnx.helper.make_node("QuantizeLinear", [name, *operands], [f"{real}/stored"]),
        onnx.helper.make_node("DequantizeLinear", [f"{real}/stored", *operands], [real]),
    ]
    return nodes, constants


def model(
    nodes: list[Any], constants: list[Any], shape: tuple[int, ...], results: list[str]
) -> bytes:
    x = onnx.helper.make_tensor_value_info("x", 1, shape)
    outputs = [onnx.ValueInfoProto(name=name) for name in results]
    return finished(onnx, nodes, [x], outputs, constants, 19)


def ending(name: str, dtype: str) -> bytes:
    kind, shape, operands, attributes, count = ENDINGS[name]
    nodes, constants = pair("x", "real", SCALE, dtype, 128 if dtype == "uint8" else 0)
    names = [
        "" if data is None and kind == "Resize" else f"c{i}" for i, data in enumerate(operands)
    ]
    constants += [
        onnx.numpy_helper.from_array(data, given)
        for data, given in zip(operands, names, strict=True)
        if data is not None
    ]
    results = [f"y{i}" for i in range(count)]
    nodes.append(onnx.helper.make_node(kind, ["real", *names], results, **attributes))
    return model(nodes, constants, shape, results)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending_of_any_kind_is_float(name: str, dtype: str) -> None:
    x = X.reshape(ENDINGS[name][1])
    check_model(ending(name, dtype), [[x]], oracle=run_reference, rtol=2e-6)


def test_small_probabilities_are_not_rounded_to_nothing() -> None:
    """Found in a keyword spotter: 0.0004 became 0."""
    data = ending("Softmax", "int8")
    compilation = check_model(data, [[X.reshape(ROWS)]], oracle=run_reference)
    (got,) = run_graph(compilation.imported, [X.reshape(ROWS)])
    assert 0 < got.min() < 1 / 512


def test_a_detector_s_ending_is_float() -> None:
    """Scores above a threshold keep theirs, and the best of them say which boxes to read."""
    boxes = GENERATOR.normal(size=(16, 4)).astype(np.float32)
    constants = {
        "boxes": boxes,
        "low": number(0.3),
        "none": number(0),
        "k": whole(5),
        "axis": whole(1),
    }
    nodes, more = pair("x", "real", SCALE, "uint8", 128)
    node = onnx.helper.make_node
    nodes += [
        node("Sigmoid", ["real"], ["score"]),
        node("ReduceMax", ["score", "axis"], ["best"], keepdims=0),
        node("Greater", ["best", "low"], ["above"]),
        node("Where", ["above", "best", "none"], ["kept"]),
        node("TopK", ["kept", "k"], ["scores", "which"]),
        node("Gather", ["boxes", "which"], ["chosen"], axis=0),
    ]
    more += [onnx.numpy_helper.from_array(data, name) for name, data in constants.items()]
    data = model(nodes, more, ROWS, ["scores", "which", "chosen"])
    check_model(data, [[X.reshape(ROWS)]], oracle=run_reference)


#: Scale and zero point of the pair behind it, and whether int8's own parameters can tell as much.
PAIRS = {
    "Softmax, as onnxruntime stores it": ("Softmax", 1 / 256, "uint8", 0, True),
    "Softmax, by a range that was seen": ("Softmax", 1 / 255, "uint8", 0, True),
    "Softmax, symmetric": ("Softmax", 1 / 127, "int8", 0, True),
    "Softmax, finer": ("Softmax", 1 / 4000, "uint8", 0, True),
    "LogSoftmax, near 0": ("LogSoftmax", 1 / 16, "int8", 127, True),
    "LogSoftmax, far below 0": ("LogSoftmax", 1 / 9, "uint8", 255, False),
    "LogSoftmax, finer": ("LogSoftmax", 1 / 40, "uint8", 255, False),
}


@pytest.mark.parametrize(("kind", "scale", "dtype", "point", "stored"), PAIRS.values(), ids=PAIRS)
def test_an_operator_of_fixed_parameters_keeps_what_its_pair_tells(
    kind: str, scale: float, dtype: str, point: int, stored: bool
) -> None:
    before, constants = pair("x", "real", SCALE, "int8", 0)
    after, more = pair("y", "z", scale, dtype, point)
    nodes = [*before, onnx.helper.make_node(kind, ["real"], ["y"], axis=1), *after]
    data = model(nodes, constants + more, ROWS, ["z"])
    compilation = check_model(data, [[X.reshape(ROWS)]])
    (got,) = run_graph(compilation.imported, [X.reshape(ROWS)])
    (want,) = run_reference(data, [X.reshape(ROWS)])
    assert np.abs(got - want).max() <= 1.001 * scale
    inner = [n for n in compilation.imported.nodes if not isinstance(n.op, Quantize | Dequantize)]
    assert stored is all(not n.output.type.element.is_float for n in inner)


def test_numbers_of_two_scales_are_compared_as_real_numbers() -> None:
    """3 steps of 0.1 and 1 step of 0.3 are not the same float32."""
    nodes, constants = pair("x", "a", 0.1, "int8", 0)
    second, more = pair("x", "b", 0.3, "int8", 0)
    nodes = [*nodes, *second, onnx.helper.make_node("Less", ["a", "b"], ["y"])]
    x = (np.arange(256, dtype=np.float32) - 128).reshape(ROWS) * np.float32(0.1)
    check_model(model(nodes, constants + more, ROWS, ["y"]), [[x]], oracle=run_reference)
