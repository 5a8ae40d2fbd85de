"""Small vision transformers as exporters write them: patches, pre-normalized blocks, a head."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.onnx_models import finished

Array = npt.NDArray[Any]
SIDE, PATCH, WIDTH, HEADS, BLOCKS, CLASSES = 16, 4, 32, 4, 2, 10
TOKENS = (SIDE // PATCH) ** 2
OPSET = 17


class _Writer:
    """Nodes and constants in the making; every method returns the name of its result."""

    def __init__(self, onnx: Any, seed: int) -> None:
        self._helper, self._numpy = onnx.helper, onnx.numpy_helper
        self._random = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, data: Array) -> str:
        self.constants.append(self._numpy.from_array(data, f"c{len(self.constants)}"))
        return str(self.constants[-1].name)

    def weights(self, *shape: int, size: float = 1.0) -> str:
        deviation = size / np.sqrt(np.prod(shape[:-1]))
        return self.constant(self._random.normal(0, deviation, shape).astype(np.float32))

    def number(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def around(self, middle: float, deviation: float, count: int = WIDTH) -> str:
        return self.constant(self._random.normal(middle, deviation, count).astype(np.float32))

    def add(self, kind: str, *operands: str, **attributes: Any) -> str:
        made = f"t{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(kind, list(operands), [made], made, **attributes))
        return made

    def reshaped(self, x: str, *shape: int) -> str:
        return self.add("Reshape", x, self.constant(np.array(shape, np.int64)))

    def dense(self, x: str, inputs: int, outputs: int, size: float = 1.0) -> str:
        product = self.add("MatMul", x, self.weights(inputs, outputs, size=size))
        return self.add("Add", product, self.around(0, 0.1, outputs))


def _normalized(writer: _Writer, x: str) -> str:
    gain, bias = writer.around(1, 0.2), writer.around(0, 0.2)
    return writer.add("LayerNormalization", x, gain, bias, axis=-1, epsilon=1e-5)


def _normalized_in_steps(writer: _Writer, x: str) -> str:
    """As exporters wrote it before opset 17."""
    gain, bias = writer.around(1, 0.2), writer.around(0, 0.2)
    offsets = writer.add("Sub", x, writer.add("ReduceMean", x, axes=[-1]))
    squares = writer.add("Pow", offsets, writer.number(2))
    variance = writer.add("ReduceMean", squares, axes=[-1])
    deviation = writer.add("Sqrt", writer.add("Add", variance, writer.number(1e-5)))
    normal = writer.add("Div", offsets, deviation)
    return writer.add("Add", writer.add("Mul", normal, gain), bias)


def _gelu(writer: _Writer, x: str) -> str:
    error = writer.add("Erf", writer.add("Div", x, writer.number(2**0.5)))
    product = writer.add("Mul", x, writer.add("Add", error, writer.number(1)))
    return writer.add("Mul", product, writer.number(0.5))


def _attention(writer: _Writer, x: str) -> str:
    size = WIDTH // HEADS

    def heads(axes: list[int]) -> str:
        rows = writer.reshaped(writer.dense(x, WIDTH, WIDTH, 1.5), 1, TOKENS, HEADS, size)
        return writer.add("Transpose", rows, perm=axes)

    scores = writer.add("MatMul", heads([0, 2, 1, 3]), heads([0, 2, 3, 1]))
    scaled = writer.add("Div", scores, writer.number(size**0.5))
    shares = writer.add("Softmax", scaled, axis=-1)
    mixed = writer.add("MatMul", shares, heads([0, 2, 1, 3]))
    rows = writer.reshaped(writer.add("Transpose", mixed, perm=[0, 2, 1, 3]), 1, TOKENS, WIDTH)
    return writer.dense(rows, WIDTH, WIDTH)


def vision_transformer(in_steps: bool = False, seed: int = 1) -> bytes:
    """`x` float32 [1, 3, 16, 16] to `logits` [1, 10]: two blocks of four heads and a GELU."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    writer = _Writer(onnx, seed)
    normal: Callable[[_Writer, str], str] = _normalized_in_steps if in_steps else _normalized
    kernel = writer.constant(
        np.random.default_rng(seed).normal(0, 0.15, (WIDTH, 3, PATCH, PATCH)).astype(np.float32)
    )
    patches = writer.add("Conv", "x", kernel, writer.around(0, 0.1), strides=[PATCH, PATCH])
    tokens = writer.add("Transpose", writer.reshaped(patches, 1, WIDTH, TOKENS), perm=[0, 2, 1])
    x = writer.add("Add", tokens, writer.weights(1, TOKENS, WIDTH, size=2.0))
    for _ in range(BLOCKS):
        x = writer.add("Add", x, _attention(writer, normal(writer, x)))
        inner = _gelu(writer, writer.dense(normal(writer, x), WIDTH, 4 * WIDTH, 1.5))
        x = writer.add("Add", x, writer.dense(inner, 4 * WIDTH, WIDTH))
    pooled = writer.add("ReduceMean", normal(writer, x), axes=[1], keepdims=0)
    logits = writer.dense(pooled, WIDTH, CLASSES)
    writer.nodes[-1].output[0] = "logits"
    assert logits
    value = onnx.helper.make_tensor_value_info
    shape = [1, 3, SIDE, SIDE]
    return finished(
        onnx, writer.nodes, [value("x", onnx.TensorProto.FLOAT, shape)],
        [value("logits", onnx.TensorProto.FLOAT, [1, CLASSES])], writer.constants, OPSET,
    )  # fmt: skip


def images(count: int, seed: int) -> Array:
    """Random walks along both axes, so that neighbours are alike; float32 [count, 3, 16, 16]."""
    steps = np.random.default_rng(seed).normal(size=(count, 3, SIDE, SIDE))
    walks = steps.cumsum(2).cumsum(3)
    walks -= walks.mean((2, 3), keepdims=True)
    found: Array = (walks / walks.std((1, 2, 3), keepdims=True)).astype(np.float32)
    return found
