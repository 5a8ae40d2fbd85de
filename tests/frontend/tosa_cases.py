"""Graphs of one quantized operator each, by a name that says what is special."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.frontend.graph_builder import GraphBuilder
from glowmcu.frontend.tosa.records import TosaFunction
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.operation import Array, Operation, Rounding
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.activation import Clip, HardSwish, LeakyRelu, Relu
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.copy import Copy
from glowmcu.ops.elementwise import Add, Maximum, Minimum, Mul, SquaredDifference, Sub
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.padding import MirrorPad, Pad
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.quantization import Requantize
from glowmcu.ops.reduction import Mean, ReduceMax, ReduceMin, Sum
from glowmcu.ops.resize import ResizeNearestNeighbor
from glowmcu.ops.scan import ArgMax
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.space import DepthToSpace, SpaceToDepth
from glowmcu.ops.tiling import Tile
from glowmcu.ops.transcendental import Logistic, Tanh
from glowmcu.ops.transpose import Reverse, Transpose

Given = TensorType | tuple[TensorType, Array]
_RANDOM = np.random.default_rng(7)


def q8(*shape: int, scale: float = 0.05, point: int = 3) -> TensorType:
    """int8 with a scale, exact in float32, and a zero point."""
    return TensorType(shape, ElementType.I8, Quantization((float(np.float32(scale)),), (point,)))


def _u8(scale: float, point: int) -> TensorType:
    quantization = Quantization((float(np.float32(scale)),), (point,))
    return TensorType((256,), ElementType.UI8, quantization)


def weights(*shape: int, axis: int | None = None, point: int = 0) -> tuple[TensorType, Array]:
    """Random int8 constants; with `axis` of several scales."""
    count = 1 if axis is None else shape[axis]
    scales = tuple(
        float(np.float32(scale)) for scale in _RANDOM.uniform(0.0005, 0.01, count).tolist()
    )
    type_ = TensorType(shape, ElementType.I8, Quantization(scales, (point,) * count, axis))
    return type_, _RANDOM.integers(-127, 128, shape, dtype=np.int8)


def bias(count: int) -> tuple[TensorType, Array]:
    data = _RANDOM.integers(-3000, 3000, count, dtype=np.int32)
    return TensorType((count,), ElementType.I32), data


def one(op: Operation, given: Sequence[Given], *outs: TensorType) -> Graph:
    """The operator alone; what has no data is an input."""
    builder, inputs, operands = GraphBuilder(), [], []
    for number, item in enumerate(given):
        if isinstance(item, TensorType):
            inputs.append(Value(item, f"in{number}"))
            operands.append(inputs[-1])
        else:
            operands.append(builder.add_constant(item[1], f"w{number}", item[0].quantization))
    names = [f"out{number}" for number in range(len(outs))]
    values = builder.add_node(op, operands, outs, names, "")
    graph = builder.graph(inputs, values)
    graph.verify()
    return graph


def bare(function: TosaFunction) -> TosaFunction:
    """As another compiler would have written it: without notes."""
    operations = tuple(replace(op, origin=None) for op in function.operations)
    return replace(function, note=None, operations=operations)


_I16 = TensorType((2, 3), ElementType.I16, Quantization((1 / 65536,), (-32768,)))
_PROBABILITY = {"scale": 1 / 256, "point": -128}
#: Read again without notes, too.
LAYERS = {
    "conv with padding and stride": lambda: one(
        Conv2D((2, 2), (1, 1), (1, 1, 1, 1), (-100, 90)),
        [q8(1, 9, 8, 3), weights(5, 3, 3, 3, axis=0), bias(5)], q8(1, scale=0.09, point=-7)),
    "conv whose windows end before the image": lambda: one(
        Conv2D((2, 3)), [q8(1, 8, 9, 2), weights(4, 3, 2, 2, axis=0), bias(4)], q8(1, scale=0.1)),
    "conv with one scale and dilation": lambda: one(
        Conv2D((1, 1), (2, 1)), [q8(2, 7, 5, 4), weights(3, 3, 2, 4), bias(3)], q8(1, scale=0.2)),
    "depthwise with multiplier": lambda: one(
        DepthwiseConv2D((1, 2), padding=(1, 0, 1, 1)),
        [q8(1, 5, 6, 3, point=-128), weights(1, 3, 3, 6, axis=3), bias(6)], q8(1, scale=0.07)),
    "fully connected": lambda: one(
        FullyConnected(), [q8(3, 17), weights(6, 17), bias(6)], q8(1, scale=0.11, point=20)),
    "fully connected, channels and rank 3": lambda: one(
        FullyConnected((-128, 40)), [q8(2, 3, 8), weights(4, 8, axis=0), bias(4)], q8(1)),
    "max pool": lambda: one(
        MaxPool2D((3, 2), (2, 2), (1, 0, 1, 1), (-60, 100)), [q8(1, 7, 6, 2)], q8(1)),
    "average pool of stored values": lambda: one(
        AveragePool2D((2, 2), (2, 2), (0, 0, 1, 1)), [q8(1, 5, 5, 3)], q8(1)),
    "batch matmul": lambda: one(
        BatchMatMul(), [q8(2, 3, 5), q8(2, 5, 4, scale=0.02, point=-9)], q8(1, scale=0.3)),
    "batch matmul, swapped": lambda: one(
        BatchMatMul(adj_x=True, adj_y=True), [q8(1, 2, 5, 3), q8(1, 2, 4, 5)], q8(1, scale=0.3)),
}  # fmt: skip
ELEMENTS = {
    "add": lambda: one(
        Add(), [q8(2, 5, scale=0.031), q8(2, 5, scale=0.077, point=-4)], q8(1, scale=0.12)),
    "add of very different scales, clamped": lambda: one(
        Add((0, 99)), [q8(3, 4, scale=0.0007), q8(1, 4, scale=0.5)], q8(1, scale=0.4)),
    "sub": lambda: one(Sub(), [q8(2, 5), q8(5, scale=0.03)], q8(1, scale=0.09, point=-20)),
    "mul": lambda: one(Mul(), [q8(2, 5), q8(2, 1, scale=0.02, point=-128)], q8(1, scale=0.01)),
    "maximum": lambda: one(Maximum(), [q8(2, 5), q8(5)], q8(1)),
    "minimum": lambda: one(Minimum(), [q8(2, 5), (q8(1, 5), np.arange(5, dtype=np.int8)[None])],
                           q8(1)),
    "squared difference": lambda: one(
        SquaredDifference(), [q8(2, 5), q8(2, 5, scale=0.03)], q8(1, scale=0.9, point=-128)),
    "sum": lambda: one(Sum((1,), keep_dims=True), [q8(2, 5, 3)], q8(1, scale=0.2)),
    "mean of two axes": lambda: one(Mean((1, 2)), [q8(1, 4, 5, 3)], q8(1, scale=0.02)),
    "reduce max": lambda: one(ReduceMax((0, 2)), [q8(2, 5, 3)], q8(1)),
    "reduce min": lambda: one(ReduceMin((1,), keep_dims=True), [q8(2, 5)], q8(1)),
    "relu": lambda: one(Relu((3, 127)), [q8(40)], q8(1, scale=0.03)),
    "leaky relu": lambda: one(LeakyRelu(0.2), [q8(256)], q8(1, scale=0.06)),
    "hard swish": lambda: one(HardSwish(), [q8(256)], q8(1)),
    "logistic": lambda: one(Logistic(), [q8(256)], q8(1, **_PROBABILITY)),
    "tanh": lambda: one(Tanh(), [q8(256)], q8(1, scale=1 / 128, point=0)),
    "clip": lambda: one(Clip((-5, 60)), [q8(30)], q8(1)),
    "requantize": lambda: one(Requantize(), [q8(256)], q8(1, scale=0.13, point=-100)),
    "requantize to finer steps": lambda: one(Requantize(), [q8(256)], q8(1, scale=0.011)),
    "requantize from bytes without sign": lambda: one(
        Requantize(), [_u8(0.05, 200)], q8(1, scale=0.06, point=-7)),
    "requantize to bytes without sign": lambda: one(Requantize(), [q8(256)], _u8(0.04, 130)),
    "requantize to 16 bits": lambda: one(
        Requantize(), [q8(30)], TensorType((30,), ElementType.I16, Quantization((0.25,), (0,)))),
}  # fmt: skip
SOFTMAX = {
    "requantize probabilities of 16 bits": lambda: one(
        Requantize(), [_I16.with_shape((3, 30))], q8(1, scale=1 / 255, point=-128)),
    "softmax": lambda: one(Softmax(), [q8(3, 10, scale=0.11)], q8(1, **_PROBABILITY)),
    "softmax of nearly the same": lambda: one(
        Softmax(), [q8(4, 200, scale=0.001)], q8(1, **_PROBABILITY)),
    "softmax of many classes": lambda: one(
        Softmax(), [q8(2, 2100, scale=0.004)], q8(1, **_PROBABILITY)),
    "softmax of one class": lambda: one(Softmax(), [q8(2, 1)], q8(1, **_PROBABILITY)),
    "softmax into 16 bits": lambda: one(Softmax(0.7), [q8(2, 3, scale=0.3)], _I16),
}  # fmt: skip
MOVEMENT = {
    "reshape": lambda: one(Reshape((6, 5)), [q8(2, 3, 5)], q8(1)),
    "reshape to what it is": lambda: one(Reshape((2, 3)), [q8(2, 3)], q8(1)),
    "copy": lambda: one(Copy(), [q8(2, 3)], q8(1)),
    "transpose": lambda: one(Transpose((2, 0, 1)), [q8(2, 3, 5)], q8(1)),
    "reverse": lambda: one(Reverse((0, 2)), [q8(2, 3, 5)], q8(1)),
    "concatenation": lambda: one(Concatenation(1), [q8(2, 3), q8(2, 1), q8(2, 4)], q8(1)),
    "slice": lambda: one(Slice((0, 1, 2), (2, 2, 3), (1, 1, 1)), [q8(2, 3, 5)], q8(1)),
    "slice in steps": lambda: one(Slice((0, 4, 1), (2, 3, 2), (1, -2, 3)), [q8(2, 5, 6)], q8(1)),
    "mirrored": lambda: one(MirrorPad(((1, 0), (2, 3))), [q8(2, 4)], q8(1)),
    "mirrored with edges": lambda: one(MirrorPad(((2, 1), (0, 4)), edge_twice=True), [q8(2, 4)],
                                       q8(1)),
    "each pixel several times": lambda: one(
        ResizeNearestNeighbor((6, 6)), [q8(1, 3, 2, 4)], q8(1)),
    "largest": lambda: one(ArgMax(1), [q8(3, 40)], TensorType((3,), ElementType.I32)),
    "split": lambda: one(Split(1, (2, 3)), [q8(2, 5)], q8(1), q8(1)),
    "unpack": lambda: one(Split(0, (1, 1), drop_axis=True), [q8(2, 5)], q8(1), q8(1)),
    "pad": lambda: one(Pad(((1, 0), (2, 3)), -77), [q8(2, 3)], q8(1)),
    "tile": lambda: one(Tile((2, 3)), [q8(2, 2)], q8(1)),
    "space to depth": lambda: one(SpaceToDepth(2), [q8(1, 4, 6, 3)], q8(1)),
    "depth to space": lambda: one(DepthToSpace(2), [q8(1, 2, 3, 8)], q8(1)),
}  # fmt: skip
CASES = {**LAYERS, **ELEMENTS, **SOFTMAX, **MOVEMENT}


def stateful() -> Graph:
    """The newest three rows are kept and pooled: a state goes in last and comes out last."""
    builder = GraphBuilder()
    row, rows = Value(q8(1, 1, 1, 4), "row"), q8(1, 3, 1, 4)
    initial = np.arange(12, dtype=np.int8).reshape(1, 3, 1, 4)
    old = builder.add_state("rows", rows, initial)
    (kept,) = builder.add_node(
        Slice((0, 1, 0, 0), (1, 2, 1, 4), (1, 1, 1, 1)), [old], [rows], ["kept"], ""
    )
    (new,) = builder.add_node(Concatenation(1), [kept, row], [rows], ["new"], "")
    (pooled,) = builder.add_node(MaxPool2D((3, 1)), [new], [rows], ["pooled"], "")
    builder.assign(old, new)
    return builder.graph([row], [pooled])


def case(name: str, rounding: Rounding = Rounding.DOUBLE) -> Graph:
    """A graph of the table, its random constants always the same."""
    global _RANDOM  # noqa: PLW0603 - reset, so that a case does not depend on those before it
    _RANDOM = np.random.default_rng(7)
    return CASES[name]().replace(rounding=rounding)
