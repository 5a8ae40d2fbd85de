"""Weights of quantized ONNX files as int8 around zero."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.weights_of_pairs import centred
from glowmcu.ir.types import Quantization


def test_weights_that_int8_around_zero_holds_are_exact() -> None:
    scale = np.float32(0.013)
    offsets = np.array([[-128, 5, 127], [-200, 0, 55], [3, 4, 5]], np.int64)
    pair_of = Quantization((float(scale),), (72,))
    found = centred(offsets[[0, 2]].astype(np.float32) * scale, pair_of, 0)
    assert found is not None
    assert np.array_equal(found[0], offsets[[0, 2]])
    assert found[1] == Quantization((float(scale),), (0,))
    found = centred(offsets.astype(np.float32)[:, [0, 2]] * scale, pair_of, 0)
    assert found is None  # 200 steps in 127 would be more than half as wide again
    real = np.where(offsets == -200, -150, offsets)
    found = centred(real.astype(np.float32) * scale, pair_of, 0)
    assert found is not None
    stored, quantization = found
    scales = np.array(quantization.scales, np.float32)
    assert np.array_equal(stored[[0, 2]], real[[0, 2]])
    assert np.array_equal(scales[[0, 2]], [scale, scale])
    assert quantization.axis == 0
    assert stored[1, 0] == -127
    np.testing.assert_allclose(stored * scales[:, None], real * scale, atol=0.6 * float(scales[1]))


def test_weights_that_are_no_steps_of_their_pair_are_not_taken_for_such() -> None:
    real = np.array([[0.5, 1.25], [2.0, 3.0]], np.float32)
    assert centred(real, Quantization((0.5,), (3,)), 0) is None
    assert centred(2 * real, Quantization((0.5,), (3,)), 0) is not None
