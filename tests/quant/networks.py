"""Small float graphs with weights drawn from a seed, and how int8 ones are run on real numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.quant.samples import Samples, samples_of
from glowmcu.quant.schemas import quantize_array
from tests.ir.graphs import GraphBuilder

Floats = npt.NDArray[np.float32]
RELU = (0.0, FLOAT_MAX)
RELU6 = (0.0, 6.0)


def real(*shape: int) -> TensorType:
    return TensorType(shape, ElementType.F32)


def draw(seed: int, *shape: int, scale: float = 1.0) -> Floats:
    return np.random.default_rng(seed).normal(0, scale, shape).astype(np.float32)


def convolutions() -> Graph:
    """3x3 with ReLU, depthwise of stride 2 with ReLU6, 1x1; channels of very different ranges."""
    graph = GraphBuilder()
    x = graph.input(real(1, 9, 7, 3), "image")
    spread = np.array([0.01, 0.1, 1, 4, 0.5, 2, 0.3, 1], np.float32)
    w = graph.constant(draw(1, 8, 3, 3, 3, scale=0.3) * spread[:, None, None, None], name="w1")
    x = graph.add(
        Conv2D((1, 1), (1, 1), (1, 1, 1, 1), RELU),
        *(x, w, graph.constant(draw(2, 8), name="b1")),
        name="first",
    )
    w = graph.constant(draw(3, 1, 3, 3, 8, scale=0.4), name="w2")
    x = graph.add(
        DepthwiseConv2D((2, 2), (1, 1), (1, 1, 1, 1), RELU6),
        *(x, w, graph.constant(draw(4, 8), name="b2")),
        name="second",
    )
    w = graph.constant(draw(5, 5, 1, 1, 8, scale=0.5), name="w3")
    x = graph.add(Conv2D(), x, w, graph.constant(draw(6, 5), name="b3"), name="third")
    return graph.finish(x)


def perceptron(depths: Sequence[int] = (24, 16, 4)) -> Graph:
    """Fully connected layers with ReLU between them."""
    graph = GraphBuilder()
    x = graph.input(real(1, depths[0]), "features")
    for index, (inputs, outputs) in enumerate(pairwise(depths)):
        w = graph.constant(draw(index, outputs, inputs, scale=inputs**-0.5), name=f"w{index}")
        b = graph.constant(draw(index + 50, outputs, scale=0.2), name=f"b{index}")
        clamp = RELU if index + 2 < len(depths) else None
        x = graph.add(FullyConnected(clamp), x, w, b, name=f"dense{index}")
    return graph.finish(x)


def random_samples(graph: Graph, count: int, seed: int = 0, shift: float = 0.0) -> Samples:
    (x,) = graph.inputs
    return samples_of(graph, draw(seed, count, *x.type.shape[1:]) + np.float32(shift))


def run_real(graph: Graph, sample: Sequence[npt.NDArray[Any]]) -> list[Floats]:
    """Outputs as real numbers; int8 inputs and outputs are converted."""
    arrays = [
        array if value.type.quantization is None else quantize_array(array, value.type.quantization)
        for value, array in zip(graph.inputs, sample, strict=True)
    ]
    outputs = []
    for value, array in zip(graph.outputs, run_graph(graph, arrays), strict=True):
        if value.type.quantization is None:
            outputs.append(array)
        else:
            stored = array.astype(np.float32) - value.type.zero_point
            outputs.append(stored * np.float32(value.type.scale))
    return outputs


def sqnr_db(graph: Graph, other: Graph, samples: Samples) -> float:
    """Signal to quantization noise of all outputs of `other` against those of `graph`."""
    signal = noise = 0.0
    for sample in samples:
        for want, got in zip(run_real(graph, sample), run_real(other, sample), strict=True):
            signal += float(np.sum(want.astype(np.float64) ** 2))
            noise += float(np.sum((want.astype(np.float64) - got) ** 2))
    return float(10 * np.log10(signal / noise))
