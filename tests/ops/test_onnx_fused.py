"""Fused operators that onnxruntime writes into models that it has optimized, against it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.read_model import read_model
from tests.support.check_model import check_model
from tests.support.onnx_models import run_onnxruntime

onnx = pytest.importorskip("onnx", reason="pip install onnx")

RANDOM = np.random.default_rng(11)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


def model_of(
    kind: str,
    operands: list[Any],
    attributes: dict[str, Any],
    outputs: tuple[str, ...] = ("y",),
    domain: str = "com.microsoft",
) -> bytes:
    """One operator; tuples are shapes of inputs, arrays constants, None is left out."""
    helper, inputs, constants, names = onnx.helper, [], [], []
    for position, operand in enumerate(operands):
        name = "" if operand is None else f"t{position}"
        names.append(name)
        if isinstance(operand, tuple):
            inputs.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, operand))
        elif operand is not None:
            constants.append(onnx.numpy_helper.from_array(operand, name))
    node = helper.make_node(kind, names, list(outputs), domain=domain, **attributes)
    results = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
        for name in outputs
        if name
    ]
    graph = helper.make_graph([node], "main", inputs, results, constants)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    data: bytes = model.SerializeToString()
    return data


@pytest.mark.parametrize(
    ("activation", "numbers"),
    [
        ("Relu", []), ("Sigmoid", []), ("Tanh", []), ("LeakyRelu", [0.3]),
        ("HardSigmoid", [0.3, 0.4]), ("Clip", [-0.5, 0.75]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("added", [False, True], ids=["", "plus a tensor"])
def test_convolutions_with_an_activation(
    activation: str, numbers: list[float], added: bool
) -> None:
    attributes = {"activation": activation, "pads": [1, 1, 1, 1], "strides": [2, 1], "group": 2}
    if numbers:
        attributes["activation_params"] = numbers
    operands: list[Any] = [(1, 4, 6, 5), normal(6, 2, 3, 3), normal(6)]
    if added:
        operands.append((1, 6, 3, 5))
    check_model(model_of("FusedConv", operands, attributes), oracle=run_onnxruntime)


def test_an_activation_that_nobody_knows_is_refused() -> None:
    data = model_of("FusedConv", [(1, 2, 4, 4), normal(2, 2, 1, 1)], {"activation": "Mystery"})
    with pytest.raises(GlowmcuError, match="FusedConv: activation 'Mystery' is not known"):
        read_model(data, "m.onnx")


@pytest.mark.parametrize(
    ("activation", "numbers"),
    [("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.3}), ("Tanh", {})],
)  # fmt: skip
def test_products_with_an_activation(activation: str, numbers: dict[str, float]) -> None:
    attributes = {"activation": activation, "transB": 1, "alpha": 0.5, "beta": 2.0, **numbers}
    operands = [(3, 5), normal(4, 5), normal(4)]
    check_model(model_of("FusedGemm", operands, attributes), oracle=run_onnxruntime)


@pytest.mark.parametrize("alpha", [1.0, 0.35])
@pytest.mark.parametrize(
    ("a", "b", "flags"),
    [
        ((2, 3, 4), (2, 4, 5), ""), ((2, 4, 3), (2, 4, 5), "transA"),
        ((2, 3, 4), (2, 5, 4), "transB"),
        ((4,), (4, 5), "transA"), ((3, 2, 4), (2, 4, 5), "transBatchA"),
        ((4, 2, 3), (2, 4, 5), "transA transBatchA"),
        ((2, 3, 4), (4, 2, 5), "transBatchB"), ((1, 2, 3, 4), (5, 1, 2, 4), "transB transBatchB"),
        ((3, 1, 2, 4), (5, 1, 2, 4), "transBatchA transB transBatchB"),
    ],
)  # fmt: skip
def test_products_of_transposed_operands(
    a: tuple[int, ...], b: tuple[int, ...], flags: str, alpha: float
) -> None:
    attributes: dict[str, Any] = {"alpha": alpha, **dict.fromkeys(flags.split(), 1)}
    check_model(model_of("FusedMatMul", [a, b], attributes), oracle=run_onnxruntime)


@pytest.mark.parametrize("bias", [False, True], ids=["", "with a bias"])
@pytest.mark.parametrize("outputs", [("y",), ("y", "", "", "sum")], ids=["", "and the sum"])
@pytest.mark.parametrize("simplified", [False, True], ids=["", "without the mean"])
def test_layer_norms_of_a_sum(simplified: bool, outputs: tuple[str, ...], bias: bool) -> None:
    kind = "SkipSimplifiedLayerNormalization" if simplified else "SkipLayerNormalization"
    operands: list[Any] = [(1, 3, 8), (1, 3, 8), normal(8)]
    operands += [] if simplified else [normal(8)]
    operands += [normal(8)] if bias else []
    data = model_of(kind, operands, {"epsilon": 1e-3}, outputs)
    check_model(data, oracle=run_onnxruntime)


def test_moments_of_a_sum_are_refused() -> None:
    data = model_of("SkipLayerNormalization", [(1, 3, 8), (1, 3, 8), normal(8)], {}, ("y", "mean"))
    with pytest.raises(GlowmcuError, match="results of training only"):
        read_model(data, "m.onnx")


def test_the_older_name_of_rms_normalization() -> None:
    data = model_of(
        "SimplifiedLayerNormalization", [(2, 3, 8), normal(8)], {"epsilon": 1e-3, "axis": -1},
        domain="",
    )  # fmt: skip
    check_model(data, oracle=run_onnxruntime)


@pytest.mark.parametrize(
    ("kind", "biased", "attributes"),
    [
        ("Gelu", False, {}), ("BiasGelu", True, {}), ("FastGelu", False, {}),
        ("FastGelu", True, {}), ("QuickGelu", False, {}), ("QuickGelu", False, {"alpha": 1.0}),
    ],
)  # fmt: skip
def test_gelus(kind: str, biased: bool, attributes: dict[str, float]) -> None:
    operands: list[Any] = [(2, 3, 8), *([normal(8)] if biased else [])]
    check_model(model_of(kind, operands, attributes), oracle=run_onnxruntime, atol=2e-6)
