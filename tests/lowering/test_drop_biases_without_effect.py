"""Channels of next to no weight, whose biases the converter clamps to int32's limits."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_tflm

LIMIT = 2**31 - 1
KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")


def layer(kind: str, small: float, bias: int, scale: float = 0.02) -> bytes:
    """Four channels; the third one's weights are multiples of `small`, its bias is `bias`."""
    generator = np.random.default_rng(1)
    shape = (4, 3) if kind == "FULLY_CONNECTED" else (4, 2, 2, 4)
    shape = (1, 2, 2, 4) if kind == "DEPTHWISE_CONV_2D" else shape
    data = generator.integers(-127, 128, shape).astype(np.int8)
    scales = [0.01, 0.02, small, 0.015]
    model = ModelBuilder()
    x_shape = (2, 3) if kind == "FULLY_CONNECTED" else (1, 3, 3, 4)
    out_shape = (2, 4) if kind == "FULLY_CONNECTED" else (1, 3, 3, 4)
    x = model.input("x", x_shape, "int8", scale, -5)
    w = model.constant("w", data, scales, axis=3 if kind == "DEPTHWISE_CONV_2D" else 0)
    biases = np.array([100, -2000, bias, 7], np.int32)
    b = model.constant("b", biases, [scale * each for each in scales])
    y = model.tensor("y", out_shape, "int8", 0.1, 9)
    operands, options = [x, w, b], {}
    if kind == "TRANSPOSE_CONV":
        operands = [model.constant("size", np.array(out_shape, np.int32)), w, x, b]
    if kind != "FULLY_CONNECTED":
        options = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    if kind == "DEPTHWISE_CONV_2D":
        options["depth_multiplier"] = 1
    model.op(kind, operands, [y], options)
    model.output(y)
    return model.finish()


@pytest.mark.parametrize("bias", [LIMIT, -LIMIT - 1], ids=["most", "least"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_bias_that_no_result_feels_may_be_all_of_int32(kind: str, bias: int) -> None:
    """TFLM's sum wraps there, and is rounded to 0 before and after."""
    data = layer(kind, 8e-12, bias)
    check_model(data, oracle=run_tflm)
    check_model(data, oracle=run_tflm, options=Options("m"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_bias_that_wraps_and_is_felt_is_refused(kind: str) -> None:
    with pytest.raises(GlowmcuError, match="beyond int32") as caught:
        compile_model(layer(kind, 1e-8, LIMIT), "m.tflite", Options("m"))
    assert caught.value.code == "GM502"


def test_a_large_bias_that_stays_within_int32_is_kept() -> None:
    done = check_model(layer("CONV_2D", 8e-12, 2**30), oracle=run_tflm)
    (conv,) = (node for node in done.graph.nodes if node.op.name == "conv_2d")
    bias = done.graph.constant_data(conv.inputs[2])
    assert bias is not None
    assert bias.tolist() == [100, -2000, 2**30, 7]
