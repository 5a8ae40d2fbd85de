"""Layers to try `output_ranges` on: an operator, its operands' types, and what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.ops.activation import Abs, Clip, LeakyRelu, Relu
from glowmcu.ops.add_n import AddN
from glowmcu.ops.cast import Cast
from glowmcu.ops.comparison import Select
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.copy import Copy
from glowmcu.ops.elementwise import Add, Maximum, Minimum, Mul, Prelu, SquaredDifference, Sub
from glowmcu.ops.gather import Gather, GatherNd
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.lookup import Lookup
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.padding import MirrorPad, Pad
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.quantization import Dequantize, Quantize, Requantize
from glowmcu.ops.reduction import Mean, ReduceMax, ReduceMin, Sum
from glowmcu.ops.resize import ResizeBilinear, ResizeNearestNeighbor
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice
from glowmcu.ops.space import SpaceToDepth
from glowmcu.ops.stack import Member, Stack
from glowmcu.ops.tiling import Tile
from glowmcu.ops.transpose import Transpose
from glowmcu.ops.transpose_conv import TransposeConv2D
from glowmcu.ops.update_slice import DynamicUpdateSlice
from tests.ir.graphs import int8

X = (1, 3, 4, 6)
PROBABILITIES = int8(*X, scale=1 / 256, zero_point=-128)


def int16(*shape: int, scale: float = 0.5) -> TensorType:
    return TensorType(shape, ElementType.I16, Quantization((float(np.float32(scale)),), (0,)))


def random_range(generator: np.random.Generator, type_: TensorType) -> ValueRange:
    """Each channel between two values; some are constant, some everything."""
    lowest, highest = type_.element.limits
    ends = generator.integers(lowest, highest, (2, type_.shape[-1]), endpoint=True)
    ends[1] = np.where(generator.random(ends.shape[1]) < 0.3, ends[0], ends[1])
    wide = generator.random(ends.shape[1]) < 0.2
    ends[:, wide] = [[lowest], [highest]]
    return ValueRange(ends.min(axis=0), ends.max(axis=0))


def inputs_within(
    generator: np.random.Generator, types: Sequence[TensorType], ranges: Sequence[ValueRange | None]
) -> list[Any]:
    """Tensors inside of the ranges, a third of the elements at an end."""
    arrays = []
    for type_, range_ in zip(types, ranges, strict=True):
        if range_ is None:
            arrays.append(generator.normal(0, 50, type_.shape).astype(type_.element.numpy))
            continue
        values = generator.integers(range_.low, range_.high, type_.shape, endpoint=True)
        place = generator.random(type_.shape)
        values = np.where(place < 0.17, range_.low, values)
        values = np.where(place > 0.83, range_.high, values)
        arrays.append(values.astype(type_.element.numpy))
    return arrays


Case = tuple[Operation, list[TensorType], TensorType, dict[int, Any]]


def weighted(
    generator: np.random.Generator, op: Operation, x: TensorType, shape: tuple[int, ...], axis: int
) -> Case:
    """A layer of random weights that now and then saturates; `shape` is the weights'."""
    outputs = shape[axis]
    scales = tuple(float(np.float32(s)) for s in generator.uniform(0.0005, 0.02, outputs))
    w = TensorType(shape, ElementType.I8, Quantization(scales, (0,) * outputs, axis))
    wide = x.element is ElementType.I16
    b = TensorType((outputs,), ElementType.I64 if wide else ElementType.I32, None)
    weights = generator.integers(-128, 127, shape, endpoint=True).astype(np.int8)
    weights[generator.random(shape) < 0.3] = 0
    bias = generator.integers(-20000, 20000, outputs).astype(b.element.numpy)
    (result,) = op.infer([x, w, b])
    out = int16(*result) if wide else int8(*result, scale=0.4, zero_point=7)
    return op, [x, w, b], out, {1: weights, 2: bias}


def plain(op: Operation, *types: TensorType, out: TensorType | None = None) -> Case:
    result = (out or types[0]).with_shape(op.infer(types)[0])
    return op, list(types), result, {}


def conv(generator: np.random.Generator) -> Case:
    padding = tuple(int(n) for n in generator.integers(0, 2, 4))
    strides = (int(generator.integers(1, 3)), 1)
    op = Conv2D(strides, (1, 1), padding, None if generator.random() < 0.5 else (-20, 90))
    return weighted(generator, op, int8(*X), (5, 2, 3, 6), 0)


CASES: dict[str, Any] = {
    "conv_2d": conv,
    "conv_2d of groups": lambda g: weighted(g, Conv2D(), int8(*X), (4, 2, 2, 3), 0),
    "conv_2d of 16 bits": lambda g: weighted(g, Conv2D(), int16(*X), (4, 2, 2, 6), 0),
    "depthwise, multiplier 2": lambda g: weighted(
        g, DepthwiseConv2D(padding=(1, 1, 1, 1)), int8(*X), (1, 3, 3, 12), 3
    ),
    "transpose_conv_2d": lambda g: weighted(
        g, TransposeConv2D((6, 8), (2, 2)), int8(*X), (3, 2, 2, 6), 0
    ),
    "fully_connected": lambda g: weighted(
        g, FullyConnected((-50, 60)), int8(3, 8), (5, 8), 0
    ),
    "batch_matmul": lambda g: plain(BatchMatMul(), int8(2, 3), int8(3, 4)),
    "add": lambda g: plain(Add(), int8(*X, scale=0.3), int8(6), out=int8(scale=0.4)),
    "add of 16 bits": lambda g: plain(Add(), int16(*X, scale=0.3), int16(*X)),
    "add_n": lambda g: plain(AddN(), *[int8(*X, zero_point=9)] * 3, out=int8(scale=1.2)),
    "add_n that may wrap": lambda g: plain(AddN(), *[int8(*X, zero_point=-128)] * 17),
    "sub of one value": lambda g: plain(Sub((-7, 90)), int8(*X), int8(1, scale=0.7)),
    "mul": lambda g: plain(Mul(), int8(*X, zero_point=-20), int8(*X), out=int8(scale=3)),
    "squared_difference": lambda g: plain(SquaredDifference(), int8(*X), int8(*X)),
    "maximum": lambda g: plain(Maximum(), int8(*X), int8(1)),
    "minimum": lambda g: plain(Minimum(), int8(*X), int8(6)),
    "select": lambda g: plain(
        Select(), TensorType((6,), ElementType.BOOL), int8(*X), int8(1), out=int8()
    ),
    "relu": lambda g: plain(Relu((-3, 80)), int8(*X), out=int8(scale=0.2)),
    "relu of 16 bits": lambda g: plain(Relu((0, 3000)), int16(*X), out=int16(scale=0.2)),
    "leaky_relu": lambda g: plain(LeakyRelu(alpha=-0.3), int8(*X)),
    "abs": lambda g: plain(Abs(), int8(*X)),
    "clip": lambda g: plain(Clip((-20, 20)), int8(*X)),
    "lookup": lambda g: plain(Lookup(g.integers(-128, 128, 256).astype(np.int8)), int8(*X)),
    "requantize": lambda g: plain(Requantize(), int8(*X), out=int8(scale=0.3, zero_point=70)),
    "requantize of 16 bits": lambda g: plain(Requantize(), int16(*X), out=int8(scale=0.3)),
    "prelu": lambda g: (
        *plain(Prelu(), int8(*X), int8(1, 1, 6, scale=0.02), out=int8(scale=0.2))[:3],
        {1: g.integers(-128, 128, (1, 1, 6)).astype(np.int8)},
    ),
    "cast": lambda g: plain(Cast(), int8(*X), out=TensorType((), ElementType.I32)),
    "quantize": lambda g: plain(
        Quantize(), TensorType(X, ElementType.F32), out=int8(scale=0.3)
    ),
    "dequantize": lambda g: plain(
        Dequantize(), int8(*X), out=TensorType((), ElementType.F32)
    ),
    "average_pool_2d": lambda g: plain(AveragePool2D((2, 2), padding=(1, 0, 0, 1)), int8(*X)),
    "max_pool_2d": lambda g: plain(MaxPool2D((2, 3), clamp=(-9, 100)), int8(*X)),
    "mean": lambda g: plain(Mean((1, 2)), int8(*X), out=int8(scale=0.45)),
    "mean of channels": lambda g: plain(Mean((3,)), int8(*X), out=int8(scale=0.45)),
    "sum of 16 bits": lambda g: plain(Sum((1,), True), int16(*X), out=int16(scale=2)),
    "reduce_max": lambda g: plain(ReduceMax((0, 1, 2, 3)), int8(*X)),
    "reduce_min": lambda g: plain(ReduceMin((2,)), int8(*X)),
    "softmax": lambda g: plain(Softmax(), int8(*X), out=PROBABILITIES),
    "softmax of one": lambda g: plain(Softmax(), int8(1, 3, 4, 1), out=PROBABILITIES),
    "resize_bilinear": lambda g: plain(ResizeBilinear((5, 7)), int8(*X)),
    "resize_nearest": lambda g: plain(ResizeNearestNeighbor((5, 7)), int8(*X)),
    "reshape that keeps channels": lambda g: plain(Reshape((12, 6)), int8(*X)),
    "reshape that joins": lambda g: plain(Reshape((3, 24)), int8(*X)),
    "reshape that splits": lambda g: plain(Reshape((36, 2)), int8(*X)),
    "transpose": lambda g: plain(Transpose((0, 3, 1, 2)), int8(*X)),
    "slice": lambda g: plain(
        Slice((0, 1, 0, 5), (1, 2, 2, 3), (1, 1, 2, -2)), int8(*X)
    ),
    "pad": lambda g: plain(Pad(((0, 0), (1, 0), (0, 0), (2, 1)), 9), int8(*X)),
    "mirror_pad": lambda g: plain(MirrorPad(((0, 0), (1, 1), (0, 0), (2, 1))), int8(*X)),
    "concatenation": lambda g: plain(Concatenation(3), int8(*X), int8(1, 3, 4, 2)),
    "concatenation of rows": lambda g: plain(Concatenation(1), int8(*X), int8(1, 1, 4, 6)),
    "space_to_depth": lambda g: plain(SpaceToDepth(2), int8(1, 2, 4, 3)),
    "tile": lambda g: plain(Tile((1, 1, 2, 3)), int8(*X)),
    "copy": lambda g: plain(Copy(), int8(*X)),
    "gather": lambda g: plain(Gather(1), int8(*X), TensorType((2,), ElementType.I32)),
    "gather of channels": lambda g: plain(Gather(3), int8(*X), TensorType((2,), ElementType.I32)),
    "gather_nd": lambda g: plain(GatherNd(), int8(*X), TensorType((5, 2), ElementType.I32)),
    "dynamic_update_slice": lambda g: plain(
        DynamicUpdateSlice(), int8(*X), int8(1, 2, 1, 6), TensorType((4,), ElementType.I32)
    ),
    "dynamic_update_slice of channels": lambda g: plain(
        DynamicUpdateSlice(), int8(*X), int8(1, 2, 1, 3), TensorType((4,), ElementType.I64)
    ),
    "stack": lambda g: plain(
        Stack(
            (
                Member(Add(), (0, 1), int8(*X, scale=0.6)),
                Member(Mul((-5, 99)), (2, 0), int8(*X, scale=0.8)),
            )
        ),
        int8(*X),
        int8(*X),
        out=int8(scale=0.8),
    ),
}  # fmt: skip
#: Every result reaches both ends of its range, by inputs at their ends.
EXACT = {
    "conv_2d of groups", "conv_2d of 16 bits", "fully_connected", "add", "add of 16 bits", "add_n",
    "sub of one value", "mul", "maximum", "minimum", "relu", "clip", "requantize",
    "requantize of 16 bits", "average_pool_2d", "max_pool_2d", "mean", "mean of channels",
    "sum of 16 bits", "reduce_max", "reduce_min", "resize_nearest", "reshape that joins",
    "reshape that splits", "transpose", "slice", "mirror_pad", "concatenation", "space_to_depth",
    "tile", "softmax of one",
}  # fmt: skip
