"""Windows far larger than their image: a few hundred bytes of a model ask for gigabytes."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.ir.interpreter import run_graph
from glowmcu.ops import convolution
from glowmcu.pipeline import compile_model, reference_graph
from tests.support.check_model import check_model
from tests.support.onnx_models import onnx_model, run_onnxruntime

IMAGE = ("x", "float32", (1, 1, 4, 4))
KERNEL = np.ones((1, 1, 3, 3), np.float32)
HUGE = {
    "a pooling's padding": (
        "AveragePool", [IMAGE], {"kernel_shape": [2**15] * 2, "pads": [2**14] * 4},
    ),
    "powers of a window": ("LpPool", [IMAGE], {"kernel_shape": [2**15] * 2, "pads": [2**14] * 4}),
    "a convolution's padding": (
        "Conv", [IMAGE, KERNEL], {"pads": [2**14] * 4, "strides": [2**14] * 2},
    ),
    "what is cut off a transposed one": (
        "ConvTranspose", [IMAGE, KERNEL], {"strides": [2**14] * 2, "pads": [24000] * 4},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "operands", "attributes"), HUGE.values(), ids=HUGE)
def test_what_is_computed_on_the_way_has_a_limit(
    kind: str, operands: list[Any], attributes: dict[str, Any]
) -> None:
    data = onnx_model(kind, operands, attributes)
    assert len(data) < 500
    tracemalloc.start()
    try:
        with pytest.raises(GlowmcuError, match="what is computed on the way of shape") as caught:
            compile_model(data, "m.onnx", Options("m"))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.problems[0].code == "GM114"
    assert most < 1 << 24


@pytest.mark.parametrize("kind", ["AveragePool", "MaxPool"])
@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [400, 400], "pads": [200] * 4},
        {"kernel_shape": [3, 90], "pads": [1, 60, 2, 61], "strides": [2, 7]},
        {"kernel_shape": [9, 2], "pads": [5, 1, 6, 0], "strides": [3, 1]},
    ],
)
def test_taps_that_see_no_image_change_nothing(kind: str, attributes: dict[str, Any]) -> None:
    """A window of 400 by 400 had 160,000 taps, of which the image meets 64."""
    check_model(onnx_model(kind, [IMAGE], attributes), oracle=run_onnxruntime)


def test_convolutions_of_many_columns_go_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """256 by 256 weights on 512 by 512 pixels took 16 GiB."""
    random = np.random.default_rng(0)
    weights = random.normal(size=(4, 2, 5, 3)).astype(np.float32)
    operands = [("x", "float32", (2, 4, 9, 11)), weights]
    graph = reference_graph(onnx_model("Conv", operands, {"group": 2}), "m.onnx")
    x = random.normal(size=(2, 4, 9, 11)).astype(np.float32)
    (whole,) = run_graph(graph, [x])
    for most in (5 * 3 * 2 * 2, 5 * 3 * 2 * 2 * 4, 5 * 3 * 2 * 2 * 9 * 2):
        monkeypatch.setattr(convolution, "_REAL_COLUMNS_AT_ONCE", most)
        (parts,) = run_graph(graph, [x])
        np.testing.assert_allclose(parts, whole, rtol=1e-5, atol=1e-5)
