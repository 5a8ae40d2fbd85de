"""Operators on operands that their gradients are checked at."""

from __future__ import annotations

from dataclasses import dataclass

from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ops.activation import Abs, HardSwish, LeakyRelu, Neg, Relu
from glowmcu.ops.assign import Assign
from glowmcu.ops.comparison import Select
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.copy import Copy
from glowmcu.ops.division import Div, Pow
from glowmcu.ops.elementwise import Add, Maximum, Minimum, Mul, Prelu, SquaredDifference, Sub
from glowmcu.ops.gather import Gather, GatherElements, GatherNd
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.moments import MeanVarianceNormalization
from glowmcu.ops.normalization import L2Normalization, LogSoftmax, Softmax
from glowmcu.ops.padding import MirrorPad, Pad
from glowmcu.ops.parametric_activation import (
    Celu,
    HardSigmoid,
    Mish,
    Selu,
    Shrink,
    Softplus,
    Softsign,
    Swish,
    ThresholdedRelu,
)
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.real_functions import (
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atanh,
    Ceil,
    Cos,
    Cosh,
    Erf,
    Floor,
    Power,
    Reciprocal,
    Round,
    Sign,
    Sin,
    Sinh,
    Sqrt,
    Square,
    Tan,
)
from glowmcu.ops.reduction import (
    Mean,
    ReduceMax,
    ReduceMin,
    ReduceSumAbsolute,
    ReduceSumSquare,
    Sum,
)
from glowmcu.ops.resize import ResizeBilinear, ResizeNearestNeighbor
from glowmcu.ops.scan import CumSum
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.space import BatchToSpace, DepthToSpace, SpaceToBatch, SpaceToDepth
from glowmcu.ops.tiling import BroadcastTo, Tile
from glowmcu.ops.transcendental import Elu, Exp, Gelu, Log, Logistic, Rsqrt, Tanh
from glowmcu.ops.transpose import Reverse, Transpose
from glowmcu.ops.transpose_conv import TransposeConv2D
from tests.custom.random_definitions import RandomDefinition
from tests.gradient.definitions import DEFINITIONS, FUNCTION, operation

RELU, RELU6 = (0.0, FLOAT_MAX), (0.0, 0.625)


@dataclass(frozen=True)
class Case:
    """An operator on operands of these shapes; `positive`: of numbers above 0.3. Of operands that
    are `booleans` or `integers` there is no gradient. Numbers may begin `above` one, and of
    `steps` nothing changes.
    """

    name: str
    op: Operation
    shapes: tuple[Shape, ...]
    positive: bool = False
    booleans: tuple[int, ...] = ()
    integers: tuple[int, ...] = ()
    above: float = 0.0
    steps: bool = False

    def element(self, index: int) -> ElementType:
        """Of an operand."""
        other = ElementType.I32 if index in self.integers else ElementType.F32
        return ElementType.BOOL if index in self.booleans else other

    @property
    def node(self) -> Node:
        """The operator alone, with a float32 result."""
        inputs = tuple(
            Value(TensorType(shape, self.element(index)), f"x{index}")
            for index, shape in enumerate(self.shapes)
        )
        shape, *others = self.op.infer([value.type for value in inputs])
        outputs = [Value(TensorType(shape, ElementType.F32), "y")]
        outputs += [Value(TensorType(other, ElementType.F32), "other") for other in others]
        return Node(self.op, inputs, tuple(outputs), "y")


def _convolutions() -> list[Case]:
    cases = []
    for name, op, x, kernel in (
        ("1x1", {}, (1, 3, 4, 3), (1, 1)),
        ("3x3 same padding, relu", {"padding": (1, 1, 1, 1), "clamp": RELU}, (1, 4, 5, 3), (3, 3)),
        ("stride 2, odd width", {"strides": (2, 2), "padding": (0, 0, 1, 1)}, (2, 5, 7, 2), (3, 3)),
        ("stride 3 past the window", {"strides": (3, 3)}, (1, 7, 7, 2), (2, 2)),
        ("dilation 2", {"dilations": (2, 2), "padding": (2, 2, 2, 2)}, (1, 5, 5, 2), (3, 3)),
        ("one row", {"padding": (0, 2, 0, 2), "clamp": RELU6}, (1, 1, 6, 3), (1, 5)),
        ("rows that no window sees", {"strides": (2, 2)}, (1, 6, 6, 1), (3, 3)),
    ):
        whole = (4, *kernel, x[3])
        cases.append(Case(f"conv {name}", Conv2D(**op), (x, whole, (4,))))
        for times in (1, 2):
            depth = x[3] * times
            shapes = (x, (1, *kernel, depth), (depth,))
            cases.append(Case(f"depthwise {name} times {times}", DepthwiseConv2D(**op), shapes))
    return cases


def _transposed() -> list[Case]:
    cases = []
    for name, op, x, kernel in (
        ("stride 2", {"strides": (2, 2), "size": (6, 8)}, (1, 3, 4, 3), (2, 2)),
        ("overlapping, cut", {"strides": (2, 2), "padding": (1, 1), "size": (6, 5), "clamp": RELU},
         (2, 3, 3, 2), (3, 3)),
        ("stride 1, dilated", {"dilations": (1, 2), "size": (4, 9)}, (1, 3, 5, 2), (2, 3)),
        ("rows that nothing adds to", {"strides": (3, 3), "size": (8, 8)}, (1, 2, 2, 1), (2, 2)),
    ):  # fmt: skip
        cases.append(
            Case(f"transposed {name}", TransposeConv2D(**op), (x, (3, *kernel, x[3]), (3,)))
        )
    op = TransposeConv2D(strides=(2, 1), size=(5, 4), clamp=RELU)
    cases.append(Case("transposed of two groups", op, ((1, 2, 3, 4), (6, 3, 2, 2), (6,))))
    return cases


def _resized() -> list[Case]:
    found = []
    for name, size, x in (
        ("twice", (6, 8), (2, 3, 4, 2)), ("odd", (5, 7), (1, 3, 4, 2)),
        ("less", (2, 3), (1, 5, 4, 2)), ("one row more", (1, 4), (1, 1, 3, 1)),
    ):  # fmt: skip
        for flags in ((False, False), (True, False), (False, True)):
            said = f"{name} {' '.join(map(str, flags))}"
            found.append(Case(f"nearest {said}", ResizeNearestNeighbor(size, *flags), (x,)))
            found.append(Case(f"bilinear {said}", ResizeBilinear(size, *flags), (x,)))
    return found


def _pools() -> list[Case]:
    cases = []
    for name, op, x in (
        ("2x2", {"kernel": (2, 2), "strides": (2, 2)}, (1, 4, 6, 3)),
        ("overlapping, padded", {"kernel": (3, 3), "strides": (2, 2), "padding": (1, 1, 1, 1)},
         (1, 5, 5, 2)),
        ("global", {"kernel": (3, 4)}, (2, 3, 4, 2)),
        ("clamped", {"kernel": (2, 1), "clamp": (-0.125, 0.375)}, (1, 4, 4, 3)),
    ):  # fmt: skip
        cases.append(Case(f"average pool {name}", AveragePool2D(**op), (x,)))
        cases.append(Case(f"max pool {name}", MaxPool2D(**op), (x,)))
    large = AveragePool2D(kernel=(25, 5))
    cases.append(Case("average pool global, large", large, ((1, 25, 5, 3),)))
    return cases


CASES = [
    Case("add", Add(), ((2, 3), (2, 3))),
    Case("add, broadcast both ways", Add(), ((2, 1, 4), (3, 1))),
    Case("add, relu6", Add(RELU6), ((2, 5), (5,))),
    Case("sub, broadcast", Sub(), ((4,), (3, 4))),
    Case("mul", Mul(), ((2, 3), (2, 3))),
    Case("mul, one number", Mul(), ((2, 3), (1,))),
    Case("div", Div(), ((2, 3), (3,)), positive=True),
    Case("squared difference", SquaredDifference(), ((2, 3), (2, 3))),
    Case("maximum", Maximum(), ((3, 4), (3, 4))),
    Case("minimum, broadcast", Minimum(), ((3, 4), (4,))),
    Case("select", Select(), ((3, 4), (3, 4), (1, 4)), booleans=(0,)),
    Case("relu", Relu(RELU), ((3, 4),)),
    Case("relu6", Relu(RELU6), ((3, 4),)),
    Case("leaky relu", LeakyRelu(0.2), ((3, 4),)),
    Case("elu", Elu(), ((3, 4),)),
    Case("hard swish", HardSwish(), ((3, 4),)),
    Case("logistic", Logistic(), ((3, 4),)),
    Case("tanh", Tanh(), ((3, 4),)),
    Case("neg", Neg(), ((3, 4),)),
    Case("abs", Abs(), ((3, 4),)),
    Case("exp", Exp(), ((3, 4),)),
    Case("log", Log(), ((3, 4),), positive=True),
    Case("square", Square(), ((3, 4),)),
    Case("sqrt", Sqrt(), ((3, 4),), positive=True),
    Case("rsqrt", Rsqrt(), ((3, 4),), positive=True),
    Case("reciprocal", Reciprocal(), ((3, 4),), positive=True),
    Case("power", Power(2.5), ((3, 4),), positive=True),
    Case("sin", Sin(), ((3, 4),)),
    Case("cos", Cos(), ((3, 4),)),
    Case("fully connected, one row", FullyConnected(), ((1, 5), (3, 5), (3,))),
    Case("fully connected, rows, relu", FullyConnected(RELU), ((2, 2, 5), (3, 5), (3,))),
    *(
        Case(f"matmul {adj_x} {adj_y}", BatchMatMul(adj_x, adj_y),
             ((2, 4, 3) if adj_x else (2, 3, 4), (5, 4) if adj_y else (4, 5)))
        for adj_x in (False, True) for adj_y in (False, True)
    ),
    *_convolutions(),
    *_transposed(),
    Case("conv of two groups", Conv2D(padding=(1, 1, 1, 1)), ((1, 3, 4, 4), (6, 3, 3, 2), (6,))),
    Case("1x1 conv of three groups", Conv2D(clamp=RELU), ((2, 2, 2, 6), (3, 1, 1, 2), (3,))),
    *_pools(),
    *_resized(),
    Case("sum", Sum((0, 2)), ((2, 3, 4),)),
    Case("mean, axes kept", Mean((1,), True), ((2, 3, 4),)),
    Case("reduce max", ReduceMax((1,)), ((3, 5),)),
    Case("reduce min, axes kept", ReduceMin((0, 1), True), ((3, 5),)),
    Case("sum of squares", ReduceSumSquare((1,)), ((3, 5),)),
    Case("reshape", Reshape((4, 3)), ((3, 4),)),
    Case("transpose", Transpose((2, 0, 1)), ((2, 3, 4),)),
    Case("reverse", Reverse((0,)), ((2, 3),)),
    Case("broadcast to", BroadcastTo((2, 3, 4)), ((3, 1),)),
    Case("concatenation", Concatenation(1), ((2, 3), (2, 1), (2, 2))),
    Case("slice", Slice((1, 0), (2, 3), (1, 1)), ((4, 3),)),
    Case("slice in steps", Slice((1, 0), (3, 2), (2, 3)), ((7, 4),)),
    Case("slice in steps, to the end", Slice((0, 1), (2, 2), (3, 1)), ((4, 4),)),
    Case("pad", Pad(((1, 0), (0, 2)), 0.5), ((2, 3),)),
    Case("copy", Copy(), ((2, 3),)),
    Case("assign", Assign(), ((2, 3),)),
    *(
        Case(name, operation(text), shapes, integers=(1,) if "at:" in text else ())
        for name, (text, shapes) in DEFINITIONS.items()
    ),
    *(
        Case(f"random definition {item.seed}", operation(item.text),
             tuple(shape for shape, _ in item.inputs), integers=(len(item.inputs) - 1,))
        for item in (RandomDefinition(seed, "float32", smooth=True, most=3) for seed in range(12))
    ),
    Case("a defined function", FUNCTION, ((2, 3),)),
    Case("selu", Selu(1.5, 1.25), ((3, 4),)),
    Case("celu", Celu(0.5), ((3, 4),)),
    Case("softplus", Softplus(), ((3, 4),)),
    Case("softsign", Softsign(), ((3, 4),)),
    Case("mish", Mish(), ((3, 4),)),
    Case("swish", Swish(), ((3, 4),)),
    Case("swish, steeper", Swish(1.5), ((3, 4),)),
    Case("gelu", Gelu(), ((3, 4),)),
    Case("gelu by tanh", Gelu(approximate=True), ((3, 4),)),
    Case("hard sigmoid", HardSigmoid(1.0, 0.5), ((3, 4),)),
    Case("thresholded relu", ThresholdedRelu(0.25), ((3, 4),)),
    Case("shrink", Shrink(0.25, 0.125), ((3, 4),)),
    Case("prelu", Prelu(), ((2, 3, 4), (4,))),
    Case("prelu of as many", Prelu(), ((3, 4), (3, 4))),
    Case("erf", Erf(), ((3, 4),)),
    Case("tan", Tan(), ((3, 4),)),
    Case("sinh", Sinh(), ((3, 4),)),
    Case("cosh", Cosh(), ((3, 4),)),
    Case("asin", Asin(), ((3, 3),)),
    Case("acos", Acos(), ((3, 3),)),
    Case("atan", Atan(), ((3, 4),)),
    Case("asinh", Asinh(), ((3, 4),)),
    Case("acosh", Acosh(), ((3, 4),), above=1.0),
    Case("atanh", Atanh(), ((3, 3),)),
    Case("pow", Pow(), ((2, 3), (3,)), positive=True),
    *(Case(op.name, op, ((3, 4),), steps=True) for op in (Ceil(), Floor(), Round(), Sign())),
    Case("cumsum", CumSum(1), ((2, 5, 2),)),
    Case("cumsum, from the end, exclusive", CumSum(0, True, True), ((4, 2),)),
    Case("sum of magnitudes", ReduceSumAbsolute((1,)), ((3, 5),)),
    Case("l2 normalization", L2Normalization(), ((3, 4),)),
    Case("l2 normalization of short rows", L2Normalization(3.0), ((3, 4),)),
    Case("mean and variance", MeanVarianceNormalization(0.25), ((3, 5),)),
    Case("root mean square", MeanVarianceNormalization(0.25, center=False), ((3, 5),)),
    Case("gather", Gather(), ((4, 3), (5,)), integers=(1,)),
    Case("gather along an inner axis", Gather(1), ((2, 4, 3), (2, 3)), integers=(1,)),
    Case("gather along a batch", Gather(1, 1), ((3, 4, 2), (3, 5)), integers=(1,)),
    Case("gather along two batches, an inner axis", Gather(3, 2), ((2, 3, 2, 4), (2, 3, 2)),
         integers=(1,)),
    Case("gather one slice", Gather(2), ((2, 2, 4), ()), integers=(1,)),
    Case("gather by coordinates", GatherNd(), ((3, 4, 2), (3, 2)), integers=(1,)),
    Case("gather elements", GatherElements(1), ((3, 4), (3, 5)), integers=(1,)),
    Case("mirrored padding", MirrorPad(((1, 0), (2, 3))), ((3, 4),)),
    Case("mirrored padding, edge twice", MirrorPad(((2, 1), (0, 3)), True), ((2, 3),)),
    Case("split, its first part", Split(1, (2, 3)), ((2, 5),)),
    Case("split into single rows", Split(0, (1, 1, 1), True), ((3, 2),)),
    Case("tile", Tile((2, 1, 3)), ((2, 3, 2),)),
    Case("tile of one", Tile((1, 1)), ((2, 3),)),
    Case("space to depth", SpaceToDepth(2), ((1, 4, 6, 2),)),
    Case("depth to space", DepthToSpace(2), ((1, 2, 3, 8),)),
    Case("space to batch", SpaceToBatch((2, 3), (1, 1, 0, 1)), ((1, 3, 4, 2),)),
    Case("batch to space", BatchToSpace((2, 2), (1, 0, 0, 1)), ((4, 2, 3, 2),)),
    Case("softmax", Softmax(1.5), ((2, 5),)),
    Case("log softmax", LogSoftmax(), ((2, 5),)),
]  # fmt: skip
