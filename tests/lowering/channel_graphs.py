"""Random int8 networks with saturated channels, zero weights, several readers and residuals."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import Quantization, TensorType
from glowmcu.lowering import simplify
from glowmcu.ops.activation import Clip
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.elementwise import Add, Maximum, Mul, Prelu
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.lookup import Lookup
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.padding import Pad
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.reduction import Mean
from glowmcu.ops.resize import ResizeNearestNeighbor
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.transpose import Transpose
from glowmcu.ops.transpose_conv import TransposeConv2D
from tests.ir.graphs import GraphBuilder, int8, random_arrays
from tests.lowering.layers import unit

Generator = np.random.Generator
LIKE = int8(scale=0.5, zero_point=-3)
_MOST_CHANNELS = 8


def layer(
    b: GraphBuilder, op: Operation, x: Value, shape: tuple[int, ...], axis: int, g: Generator
) -> Value:
    """A layer; each channel is lively, saturated, or has no weights at all."""
    outputs = shape[axis]
    scales = tuple(float(np.float32(s)) for s in g.uniform(0.002, 0.02, outputs))
    weights = g.integers(-128, 128, shape).astype(np.int8)
    weights[g.random(shape) < 0.2] = 0
    rows = np.moveaxis(weights, axis, 0)
    kinds = g.choice(["lively", "saturated", "no weights"], outputs, p=[0.5, 0.35, 0.15])
    rows[kinds == "no weights"] = 0
    unread = g.random(shape[-1]) < 0.2
    if axis == 0:
        weights[..., unread] = 0
    bias = g.integers(-3000, 3000, outputs)
    bias[kinds == "saturated"] = g.choice([-1, 1]) * 10**8
    w = b.constant(weights, Quantization(scales, (0,) * outputs, axis), "w")
    return b.add(op, x, w, b.constant(bias.astype(np.int32), name="bias"), like=LIKE)


def _clamp(g: Generator) -> tuple[int, int] | None:
    return None if g.random() < 0.5 else (int(g.integers(-128, 0)), int(g.integers(0, 128)))


def _conv(b: GraphBuilder, x: Value, g: Generator) -> Value:
    kernel = int(g.integers(1, 3))
    padding = (0, 0, kernel - 1, kernel - 1) if g.random() < 0.7 else (1, 1, kernel, kernel)
    depth = x.type.shape[3]
    groups = depth if g.random() < 0.1 else 1
    shape = (groups * int(g.integers(1, 6)), kernel, kernel, depth // groups)
    if shape[0] > _MOST_CHANNELS:
        shape = (groups, *shape[1:])
    return layer(b, Conv2D(padding=padding, clamp=_clamp(g)), x, shape, 0, g)


def _depthwise(b: GraphBuilder, x: Value, g: Generator) -> Value:
    multiplier = 2 if x.type.shape[3] * 2 <= _MOST_CHANNELS and g.random() < 0.3 else 1
    shape = (1, 2, 2, x.type.shape[3] * multiplier)
    padding = (0, 0, 1, 1) if g.random() < 0.7 else (1, 1, 1, 1)
    return layer(b, DepthwiseConv2D(padding=padding, clamp=_clamp(g)), x, shape, 3, g)


def _transposed_conv(b: GraphBuilder, x: Value, g: Generator) -> Value:
    shape = (int(g.integers(1, 5)), 2, 2, x.type.shape[3])
    return layer(b, TransposeConv2D(x.type.shape[1:3], (1, 1)), x, shape, 0, g)


def _dense(b: GraphBuilder, x: Value, g: Generator) -> Value:
    flat = b.add(Reshape((x.type.shape[0], x.type.element_count // x.type.shape[0])), x)
    depth = flat.type.shape[1]
    dense = layer(b, FullyConnected(_clamp(g)), flat, (int(g.integers(2, 7)), depth), 0, g)
    return b.add(Reshape((1, 1, 1, dense.type.element_count)), dense)


def _binary(b: GraphBuilder, x: Value, g: Generator) -> Value:
    op = [Add(_clamp(g)), Mul(), Maximum(), Prelu()][g.integers(0, 4)]
    shape = x.type.shape if g.random() < 0.3 else (1, 1, 1, x.type.shape[3])
    data = g.choice([-128, -3, 0, 127], shape).astype(np.int8)
    operands = [x, b.constant(data, LIKE.quantization)]
    if g.random() < 0.3 and not isinstance(op, Prelu):
        operands.reverse()
    return b.add(op, *operands, like=LIKE)


def _gate(b: GraphBuilder, x: Value, g: Generator) -> Value:
    return b.add(Mul(), x, b.add(Mean((1, 2), True), x), like=LIKE)


def _residual(b: GraphBuilder, x: Value, g: Generator) -> Value:
    shape = (x.type.shape[3], 1, 1, x.type.shape[3])
    return b.add(Add(_clamp(g)), layer(b, Conv2D(), x, shape, 0, g), x, like=LIKE)


def _table(b: GraphBuilder, x: Value, g: Generator) -> Value:
    limit = int(g.integers(-128, 128))
    values = np.arange(256, dtype=np.uint8).view(np.int8)
    return b.add(Lookup(np.maximum(values, np.int8(limit))), x)


def _moved(b: GraphBuilder, x: Value, g: Generator) -> Value:
    n, height, width, depth = x.type.shape
    begin, left = int(g.integers(0, depth)), max(depth - 1, 1)
    choices = [
        lambda: b.add(Concatenation(3), x, x),
        lambda: b.add(Concatenation(1), x, x),
        lambda: b.add_many(Split(3, (left, depth - left)), x)[0] if depth > 1 else x,
        lambda: b.add(Slice((0, 0, 0, begin), (n, height, width, 1), (1, 1, 1, 1)), x),
        lambda: b.add(Slice((0, 0, 0, 0), (n, 1, width, depth), (1, 1, 1, 1)), x),
        lambda: b.add(Pad(((0, 0), (1, 0), (0, 0), (0, int(g.integers(0, 2)))), 5), x),
        lambda: b.add(Transpose((0, 2, 1, 3)), x),
        lambda: b.add(Reshape((n, 1, height * width, depth)), x),
        lambda: b.add(ResizeNearestNeighbor((height, width + 1)), x),
        lambda: b.add(Clip((-128, int(g.integers(-128, 128)))), x),
        lambda: b.add(AveragePool2D((1, width), clamp=_clamp(g)), x),
        lambda: b.add(MaxPool2D((height, 1)), x),
        lambda: b.add(Softmax(), x, like=int8(scale=1 / 256, zero_point=-128)),
    ]
    moved: Value = choices[g.integers(0, len(choices))]()
    return moved


STEPS = [_conv, _conv, _conv, _depthwise, _transposed_conv, _dense, _binary, _gate, _residual,
         _table, _moved, _moved]  # fmt: skip


def random_network(seed: int, most_steps: int = 9) -> Graph:
    """Up to `most_steps` operators, each on any value before it; one to three outputs."""
    g = np.random.default_rng(seed)
    b = GraphBuilder()
    values = [b.input(like_x((1, 3, 4, int(g.integers(1, 5)))))]
    for _ in range(int(g.integers(1, most_steps + 1))):
        places = [len(values) - 1, int(g.integers(0, len(values)))]
        x = values[places[0] if g.random() < 0.7 else places[1]]
        y = STEPS[g.integers(0, len(STEPS))](b, x, g)
        if y.type.shape[3] <= 2 * _MOST_CHANNELS and y.type.element_count <= 600:
            values.append(y)
    outputs = dict.fromkeys([values[-1], values[int(g.integers(0, len(values)))]])
    return b.finish(*[value for value in outputs if value not in b.inputs] or values[-1:])


def like_x(shape: tuple[int, ...]) -> TensorType:
    return LIKE.with_shape(shape)


def expect_same_bytes(before: Graph, after: Graph) -> None:
    """Equal outputs on random inputs and on extreme ones."""
    after.verify()
    sets: list[list[Any]] = [random_arrays(before.inputs, seed) for seed in range(4)]
    for end in (-128, -3, 127):
        sets.append([np.full(v.type.shape, end, np.int8) for v in before.inputs])
    chess = [np.where(np.indices(v.type.shape).sum(0) % 2, 127, -128) for v in before.inputs]
    sets.append([array.astype(np.int8) for array in chess])
    for inputs in sets:
        for want, got in zip(run_graph(before, inputs), run_graph(after, inputs), strict=True):
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            assert got.tobytes() == want.tobytes()


NETWORKS = st.integers(0, 2**32 - 1).map(random_network)


def simplified(b: GraphBuilder, *outputs: Value) -> Graph:
    graph = b.finish(*outputs)
    after = simplify.run(graph)
    expect_same_bytes(graph, after)
    assert simplify.run(after) is after
    return after


def started(channels: int = 2) -> tuple[GraphBuilder, Value]:
    b = GraphBuilder()
    return b, b.input(unit(1, 3, 3, channels))
