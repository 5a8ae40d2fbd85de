"""Float graphs as StableHLO's text: IREE takes it, and computes what our interpreter does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.graph_builder import GraphBuilder
from glowmcu.frontend.stablehlo.exporter import export_stablehlo, load_exporters
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array, Constant, Operation
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.activation import Abs, HardSwish, LeakyRelu, Neg, Relu
from glowmcu.ops.cast import Cast
from glowmcu.ops.comparison import (
    Equal,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    LogicalXor,
    NotEqual,
    Select,
)
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.copy import Copy
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Add, Maximum, Minimum, Mul, Prelu, SquaredDifference, Sub
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.moments import MeanVarianceNormalization
from glowmcu.ops.multiply_add import MultiplyAdd
from glowmcu.ops.normalization import L2Normalization, LogSoftmax, Softmax
from glowmcu.ops.padding import MirrorPad, Pad
from glowmcu.ops.parametric_activation import (
    Celu,
    HardSigmoid,
    Mish,
    Selu,
    Softplus,
    Softsign,
    Swish,
)
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.real_functions import (
    Ceil,
    Cos,
    Erf,
    Floor,
    Power,
    Reciprocal,
    Round,
    Sign,
    Sin,
    Sqrt,
    Square,
    Tan,
)
from glowmcu.ops.reduction import (
    Mean,
    ReduceMax,
    ReduceMin,
    ReduceProd,
    ReduceSumAbsolute,
    ReduceSumSquare,
    Sum,
)
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.space import DepthToSpace, SpaceToDepth
from glowmcu.ops.tiling import BroadcastTo, Tile
from glowmcu.ops.transcendental import Elu, Exp, Gelu, Log, Logistic, Rsqrt, Tanh
from glowmcu.ops.transpose import Reverse, Transpose
from glowmcu.pipeline import reference_graph
from tests.conftest import REPO, SHARED
from tests.support.iree import run_iree

Step = tuple[Operation, Sequence[tuple[int, ...]], int]


def real(*shape: int) -> TensorType:
    return TensorType(shape, ElementType.F32)


def graph_of(*steps: Step) -> Graph:
    """Each operator on inputs of its own, all of them outputs: one compilation for a family."""
    builder, inputs, outputs = GraphBuilder(), [], []
    for number, (op, shapes, count) in enumerate(steps):
        operands = [Value(real(*shape), f"in{number}_{i}") for i, shape in enumerate(shapes)]
        inputs += operands
        names = [f"out{number}_{i}" for i in range(count)]
        outputs += builder.add_node(op, operands, [real()] * count, names, "")
    graph = builder.graph(inputs, outputs)
    graph.verify()
    return graph


def alike(op: Operation, *shapes: tuple[int, ...], results: int = 1) -> Step:
    return op, shapes, results


def choices() -> Graph:
    """Comparisons and logic as 0 and 1, and what they choose; half of the numbers are equal."""
    builder, bool_ = GraphBuilder(), TensorType((), ElementType.BOOL)
    a, b, row = (
        Value(real(*shape), name) for name, shape in zip("abr", (_PLANE, _PLANE, (7,)), strict=True)
    )
    whole_a, whole_b = (builder.add_node(Sign(), [x], [real()], ["s"], "")[0] for x in (a, b))

    def found(op: Operation, *operands: Value) -> Value:
        (result,) = builder.add_node(op, operands, [bool_], [op.name], "")
        return result

    kinds = (Equal(), NotEqual(), Greater(), GreaterEqual(), Less(), LessEqual())
    known = [found(op, whole_a, whole_b) for op in kinds]
    known += [found(op, *known[1:3]) for op in (LogicalAnd(), LogicalOr(), LogicalXor(), Equal())]
    known += [found(LogicalNot(), known[0]), found(Greater(), whole_a, row)]
    chosen = [
        *(builder.add_node(Cast(), [x], [real()], ["cast"], "")[0] for x in known),
        *builder.add_node(Select(), [known[2], a, row], [real()], ["chosen"], ""),
        *builder.add_node(Select(), [known[2], row, b], [real()], ["other"], ""),
    ]
    return builder.graph([a, b, row], chosen)


def gathered() -> Graph:
    """By known indices, of which some are outside."""
    builder, x = GraphBuilder(), Value(real(2, 5, 3), "x")
    chosen: list[Value] = []
    for axis, indices in ((0, 1), (1, [[4, 0], [2, 9]]), (2, [2, -1, 1])):
        known = builder.add_constant(np.array(indices, np.int32), "indices")
        chosen += builder.add_node(Gather(axis), [x, known], [real()], [f"y{axis}"], "")
    return builder.graph([x], chosen)


_PLANE = (2, 7)
FAMILIES: dict[str, Callable[[], Graph]] = {
    "layers": lambda: graph_of(
        alike(Conv2D((2, 1), (1, 2), (1, 0, 1, 2), (0.0, 6.0)), (1, 9, 8, 4), (6, 3, 3, 2), (6,)),
        alike(DepthwiseConv2D((1, 2), padding=(0, 1, 1, 1)), (1, 6, 7, 3), (1, 3, 3, 6), (6,)),
        alike(FullyConnected(), (2, 3, 5), (4, 5), (4,)),
        alike(BatchMatMul(), (2, 3, 5), (5, 4)),
        alike(BatchMatMul(adj_x=True, adj_y=True), (3, 5, 2), (3, 4, 5)),
        alike(MaxPool2D((3, 2), (2, 2), (1, 0, 1, 1)), (1, 7, 6, 2)),
        alike(AveragePool2D((2, 3), (2, 2), (1, 0, 1, 1), (-0.5, 9.0)), (1, 7, 6, 2)),
    ),
    "rows": lambda: graph_of(
        alike(Softmax(0.5), (3, 10)), alike(LogSoftmax(), (3, 10)),
        alike(L2Normalization(), _PLANE),
        alike(MeanVarianceNormalization(), _PLANE),
        alike(MeanVarianceNormalization(center=False), _PLANE),
        alike(Mean((1, 2)), (2, 3, 4, 5)), alike(Sum((0,), keep_dims=True), _PLANE),
        alike(ReduceMax((1,)), _PLANE), alike(ReduceMin((0, 1)), _PLANE),
        alike(ReduceProd((1,)), _PLANE), alike(ReduceSumSquare((0,), keep_dims=True), _PLANE),
        alike(ReduceSumAbsolute((0, 1)), _PLANE),
    ),
    "arithmetic": lambda: graph_of(
        alike(Add((0.0, 1.0)), _PLANE, _PLANE), alike(Sub(), (2, 1), (7,)),
        alike(Mul(), _PLANE, ()),
        alike(Div(), _PLANE, (7,)), alike(Maximum(), _PLANE, _PLANE),
        alike(Minimum(), _PLANE, (1,)),
        alike(SquaredDifference(), _PLANE, _PLANE), alike(Prelu(), _PLANE, (7,)),
        alike(MultiplyAdd(), _PLANE, _PLANE, _PLANE),
    ),
    "functions": lambda: graph_of(
        *(alike(op, _PLANE) for op in (
            Abs(), Neg(), Exp(), Logistic(), Tanh(), Elu(), Gelu(approximate=True), HardSwish(),
            LeakyRelu(0.1), Relu((0.0, 3.4e38)), Ceil(), Floor(), Round(), Sign(), Sin(), Cos(),
            Tan(), Square(), Selu(1.67, 1.05), Celu(0.8), Softplus(), Softsign(), Mish(),
            Swish(1.5), HardSigmoid(), Reciprocal(), Power(2.0),
        ))
    ),
    "choices": choices,
    "gathered": gathered,
    "movement": lambda: graph_of(
        alike(Reshape((7, 2)), _PLANE), alike(Copy(), _PLANE),
        alike(Transpose((2, 0, 1)), (2, 3, 5)),
        alike(Reverse((0, 2)), (2, 3, 5)), alike(Concatenation(1), _PLANE, (2, 3)),
        alike(Slice((0, 6), (2, 3), (1, -2)), _PLANE), alike(Split(1, (3, 4)), _PLANE, results=2),
        alike(Split(0, (1, 1), drop_axis=True), _PLANE, results=2),
        alike(Pad(((1, 0), (2, 3)), -0.5), _PLANE), alike(Tile((2, 3)), _PLANE),
        alike(MirrorPad(((1, 0), (2, 3))), _PLANE),
        alike(MirrorPad(((0, 2), (3, 1)), edge_twice=True), _PLANE),
        alike(BroadcastTo((3, 2, 7)), (2, 1)), alike(SpaceToDepth(2), (1, 4, 6, 3)),
        alike(DepthToSpace(2), (1, 2, 3, 8)),
    ),
}  # fmt: skip
#: On numbers above 0.
POSITIVE = (Log(), Sqrt(), Rsqrt())


def expect_near(graph: Graph, inputs: list[Array], tmp_path: Path) -> None:
    want = run_graph(graph, inputs)
    got = run_iree(export_stablehlo(graph), "stablehlo", inputs, tmp_path)
    for value, expected, found in zip(graph.outputs, want, got, strict=True):
        assert found.shape == expected.shape, value.name
        scale = max(1.0, float(np.abs(expected).max(initial=0)))
        assert np.allclose(expected, found, rtol=1e-5, atol=1e-5 * scale), value.name


def normal(graph: Graph) -> list[Array]:
    random = np.random.default_rng(3)
    return [random.standard_normal(v.type.shape).astype(np.float32) for v in graph.inputs]


@pytest.mark.parametrize("family", FAMILIES)
def test_iree_computes_what_the_interpreter_does(family: str, tmp_path: Path) -> None:
    graph = FAMILIES[family]()
    expect_near(graph, normal(graph), tmp_path)


def test_functions_of_positive_numbers_too(tmp_path: Path) -> None:
    graph = graph_of(*(alike(op, _PLANE) for op in POSITIVE))
    expect_near(graph, [np.abs(x) + np.float32(0.01) for x in normal(graph)], tmp_path)


def test_every_operator_with_a_form_is_tested() -> None:
    graphs = [family() for family in FAMILIES.values()]
    tested = {type(node.op) for graph in graphs for node in graph.nodes} | set(map(type, POSITIVE))
    assert set(load_exporters()) == tested - {Constant}


MODELS = [
    *(SHARED / "models" / f"{name}_float.tflite" for name in ("ad", "ic", "kws")),
    *(REPO / "examples" / name for name in (
        "digits/digits.onnx", "gestures/model.onnx", "vowels/model.onnx",
        "wake_word/model_float.tflite", "personal/model_float.tflite",
    )),
]  # fmt: skip


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name} {path.name}")
def test_models_give_the_same_results(path: Path, tmp_path: Path) -> None:
    if not path.exists():
        pytest.skip("needs the MLPerf Tiny models")
    graph = reference_graph(path.read_bytes(), str(path))
    expect_near(graph, normal(graph), tmp_path)


def test_all_operators_without_a_form_come_in_one_message() -> None:
    graph = graph_of(alike(Erf(), _PLANE), alike(Abs(), _PLANE), alike(Gelu(), _PLANE))
    with pytest.raises(GlowmcuError) as raised:
        export_stablehlo(graph)
    assert [problem.message for problem in raised.value.problems] == [
        "erf cannot be written as StableHLO", "StableHLO has no erf, of which gelu is made",
    ]  # fmt: skip


def test_integers_are_sent_to_tosa() -> None:
    path = SHARED / "models" / "kws_int8.tflite"
    if not path.exists():
        pytest.skip("needs the MLPerf Tiny models")
    with pytest.raises(GlowmcuError, match="int8 graphs go to") as raised:
        export_stablehlo(reference_graph(path.read_bytes(), str(path)))
    assert raised.value.code == "GM155"


def test_other_integers_of_a_float_model_are_not_sent_to_tosa() -> None:
    builder, x = GraphBuilder(), Value(TensorType((3,), ElementType.I64), "x")
    graph = builder.graph([x], builder.add_node(Cast(), [x], [real()], ["y"], ""))
    with pytest.raises(GlowmcuError, match="StableHLO is written for float32") as raised:
        export_stablehlo(graph)
    assert raised.value.problems[0].hint == (
        "the model can be compiled all the same: glowmcu compile"
    )
