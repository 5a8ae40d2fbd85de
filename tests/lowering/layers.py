"""Layers of weights that can be read in a test: scale 1 and zero point 0 throughout."""

from __future__ import annotations

from typing import Any

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Constant
from glowmcu.ir.types import Quantization
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected
from tests.ir.graphs import GraphBuilder, int8

UNIT = Quantization((1.0,), (0,))
#: A bias that takes any sum of a test's weights out of int8's range.
FAR = 10**6


def unit(*shape: int, zero_point: int = 0) -> Any:
    return int8(*shape, scale=1, zero_point=zero_point)


def conv(
    b: GraphBuilder,
    x: Value,
    weights: Any,
    bias: Any,
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    clamp: tuple[int, int] | None = None,
    zero_point: int = 0,
) -> Value:
    """`weights` is (O, I) for a pixel, or (O, height, width, I)."""
    data = np.array(weights, np.int8)
    data = data if data.ndim == 4 else data[:, np.newaxis, np.newaxis, :]
    constants = b.constant(data, UNIT, "w"), b.constant(np.array(bias, np.int32), name="bias")
    op = Conv2D(padding=padding, clamp=clamp)
    return b.add(op, x, *constants, like=unit(zero_point=zero_point))


def depthwise(b: GraphBuilder, x: Value, weights: Any, bias: Any, pad: int = 0) -> Value:
    """`weights` is (height, width, C * multiplier)."""
    data = np.array(weights, np.int8)[np.newaxis]
    constants = b.constant(data, UNIT, "w"), b.constant(np.array(bias, np.int32), name="bias")
    return b.add(DepthwiseConv2D(padding=(pad,) * 4), x, *constants, like=unit())


def dense(b: GraphBuilder, x: Value, weights: Any, bias: Any, weights_zero_point: int = 0) -> Value:
    """`weights` is (O, I), as stored."""
    quantization = Quantization((1.0,), (weights_zero_point,))
    w = b.constant(np.array(weights, np.int8), quantization, "w")
    return b.add(FullyConnected(), x, w, b.constant(np.array(bias, np.int32)), like=unit())


def computing(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if not isinstance(node.op, Constant)]


def shapes(graph: Graph) -> list[tuple[int, ...]]:
    """Of what each node computes."""
    return [node.output.type.shape for node in computing(graph)]


def data(graph: Graph, node: Node, operand: int) -> Any:
    found = graph.constant_data(node.inputs[operand])
    assert found is not None
    return found
