"""Layers of real numbers equal LiteRT, whether their weights are known or computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from tests.ops.test_convolution import NUMBERS, SPATIAL
from tests.ops.test_convolution import Case as Convolution
from tests.ops.test_matmul import PRODUCTS, Product
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference

ACTIVATIONS = ("relu", "relu6", "relu between -1 and 1")
CONVOLUTIONS = {
    **SPATIAL,
    **{name: NUMBERS[name] for name in ACTIVATIONS},
}
#: For kernels that compute two pixels by eight channels at a time, by rows.
ROW_SAMPLES = {
    "1x1, five columns": (
        "CONV_2D",
        Convolution((2, 5, 5, 3), 9, (1, 1), activation="RELU"),
    ),
    "1x1, eight inputs": (
        "CONV_2D",
        Convolution((1, 4, 5, 8), 6, (1, 1), activation="RELU"),
    ),
    "3x3, nine outputs": (
        "CONV_2D",
        Convolution((2, 6, 7, 3), 9, (3, 3), padding="SAME", activation="RELU"),
    ),
    "3x3, nine channels": (
        "DEPTHWISE_CONV_2D",
        Convolution((2, 7, 6, 9), 9, (3, 3), padding="SAME"),
    ),
    "stride 2, five channels": (
        "DEPTHWISE_CONV_2D",
        Convolution((1, 8, 7, 5), 5, (3, 3), (2, 2), padding="SAME"),
    ),
}
TWO_GROUPS = Convolution((1, 4, 5, 4), 6, (3, 2), groups=2)


def _operand(
    model: ModelBuilder, name: str, shape: tuple[int, ...], known: bool, seed: int = 3
) -> Any:
    if not known:
        return model.input(name, shape, "float32")
    generator = np.random.default_rng(seed)
    return model.constant(name, generator.normal(size=shape).astype(np.float32))


def convolution_model(
    kind: str, case: Convolution, known: bool, builder: type[ModelBuilder] = ModelBuilder
) -> bytes:
    model = builder()
    x = model.input("x", case.shape, "float32")
    shape = (case.depth_out, *case.kernel, case.shape[3] // case.groups)
    options: dict[str, Any] = {
        "padding": case.padding,
        "stride_h": case.strides[0],
        "stride_w": case.strides[1],
        "dilation_h_factor": case.dilations[0],
        "dilation_w_factor": case.dilations[1],
        "fused_activation_function": case.activation,
    }
    if kind == "DEPTHWISE_CONV_2D":
        shape = (1, *case.kernel, case.depth_out)
        options["depth_multiplier"] = case.depth_out // case.shape[3]
    operands = [x, _operand(model, "w", shape, known)]
    if case.bias:
        operands.append(_operand(model, "bias", (case.depth_out,), known, 4))
    sizes = zip(case.shape[1:3], case.kernel, case.strides, case.dilations, strict=True)
    out = [
        -(-size // stride)
        if case.padding == "SAME"
        else (size - (kernel - 1) * dilation - 1) // stride + 1
        for size, kernel, stride, dilation in sizes
    ]
    y = model.tensor("y", (case.shape[0], *out, case.depth_out), "float32")
    model.op(kind, operands, [y], options)
    model.output(y)
    return model.finish()


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("case", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_convolutions(kind: str, case: Convolution) -> None:
    check_model(convolution_model(kind, case, True), oracle=run_litert_reference, count=1)


def test_a_grouped_convolution() -> None:
    check_model(convolution_model("CONV_2D", TWO_GROUPS, True), oracle=run_litert_reference)


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("name", ["batch of three", "relu"])
def test_convolutions_with_computed_weights(kind: str, name: str) -> None:
    data = convolution_model(kind, CONVOLUTIONS[name], False)
    check_model(data, oracle=run_litert_reference, count=1)


@pytest.mark.parametrize("known", [True, False], ids=["known", "computed"])
@pytest.mark.parametrize("activation", ["NONE", "RELU6"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (7, 129)])
def test_dense_layers(shape: tuple[int, int], activation: str, known: bool) -> None:
    model = ModelBuilder()
    x = model.input("x", shape, "float32")
    w = _operand(model, "w", (4, shape[1]), known)
    bias = _operand(model, "bias", (4,), known, 4)
    y = model.tensor("y", (shape[0], 4), "float32")
    model.op("FULLY_CONNECTED", [x, w, bias], [y], {"fused_activation_function": activation})
    model.output(y)
    check_model(model.finish(), oracle=run_litert_reference, count=1)


FLOAT_PRODUCTS = {
    name: case
    for name, case in PRODUCTS.items()
    if "zero point" not in name and "scale" not in name
}


@pytest.mark.parametrize("case", FLOAT_PRODUCTS.values(), ids=FLOAT_PRODUCTS)
def test_products(case: Product) -> None:
    model = ModelBuilder()
    x = _operand(model, "x", case.x, "x" in case.constant)
    y = _operand(model, "y", case.y, "y" in case.constant)
    out = model.tensor("out", case.out, "float32")
    model.op("BATCH_MATMUL", [x, y], [out], {"adj_x": case.adj_x, "adj_y": case.adj_y})
    model.output(out)
    check_model(model.finish(), oracle=run_litert_reference, count=1)
