"""Fields of a `.tflite` that TensorFlow Lite Micro never reads do not stand in the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.oracle import run_tflm

GENERATOR = np.random.default_rng(8)
WEIGHTS = GENERATOR.integers(-127, 128, (1, 3, 3, 8)).astype(np.int8)
BIAS = GENERATOR.integers(-500, 500, 8).astype(np.int32)
SCALES = [0.01 + 0.001 * channel for channel in range(8)]
#: The bias's scales, zero points and quantized dimension; scales and zero points of the result.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a bias's axis, as in person_detect": ({"scale": SCALES, "axis": 3}, {}),
    "a bias's number of scales": ({"scale": SCALES[:3]}, {}),
    "a bias's scale of 0": ({"scale": 0.0}, {}),
    "a bias's zero points": ({"scale": SCALES, "zero_point": [1, 2]}, {}),
    "a result's further scales": ({}, {"scale": [0.4, 9.0], "zero_point": [3, 4]}),
    "a result's further zero points": ({}, {"scale": 0.4, "zero_point": [3, 4]}),
}


def depthwise(bias: dict[str, Any], result: dict[str, Any]) -> bytes:
    model = ModelBuilder()
    x = model.input("x", (1, 6, 6, 8), "int8", 0.05, 4)
    weights = model.constant("w", WEIGHTS, SCALES, [0] * 8, axis=3)
    operands = [x, weights, model.constant("b", BIAS, **bias)]
    y = model.tensor("y", (1, 4, 4, 8), "int8", **{"scale": 0.4, "zero_point": 3, **result})
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "depth_multiplier": 1}
    model.op("DEPTHWISE_CONV_2D", operands, [y], options)
    model.output(y)
    return model.finish()


@pytest.mark.parametrize(("bias", "result"), CASES.values(), ids=CASES)
def test_what_nobody_reads_is_no_reason_to_refuse(
    bias: dict[str, Any], result: dict[str, Any]
) -> None:
    check_model(depthwise(bias, result), oracle=run_tflm)


def product(zero_point: int, activation: str = "NONE", is_read: bool = False) -> bytes:
    """A dense layer, or two, whose result has the zero point."""
    model = ModelBuilder()
    x = model.input("x", (1, 8), "int8", 0.05, 4)
    weights = model.constant("w", WEIGHTS[0, 0], 0.01)
    y = model.tensor("y", (1, 3), "int8", 0.1, zero_point)
    model.op("FULLY_CONNECTED", [x, weights, None], [y], {"fused_activation_function": activation})
    if is_read:
        other = model.constant("v", WEIGHTS[0, 0, :, :3], 0.01)
        z = model.tensor("z", (1, 3), "int8", 0.1, 0)
        model.op("FULLY_CONNECTED", [y, other, None], [z], {})
        y = z
    model.output(y)
    return model.finish()


def test_a_products_result_may_be_all_below_zero() -> None:
    """A zero point of 128 is a summand to the layer that makes it; nobody else computes with it."""
    check_model(product(128), oracle=run_tflm)


@pytest.mark.parametrize(
    "data",
    [product(129), product(-129), product(128, is_read=True), product(128, "RELU")],
    ids=["one more", "one less than the least", "a layer reads it", "its activation cuts at zero"],
)
def test_zero_points_outside_the_type_are_refused_elsewhere(data: bytes) -> None:
    with pytest.raises(GlowmcuError, match="zero point") as caught:
        reference_graph(data, "m.tflite")
    assert caught.value.code == "GM105"


def test_scales_of_weights_that_do_not_fit_are_refused_still() -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 6, 6, 8), "int8", 0.05, 4)
    weights = model.constant("w", WEIGHTS, SCALES[:3], [0] * 3, axis=3)
    y = model.tensor("y", (1, 4, 4, 8), "int8", 0.4, 3)
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "depth_multiplier": 1}
    model.op("DEPTHWISE_CONV_2D", [x, weights], [y], options)
    model.output(y)
    with pytest.raises(GlowmcuError, match="3 scales along axis 3"):
        reference_graph(model.finish(), "m.tflite")


@pytest.mark.parametrize("kind", ["MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_a_reduction_of_no_axes_keeps_every_element(kind: str, dtype: str) -> None:
    quantization = (0.1, 3) if dtype == "int8" else (None, 0)
    model = ModelBuilder()
    x = model.input("x", (2, 3), dtype, *quantization)
    y = model.tensor("y", (2, 3), dtype, *quantization)
    model.op(kind, [x, model.constant("axes", np.zeros(0, np.int32))], [y], {"keep_dims": False})
    model.output(y)
    check_model(model.finish(), oracle=run_tflm)


def test_products_of_sizes_fold() -> None:
    """Keras' dense layers on more than two axes multiply sizes, of none of which 1 is left."""
    model = ModelBuilder()
    x = model.input("x", (2, 3, 4), "int8", 0.1, 3)
    shape = model.tensor("shape", (3,), "int32")
    model.op("SHAPE", [x], [shape], {"out_type": "INT32"})
    axis = model.constant("axis", np.array([0], np.int32))
    products = []
    for name, places in (("rows", [0, 1, 2]), ("nothing", [])):
        sizes = model.tensor(f"{name}/sizes", (len(places),), "int32")
        where = model.constant(f"{name}/places", np.array(places, np.int32))
        model.op("GATHER", [shape, where], [sizes], {"axis": 0})
        products.append(model.tensor(name, (), "int32"))
        model.op("REDUCE_PROD", [sizes, axis], [products[-1]], {"keep_dims": False})
    target = model.tensor("target", (2,), "int32")
    model.op("PACK", products, [target], {"values_count": 2, "axis": 0})
    y = model.tensor("y", (24, 1), "int8", 0.1, 3)
    model.op("RESHAPE", [x, target], [y])
    model.output(y)
    compilation = check_model(model.finish())
    assert [run.node.op.name for run in compilation.plan.program.runs] == []
