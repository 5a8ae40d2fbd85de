"""QUANTIZE of weights with a scale for each channel, as fake quantization is exported."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.read_model import read_model
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from tests.support.oracle import run_litert_reference

WEIGHTS = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32) * [[0.2], [1], [5]]
SCALES, POINTS = (0.001, 0.03, 0.2), (128, 100, 131)


def exported(is_constant: bool = True) -> bytes:
    """Fully connected with weights of uint8, made of constants or of an input."""
    build = ModelBuilder()
    data = WEIGHTS.astype(np.float32)
    weights = build.constant("w", data) if is_constant else build.input("w", (3, 4), "float32")
    stored = build.tensor("w/stored", (3, 4), "uint8", SCALES, POINTS, axis=0)
    real = build.tensor("w/real", (3, 4), "float32")
    build.op("QUANTIZE", [weights], [stored], {})
    build.op("DEQUANTIZE", [stored], [real], {})
    x, y = build.input("x", (1, 4), "float32"), build.tensor("y", (1, 3), "float32")
    build.op("FULLY_CONNECTED", [x, real, None], [y], {"fused_activation_function": "NONE"})
    build.output(y)
    return build.finish()


def test_each_channel_is_stored_by_its_own_scale() -> None:
    graph = read_model(exported(), "m.tflite")
    x = np.random.default_rng(2).normal(size=(1, 4)).astype(np.float32)
    scales, points = (np.array(each)[:, np.newaxis] for each in (SCALES, POINTS))
    steps = WEIGHTS.astype(np.float32) / scales.astype(np.float32)
    stored = np.clip(np.trunc(steps + np.copysign(0.5, steps)) + points, 0, 255)
    assert len({0, 255} & set(stored.reshape(-1))) > 0, "some weights are beyond the range"
    (found,) = run_graph(graph, [x])
    np.testing.assert_allclose(found, run_litert_reference(exported(), [x])[0], rtol=1e-5)
    np.testing.assert_allclose(found, x @ ((stored - points) * scales).T, rtol=1e-5)


def test_what_is_computed_has_one_scale() -> None:
    with pytest.raises(GlowmcuError, match="3 scales, one for each channel") as caught:
        read_model(exported(is_constant=False), "m.tflite")
    assert caught.value.problems[0].code == "GM106"
