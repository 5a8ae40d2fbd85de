"""ONNX puts channels first: of the transposes around every layer none is left inside a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from glowmcu.ir.graph import Graph
from tests.support.check_model import check_model
from tests.support.onnx_models import finished, run_onnxruntime


class Network:
    """An ONNX graph of convolutions and whatever stands between them."""

    def __init__(self, *shape: int) -> None:
        self.onnx = pytest.importorskip("onnx")
        self.inputs = [self.onnx.helper.make_tensor_value_info("x", 1, shape)]
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.generator = np.random.default_rng(0)

    def add(self, kind: str, *inputs: str, outputs: Sequence[str] = (), **attributes: Any) -> str:
        names = list(outputs) or [f"v{len(self.nodes)}"]
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, names, **attributes))
        return names[0]

    def constant(self, *shape: int) -> str:
        data = self.generator.normal(size=shape).astype(np.float32) / np.sqrt(np.prod(shape[1:]))
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(data.astype(np.float32), name))
        return name

    def conv(self, x: str, depth_in: int, depth_out: int, *kernel: int, group: int = 1) -> str:
        weights = self.constant(depth_out, depth_in // group, *kernel)
        pads = [size // 2 for size in kernel] * 2
        return self.add("Conv", x, weights, self.constant(depth_out), pads=pads, group=group)

    def finish(self, *outputs: str) -> bytes:
        values = [self.onnx.ValueInfoProto(name=name) for name in outputs]
        return finished(self.onnx, self.nodes, self.inputs, values, self.constants, 13)


def transposes(graph: Graph) -> list[tuple[int, ...]]:
    return [node.output.type.shape for node in graph.nodes if node.op.name == "transpose"]


def backbone(b: Network, channels: int) -> str:
    """A residual block, parallel branches, normalization, squeeze and excitation, a split."""
    first = b.add("Relu", b.conv("x", channels, 8, 3, 3))
    second = b.conv(b.add("Relu", b.conv(first, 8, 8, 3, 3)), 8, 8, 3, 3)
    block = b.add("Relu", b.add("Add", first, second))
    joined = b.add("Concat", b.conv(block, 8, 4, 1, 1), b.conv(block, 8, 4, 3, 3), block, axis=1)
    scaled = b.add("Add", b.add("Mul", joined, b.constant(1, 16, 1, 1)), b.constant(16, 1, 1))
    swish = b.add("Mul", scaled, b.add("Sigmoid", scaled))
    deep = b.conv(swish, 16, 16, 3, 3, group=16)
    squeezed = b.add("Relu", b.conv(b.add("GlobalAveragePool", deep), 16, 4, 1, 1))
    excited = b.add("Mul", deep, b.add("Sigmoid", b.conv(squeezed, 4, 16, 1, 1)))
    pooled = b.add("MaxPool", excited, kernel_shape=[2, 2], strides=[2, 2])
    left = b.add("Split", pooled, outputs=["left", "right"], axis=1)
    return b.add("Concat", b.conv(left, 8, 8, 3, 3), "right", axis=1)


@pytest.mark.parametrize("head", ["GlobalAveragePool", "ReduceMean", "Flatten"])
def test_a_classifier_has_no_transposes_inside(head: str) -> None:
    b = Network(1, 3, 8, 8)
    x = backbone(b, 3)
    if head == "ReduceMean":
        x = b.add("ReduceMean", x, axes=[2, 3], keepdims=0)
    elif head == "GlobalAveragePool":
        x = b.add("Flatten", b.add("GlobalAveragePool", x))
    else:
        x = b.add("Flatten", x)
    depth = 256 if head == "Flatten" else 16
    y = b.add("Gemm", x, b.constant(10, depth), b.constant(10), transB=1)
    compilation = check_model(b.finish(y), oracle=run_onnxruntime, count=2)
    assert transposes(compilation.graph) == [(1, 8, 8, 3)]


def test_an_image_of_one_channel_needs_no_transpose_at_all() -> None:
    b = Network(1, 1, 8, 8)
    y = b.conv(backbone(b, 1), 16, 1, 1, 1)
    compilation = check_model(b.finish(y), oracle=run_onnxruntime, count=2)
    assert transposes(compilation.graph) == []


def test_a_series_has_transposes_at_its_borders_only() -> None:
    b = Network(1, 3, 20)
    first = b.add("Relu", b.conv("x", 3, 8, 5))
    second = b.add("Add", first, b.conv(first, 8, 8, 3))
    y = b.conv(b.add("MaxPool", second, kernel_shape=[2], strides=[2]), 8, 4, 3)
    compilation = check_model(b.finish(y), oracle=run_onnxruntime, count=2)
    assert len(transposes(compilation.graph)) == 2


def test_readers_of_a_dense_block_move_together() -> None:
    b = Network(1, 4, 6, 6)
    x = b.conv("x", 4, 4, 3, 3)
    parts = [x]
    for number in range(3):
        joined = b.add("Concat", *parts, axis=1) if number else x
        parts.append(b.add("Relu", b.conv(joined, 4 * (number + 1), 4, 3, 3)))
    compilation = check_model(
        b.finish(b.conv(b.add("Concat", *parts, axis=1), 16, 2, 1, 1)),
        oracle=run_onnxruntime,
        count=2,
    )
    assert len(transposes(compilation.graph)) == 2
