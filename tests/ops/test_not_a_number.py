"""What is not a number or infinite goes through float layers as it does in onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.test_elementwise import pair_model
from tests.support.check_model import check_model
from tests.support.onnx_models import Nodes, finished, onnx_model, run_onnxruntime
from tests.support.oracle import run_tflm

F32 = "float32"
INF = np.inf
SPECIAL = np.array([np.nan, INF, -INF, 0.0, -1.5, 2.0], np.float32)
PAIRS = [[SPECIAL.reshape(6, 1), SPECIAL.reshape(1, 6)]]


@pytest.mark.parametrize("kind", ["Max", "Min"])
def test_an_extreme_of_what_is_not_a_number_is_none(kind: str) -> None:
    data = onnx_model(kind, [("a", F32, (6, 1)), ("b", F32, (1, 6))])
    check_model(data, PAIRS, oracle=run_onnxruntime)


@pytest.mark.parametrize("kind", ["MAXIMUM", "MINIMUM"])
def test_of_tensorflow_lite_it_is_the_second_operand(kind: str) -> None:
    check_model(pair_model(kind, [(6, 1), (1, 6)], F32, scales=None), PAIRS, oracle=run_tflm)


def _weights(*shape: int) -> Any:
    return np.random.default_rng(5).uniform(0.5, 1.5, shape).astype(np.float32)


IMAGE = (1, 2, 4, 4)
LAYERS: dict[str, tuple[str, tuple[int, ...], dict[str, Any], list[Any]]] = {
    "product": ("MatMul", (2, 3), {}, [_weights(3, 2)]),
    "product and sum": ("Gemm", (2, 3), {}, [_weights(3, 2), _weights(2)]),
    "convolution": ("Conv", IMAGE, {"kernel_shape": [2, 2]}, [_weights(3, 2, 2, 2)]),
    "depthwise": ("Conv", IMAGE, {"kernel_shape": [2, 2], "group": 2}, [_weights(2, 1, 2, 2)]),
    "transposed": ("ConvTranspose", IMAGE, {"kernel_shape": [2, 2]}, [_weights(2, 3, 2, 2)]),
    "mean of windows": ("AveragePool", IMAGE, {"kernel_shape": [2, 2]}, []),
    "mean": ("GlobalAveragePool", IMAGE, {}, []),
    "largest of windows": ("MaxPool", IMAGE, {"kernel_shape": [2, 2]}, []),
}


@pytest.mark.parametrize("value", [INF, -INF])
@pytest.mark.parametrize(("kind", "shape", "attributes", "constants"), LAYERS.values(), ids=LAYERS)
def test_a_layer_without_an_activation_limits_nothing(
    kind: str, shape: Any, attributes: Any, constants: Any, value: float
) -> None:
    x = np.ones(shape, np.float32)
    x.reshape(-1)[1] = value
    data = onnx_model(kind, [("x", F32, shape), *constants], attributes)
    check_model(data, [[x]], oracle=run_onnxruntime)


@pytest.mark.parametrize("kind", ["MatMul", "Conv"])
def test_relu_lets_what_is_infinite_through(kind: str) -> None:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    shape, weights = ((1, 3), (3, 2)) if kind == "MatMul" else ((1, 3, 1, 1), (2, 3, 1, 1))
    nodes = Nodes()
    nodes.add("Relu", nodes.add(kind, "x", nodes.number(_weights(*weights))))
    x, y = (onnx.helper.make_tensor_value_info(n, 1, s) for n, s in (("x", shape), ("v1", None)))
    data = finished(onnx, nodes.nodes, [x], [y], nodes.constants)
    rows = [[np.array([a, 1.0, -2.0], np.float32).reshape(shape)] for a in (np.nan, INF, -INF)]
    check_model(data, rows, oracle=run_onnxruntime)


@pytest.mark.parametrize("row", [[-INF, -INF], [INF, 0.0], [np.nan, 0.0], [-INF, 1.0], [3e38, 0.0]])
def test_the_logarithm_of_a_sum_of_powers_may_be_infinite(row: list[float]) -> None:
    data = onnx_model("ReduceLogSumExp", [("x", F32, (1, 2))], {"keepdims": 1})
    check_model(data, [[np.array([row], np.float32)]], oracle=run_onnxruntime)
