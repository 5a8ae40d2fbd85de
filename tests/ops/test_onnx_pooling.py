"""Pooling of ONNX equals onnxruntime: one to three axes, every way to pad, indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.onnx_models import onnx_model, run_onnxruntime

Attributes = dict[str, Any]
CASES: dict[str, tuple[tuple[int, ...], Attributes]] = {
    "one axis": ((2, 3, 11), {"kernel_shape": [4], "strides": [3]}),
    "one axis, padded": ((1, 2, 7), {"kernel_shape": [3], "pads": [1, 2]}),
    "kernel 2, stride 2": ((1, 3, 6, 8), {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "uneven padding": ((1, 2, 5, 7), {"kernel_shape": [3, 2], "pads": [2, 0, 1, 1]}),
    "same, odd one after": (
        (1, 1, 5, 6),
        {"kernel_shape": [2, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
    ),
    "same, odd one before": (
        (1, 1, 5, 6),
        {"kernel_shape": [2, 3], "strides": [2, 2], "auto_pad": "SAME_LOWER"},
    ),
    "valid": ((1, 2, 5, 5), {"kernel_shape": [3, 3], "auto_pad": "VALID"}),
    "dilated": ((1, 2, 9, 8), {"kernel_shape": [3, 2], "dilations": [2, 3], "pads": [1, 1, 2, 1]}),
    "size rounded up": (
        (1, 2, 6, 7),
        {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1, "pads": [0, 1, 0, 1]},
    ),
    "rounding up would start in the padding": (
        (1, 1, 4, 4),
        {"kernel_shape": [1, 1], "strides": [2, 2], "ceil_mode": 1},
    ),
    "three axes": (
        (2, 2, 5, 6, 4),
        {"kernel_shape": [2, 3, 2], "strides": [2, 1, 2], "pads": [1, 1, 0, 0, 1, 1]},
    ),
}
ORDERS = (1, 2, 3, 5)


@pytest.mark.parametrize("kind", ["AveragePool", "MaxPool"])
@pytest.mark.parametrize(("shape", "attributes"), CASES.values(), ids=CASES)
def test_pools(kind: str, shape: tuple[int, ...], attributes: Attributes) -> None:
    opset = 19 if "dilations" in attributes else 18
    data = onnx_model(kind, [("x", "float32", shape)], attributes, opset=opset)
    check_model(data, oracle=run_onnxruntime, count=1)


@pytest.mark.parametrize("name", ["uneven padding", "one axis, padded", "three axes"])
def test_padding_counts_in_means_that_include_it(name: str) -> None:
    shape, attributes = CASES[name]
    data = onnx_model(
        "AveragePool", [("x", "float32", shape)], attributes | {"count_include_pad": 1}
    )
    check_model(data, oracle=run_onnxruntime, count=1)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["one axis", "uneven padding", "three axes"])
def test_norms(name: str, order: int) -> None:
    shape, attributes = CASES[name]
    data = onnx_model("LpPool", [("x", "float32", shape)], attributes | {"p": order})
    check_model(data, oracle=run_onnxruntime, count=1)


def test_norms_of_the_smallest_and_largest_numbers() -> None:
    data = onnx_model("LpPool", [("x", "float32", (1, 1, 6))], {"kernel_shape": [1], "p": 2})
    x = np.array([0, 1e-15, -3e-10, 5e8, 1e19, -0.0], np.float32).reshape(1, 1, 6)
    check_model(data, [[x]], run_onnxruntime)


@pytest.mark.parametrize("kind", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
@pytest.mark.parametrize("shape", [(2, 3, 7), (1, 5, 4, 6), (1, 2, 3, 4, 5)])
def test_global_pools(kind: str, shape: tuple[int, ...]) -> None:
    check_model(onnx_model(kind, [("x", "float32", shape)]), oracle=run_onnxruntime, count=1)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_maxima_of_bytes(dtype: str) -> None:
    shape, attributes = CASES["uneven padding"]
    data = onnx_model("MaxPool", [("x", dtype, shape)], attributes)
    check_model(data, oracle=run_onnxruntime)


@pytest.mark.parametrize("storage_order", [0, 1])
@pytest.mark.parametrize("name", ["one axis", "uneven padding", "dilated"])
def test_indices_of_maxima(name: str, storage_order: int) -> None:
    shape, attributes = CASES[name]
    x = np.random.default_rng(1).integers(-4, 4, (2, *shape[1:])).astype(np.float32)
    data = onnx_model(
        "MaxPool", [("x", "float32", x.shape)], attributes | {"storage_order": storage_order}, 2
    )
    check_model(data, [[x]], run_onnxruntime)


REFUSED: dict[str, tuple[str, tuple[int, ...], Attributes, str]] = {
    "four axes": ("MaxPool", (1, 1, 2, 2, 2, 2), {"kernel_shape": [2] * 4}, "a kernel of"),
    "kernel of another rank": ("MaxPool", (1, 1, 4, 4), {"kernel_shape": [2]}, "a kernel of"),
    "strides of another rank": (
        "AveragePool", (1, 1, 4, 4), {"kernel_shape": [2, 2], "strides": [1]}, "do not fit 2",
    ),
    "padding wider than the window": (
        "AveragePool", (1, 1, 4, 4), {"kernel_shape": [2, 2], "pads": [2, 0, 0, 0]},
        "hides a whole window",
    ),
    "negative padding": (
        "MaxPool", (1, 1, 4, 4), {"kernel_shape": [2, 2], "pads": [-1, 0, 0, 0]}, "do not fit 2",
    ),
    "window larger than the image": (
        "MaxPool", (1, 1, 4, 4), {"kernel_shape": [5, 2]}, "exceeds 4",
    ),
    "order 40": ("LpPool", (1, 1, 4), {"kernel_shape": [2], "p": 40}, "order must be 1 to 16"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "shape", "attributes", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_computed_is_refused(
    kind: str, shape: tuple[int, ...], attributes: Attributes, text: str
) -> None:
    pytest.importorskip("onnx", reason="pip install onnx")
    import onnx

    node = onnx.helper.make_node(kind, ["x"], ["y"], **attributes)
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)
    graph = onnx.helper.make_graph([node], "main", [x], [onnx.ValueInfoProto(name="y")])
    opsets = [onnx.helper.make_opsetid("", 18)]
    data = onnx.helper.make_model(graph, opset_imports=opsets).SerializeToString()
    with pytest.raises(GlowmcuError, match=text) as caught:
        compile_model(data, "m.onnx", Options("m"))
    assert caught.value.problems[0].code in ("GM105", "GM106")
