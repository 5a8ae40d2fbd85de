"""Activations that only clamp go into the operator in front, and only those."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.operation import Constant
from glowmcu.lowering.fold_clamp_into_producer import clamp_of_table
from tests.support.check_model import check_model
from tests.support.oracle import run_tflm

NONE, RELU, RELU6 = 0, 1, 3


def activated_model(kind, activation, quantization=(0.05, 3), activated=None, fused=NONE) -> bytes:
    """`kind` (ADD, FULLY_CONNECTED or CONV_2D), then `activation`."""
    builder = ModelBuilder()
    shape = (1, 4, 4, 8) if kind == "CONV_2D" else (1, 8)
    x = builder.input("x", shape, "int8", 0.1, 3)
    y = builder.tensor("y", shape, "int8", *quantization)
    z = builder.tensor("z", shape, "int8", *(activated or quantization))
    weights = np.random.default_rng(1).integers(-127, 128, (8, 8)).astype(np.int8)
    options = {"fused_activation_function": fused}
    if kind == "ADD":
        builder.op(kind, [x, builder.input("b", shape, "int8", 0.07, -3)], [y], options)
    elif kind == "FULLY_CONNECTED":
        builder.op(kind, [x, builder.constant("w", weights, 0.01), None], [y], options)
    else:
        kernel = builder.constant("w", weights.reshape(8, 1, 1, 8), 0.01)
        bias = builder.constant("b", np.zeros(8, np.int32), 0.001)
        options |= {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
        builder.op(kind, [x, kernel, bias], [y], options)
    builder.op(activation, [y], [z])
    builder.output(z)
    return builder.finish()


def names(graph) -> list[str]:
    return [node.op.name for node in graph.nodes if not isinstance(node.op, Constant)]


@pytest.mark.parametrize("activation", ["RELU", "RELU6"])
@pytest.mark.parametrize("kind", ["ADD", "FULLY_CONNECTED", "CONV_2D"])
def test_a_clamp_goes_into_the_operator_in_front(kind, activation) -> None:
    compilation = check_model(activated_model(kind, activation), oracle=run_tflm)
    assert names(compilation.graph) == [kind.lower()]


def test_a_clamp_after_a_fused_clamp_narrows_it() -> None:
    data = activated_model("FULLY_CONNECTED", "RELU6", fused=RELU)
    compilation = check_model(data, oracle=run_tflm)
    assert names(compilation.graph) == ["fully_connected"]
    assert compilation.graph.nodes[-1].op.clamp == (3, 123)


def test_a_table_that_clamps_what_the_fused_clamp_lets_through_goes() -> None:
    """abs() changes negative values, but relu leaves none."""
    compilation = check_model(activated_model("ADD", "ABS", fused=RELU), oracle=run_tflm)
    assert names(compilation.graph) == ["add"]


def test_a_function_that_is_no_clamp_stays() -> None:
    data = activated_model("FULLY_CONNECTED", "ABS")
    assert names(check_model(data, oracle=run_tflm).graph) == ["fully_connected", "lookup"]


def test_a_clamp_that_also_rescales_stays() -> None:
    data = activated_model("FULLY_CONNECTED", "RELU", activated=(0.025, -128))
    assert names(check_model(data, oracle=run_tflm).graph) == ["fully_connected", "lookup"]


def test_a_clamp_stays_where_others_read_what_is_not_clamped() -> None:
    builder = ModelBuilder()
    x = builder.input("x", (1, 8), "int8", 0.1, 3)
    y = builder.tensor("y", (1, 8), "int8", 0.05, 3)
    z = builder.tensor("z", (1, 8), "int8", 0.05, 3)
    weights = builder.constant("w", np.eye(8, dtype=np.int8), 0.9)
    builder.op("FULLY_CONNECTED", [x, weights, None], [y], {"fused_activation_function": NONE})
    builder.op("RELU", [y], [z])
    builder.output(y)
    builder.output(z)
    compilation = check_model(builder.finish(), oracle=run_tflm)
    assert names(compilation.graph) == ["fully_connected", "lookup"]


BYTES = np.arange(256, dtype=np.uint8).view(np.int8)


@pytest.mark.parametrize(
    ("table", "limits", "clamp"),
    [
        (BYTES, (-128, 127), (-128, 127)),
        (np.clip(BYTES, -5, 77), (-128, 127), (-5, 77)),
        (np.clip(BYTES, -5, 77), (0, 10), (0, 10)),
        (np.full(256, 9, np.int8), (-128, 127), (9, 9)),
        (np.full(256, 9, np.int8), (20, 30), (9, 9)),
        (np.abs(np.maximum(BYTES, -127)), (-128, 127), None),
        (np.abs(np.maximum(BYTES, -127)), (0, 127), (0, 127)),
        (-np.maximum(BYTES, -127), (-128, 127), None),
        (np.where(BYTES == 7, 8, BYTES).astype(np.int8), (-128, 127), None),
        (np.where(BYTES == 7, 8, BYTES).astype(np.int8), (8, 127), (8, 127)),
    ],
)
def test_a_clamp_is_recognised_on_the_values_that_occur(table, limits, clamp) -> None:
    assert clamp_of_table(table, *limits) == clamp


@pytest.mark.parametrize("activation", ["RELU", "ABS"])
@pytest.mark.parametrize("scale", [0.05, 0.025])
def test_a_clamp_of_int16_goes_the_same_way(activation: str, scale: float) -> None:
    """Between equal scales; there is no table of 16 bits. What stays is stacked on the sum."""
    builder = ModelBuilder()
    x = builder.input("x", (1, 8), "int16", 0.001, 0)
    b = builder.input("b", (1, 8), "int16", 0.002, 0)
    y = builder.tensor("y", (1, 8), "int16", 0.05, 0)
    z = builder.tensor("z", (1, 8), "int16", scale, 0)
    builder.op("ADD", [x, b], [y], {"fused_activation_function": NONE})
    builder.op(activation, [y], [z])
    builder.output(z)
    compilation = check_model(builder.finish())
    if activation == "RELU" and scale == 0.05:
        assert names(compilation.graph) == ["add"]
        assert compilation.graph.nodes[-1].op.clamp == (0, 32767)
    else:
        assert names(compilation.graph) == ["stack"]
