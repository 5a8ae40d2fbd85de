"""Every gradient rule against central finite differences in float64.

Where an operator has corners (relu, maximum, pooling), operands are kept away from them.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import pytest

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.differentiate import MissingGradient, gradients
from glowmcu.gradient.rules import load_rules
from glowmcu.ir.graph import Node, Value, evaluate_node
from glowmcu.ir.operation import Operation, Rounding
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ops.activation import Abs, HardSwish, LeakyRelu, Neg, Relu
from glowmcu.ops.angle import Atan2
from glowmcu.ops.assign import Assign
from glowmcu.ops.comparison import Select
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.copy import Copy
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Add, Maximum, Minimum, Mul, SquaredDifference, Sub
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.normalization import LogSoftmax, Softmax
from glowmcu.ops.padding import Pad
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.real_functions import Cos, Power, Reciprocal, Sin, Sqrt, Square
from glowmcu.ops.reduction import Mean, ReduceMax, ReduceMin, ReduceSumSquare, Sum
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice
from glowmcu.ops.tiling import BroadcastTo
from glowmcu.ops.transcendental import Elu, Exp, Log, Logistic, Rsqrt, Tanh
from glowmcu.ops.transpose import Reverse, Transpose
from tests.custom.random_definitions import RandomDefinition
from tests.gradient import double
from tests.gradient.definitions import DEFINITIONS, FUNCTION, MANY, QUOTIENTS, operation

_STEP = 1e-5
RELU, RELU6 = (0.0, FLOAT_MAX), (0.0, 0.625)


@dataclass(frozen=True)
class Case:
    """An operator on operands of these shapes; `positive`: of numbers above 0.3. Of operands that
    are `booleans` or `integers` there is no gradient.
    """

    name: str
    op: Operation
    shapes: tuple[Shape, ...]
    positive: bool = False
    booleans: tuple[int, ...] = ()
    integers: tuple[int, ...] = ()

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
    *_pools(),
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
    Case("softmax", Softmax(1.5), ((2, 5),)),
    Case("log softmax", LogSoftmax(), ((2, 5),)),
]  # fmt: skip


def _operands(case: Case) -> list[np.ndarray]:
    """Numbers of 0.05 to 1 apart from each other and from 0, in any order."""
    random = np.random.default_rng(zlib.crc32(case.name.encode()))
    count = sum(int(np.prod(shape)) for shape in case.shapes)
    # None is near another one, nor near the bounds of clamps.
    numbers = np.linspace(-1.0, 1.0, count + 2)[1:-1] + 0.003
    if case.positive:
        numbers = np.linspace(0.35, 1.7, count)
    numbers = random.permutation(numbers)
    found, start = [], 0
    for number, shape in enumerate(case.shapes):
        size = int(np.prod(shape))
        part = numbers[start : start + size].reshape(shape)
        start += size
        if number in case.integers:
            found.append(np.rint(5 * part).astype(np.int32))
        else:
            is_bool = number in case.booleans
            found.append(part > 0 if is_bool else np.float32(part).astype(np.float64))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_rule_equals_finite_differences(case: Case) -> None:
    node, operands = case.node, _operands(case)
    given = dict(zip(node.inputs, operands, strict=True))
    random = np.random.default_rng(5)
    weight = random.standard_normal(node.outputs[0].type.shape)
    upstream = Value(node.outputs[0].type, "upstream")
    build = Builder()
    real = [value for value in node.inputs if value.type.element is ElementType.F32]
    found = gradients(build, [node], {node.outputs[0]: upstream}, real)
    values = double.run([node, *build.nodes], {**given, upstream: weight})
    assert set(found) == set(real)
    for value in real:
        expected = np.empty(value.type.shape)
        for place in np.ndindex(*value.type.shape):
            sides = []
            for sign in (1, -1):
                moved = given[value].copy()
                moved[place] += sign * _STEP
                result = double.run([node], {**given, value: moved})[node.outputs[0]]
                sides.append(float((result * weight).sum()))
            expected[place] = (sides[0] - sides[1]) / (2 * _STEP)
        got = values[found[value]]
        assert got.shape == value.type.shape
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_oracle_and_the_gradient_mean_what_operators_mean(case: Case) -> None:
    """In float32, forward and back: node types are right, and the oracle is no other function."""
    node, operands = case.node, _operands(case)
    build, upstream = Builder(), Value(node.outputs[0].type, "upstream")
    real = [value for value in node.inputs if value.type.element is ElementType.F32]
    found = gradients(build, [node], {node.outputs[0]: upstream}, real)
    weight = np.random.default_rng(5).standard_normal(node.outputs[0].type.shape)
    given = {**dict(zip(node.inputs, operands, strict=True)), upstream: weight}
    wide = double.run([node, *build.nodes], given)
    single = {
        value: array.astype(np.float32) if array.dtype == np.float64 else array
        for value, array in given.items()
    }
    for item in (node, *build.nodes):
        assert item.type_fault is None, item.op.name
        single[item.outputs[0]], *_ = evaluate_node(
            item, [single[value] for value in item.inputs], Rounding.DOUBLE
        )
    for value in (node.outputs[0], *found.values()):
        np.testing.assert_allclose(single[value], wide[value], rtol=2e-4, atol=2e-4)


def test_every_rule_is_checked() -> None:
    assert {type(case.op) for case in CASES} == set(load_rules())


def test_values_that_are_read_twice_get_both_gradients() -> None:
    x = Value(TensorType((3,), ElementType.F32), "x")
    build = Builder()
    square = build.times(x, x)
    y = build.plus(square, x)
    nodes = tuple(build.nodes)
    upstream = Value(y.type, "upstream")
    found = gradients(build, nodes, {y: upstream}, [x])
    at = np.array([1.0, -2.0, 0.5])
    values = double.run(build.nodes, {x: at, upstream: np.ones(3)})
    np.testing.assert_allclose(values[found[x]], 2 * at + 1)


def test_what_has_no_influence_has_no_gradient_and_needs_no_rule() -> None:
    types = TensorType((2,), ElementType.F32)
    x, y = Value(types, "x"), Value(types, "y")
    build = Builder()
    angle = build.add(Atan2(), y, y)
    product = build.times(angle, x)
    upstream = Value(types, "upstream")
    found = gradients(build, tuple(build.nodes), {product: upstream}, [x])
    assert list(found) == [x]
    with pytest.raises(MissingGradient, match="atan2 has no gradient"):
        gradients(build, tuple(build.nodes[:2]), {product: upstream}, [y])


@pytest.mark.parametrize(
    ("op", "shapes", "said"),
    [
        (Conv2D(), ((1, 3, 3, 4), (2, 1, 1, 2), (2,)), "2 groups"),
        (MaxPool2D(kernel=(9, 8)), ((1, 9, 9, 1),), "a window of 72 elements"),
        (Slice((3,), (3,), (-1,)), ((4,),), "walks backwards"),
        (operation(QUOTIENTS), ((7,),), r"line 3: a subscript i // 2 has no gradient"),
        (
            operation(MANY),
            ((7,),),
            "of its gradient: it has 2 operands and 128 statements",
        ),
    ],
)
def test_what_a_rule_cannot_do_is_said(op: Operation, shapes: list[Shape], said: str) -> None:
    node, build = Case("", op, tuple(shapes)).node, Builder()
    upstream = Value(node.outputs[0].type, "upstream")
    with pytest.raises(MissingGradient, match=said):
        gradients(build, [node], {node.outputs[0]: upstream}, node.inputs[:1])
