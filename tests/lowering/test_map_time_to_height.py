"""Time steps become rows: layers are transposed, what is between follows, the rest stays."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.transposed_images import transposed_node
from glowmcu.ir.types import TensorType
from glowmcu.lowering import map_time_to_height
from glowmcu.ops.activation import Relu
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.elementwise import Add, Mul
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.padding import Pad
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.reduction import Mean
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from tests.ir.graphs import GraphBuilder, int8, per_channel
from tests.lowering.run_pass import names, run


def conv(
    b: GraphBuilder, x: Value, kernel: tuple[int, int] = (1, 3), op: Conv2D | None = None
) -> Value:
    """As many channels as there are."""
    channels = x.type.shape[3]
    shape = (channels, *kernel, channels)
    data = np.random.default_rng(channels).integers(-9, 9, shape).astype(np.int8)
    weights = b.constant(data, per_channel(shape, 0).quantization, "w")
    bias = b.constant(np.arange(channels, dtype=np.int32), name="bias")
    return b.add(op or Conv2D(), x, weights, bias)


def computing(b: GraphBuilder, *outputs: Value) -> list[tuple[str, tuple[int, ...]]]:
    """What computes after the pass, with the shapes of its results."""
    after = run(map_time_to_height.run, b.finish(*outputs))
    return [
        (node.op.name, node.output.type.shape)
        for node in after.nodes
        if node.op.name not in ("constant", "reshape")
    ]


@pytest.mark.parametrize(
    "op",
    [
        Conv2D(strides=(1, 2), dilations=(1, 2), padding=(0, 3, 0, 1)),
        Conv2D(strides=(3, 1), dilations=(2, 1), padding=(0, 0, 0, 2)),
    ],
    ids=["stride, dilation and padding along time", "what a single row does not care about"],
)
def test_a_layer_on_a_row_becomes_one_on_a_column(op: Conv2D) -> None:
    b = GraphBuilder()
    y = conv(b, b.input(int8(1, 1, 12, 4)), op=op)
    ((name, shape),) = computing(b, y)
    assert (name, shape) == ("conv_2d", (1, y.type.shape[2], 1, 4))


def test_windows_of_several_rows_turn_their_weights() -> None:
    b = GraphBuilder()
    y = conv(b, b.input(int8(1, 1, 9, 3)), (3, 3), Conv2D(padding=(1, 1, 1, 1)))
    assert computing(b, y) == [("conv_2d", (1, 9, 1, 3))]


@pytest.mark.parametrize("op", [MaxPool2D, AveragePool2D])
def test_poolings_are_transposed(op: type[MaxPool2D | AveragePool2D]) -> None:
    b = GraphBuilder()
    x = b.input(int8(1, 1, 11, 3))
    y = b.add(op((1, 3), (1, 2), (0, 1, 0, 0)), x)
    ((_, shape),) = computing(b, y)
    assert shape == (1, 5, 1, 3)


def between(b: GraphBuilder, *shape: int) -> Value:
    """Time steps along the height already, as the model reads them."""
    column = b.add(Relu(), b.input(int8(1, 10, 1, 4), f"x{len(b.inputs)}"))
    return b.add(Reshape(shape), column)


FOLLOWING: dict[str, tuple[tuple[Operation, ...], tuple[int, ...]]] = {
    "pad": (
        (Pad(((0, 0), (2, 1), (0, 0)), -3), Pad(((0, 0), (0, 0), (2, 1), (0, 0)), -3)),
        (1, 13, 1, 4),
    ),
    "slice": (
        (
            Slice((0, 1, 0), (1, 4, 4), (1, 2, 1)),
            Slice((0, 0, 1, 0), (1, 1, 4, 4), (1, 1, 2, 1)),
        ),
        (1, 4, 1, 4),
    ),
    "mean over time": ((Mean((1,)), Mean((1, 2))), (1, 1, 1, 4)),
    "mean over channels": ((Mean((2,), keep_dims=True), Mean((3,))), (1, 10, 1, 1)),
    "split of channels": ((Split(2, (1, 3)), Split(3, (1, 3))), (1, 10, 1, 1)),
    "split of time": ((Split(1, (4, 6)), Split(2, (4, 6))), (1, 4, 1, 4)),
}


@pytest.mark.parametrize("rank", [3, 4])
@pytest.mark.parametrize("name", FOLLOWING)
def test_what_reads_steps_along_the_height_follows(name: str, rank: int) -> None:
    ops, shape = FOLLOWING[name]
    b = GraphBuilder()
    x = between(b, *((1, 10, 4) if rank == 3 else (1, 1, 10, 4)))
    made = b.add_many(ops[rank - 3], x)
    assert computing(b, *made)[-1] == (ops[0].name, shape)


@pytest.mark.parametrize("rank", [3, 4])
def test_sums_and_joints_follow_with_all_their_operands(rank: int) -> None:
    b = GraphBuilder()
    shape = (1, 10, 4) if rank == 3 else (1, 1, 10, 4)
    x, other = between(b, *shape), b.input(int8(*shape), "other")
    row = b.constant(np.arange(4, dtype=np.int8), int8().quantization)
    steps = b.constant(np.arange(10, dtype=np.int8).reshape(10, 1), int8().quantization)
    y = b.add(Mul(), b.add(Add(), b.add(Add(), x, other), row), steps)
    joined = b.add(Concatenation(rank - 1), y, other)
    late = b.add(Concatenation(rank - 2), joined, joined)
    shapes = [shape for name, shape in computing(b, late) if name != "relu"]
    assert shapes == [*[(1, 10, 1, 4)] * 3, (1, 10, 1, 8), (1, 20, 1, 8)]


def test_what_makes_steps_for_such_a_reader_follows() -> None:
    b = GraphBuilder()
    padded = b.add(Pad(((0, 0), (2, 0), (0, 0)), -3), b.input(int8(1, 10, 4)))
    y = conv(b, b.add(Reshape((1, 1, 12, 4)), padded))
    assert computing(b, y) == [("pad", (1, 12, 1, 4)), ("conv_2d", (1, 10, 1, 4))]


def test_names_and_shapes_of_outputs_stay() -> None:
    b = GraphBuilder()
    x = b.input(int8(1, 1, 10, 4))
    parts = b.add_many(Split(2, (4, 6)), conv(b, x, op=Conv2D(padding=(0, 1, 0, 1))))
    run(map_time_to_height.run, b.finish(*parts))


def test_images_of_several_rows_and_batches_stay() -> None:
    b = GraphBuilder()
    for shape in ((1, 2, 8, 3), (2, 1, 8, 3), (1, 8, 1, 3), (1, 1, 1, 3)):
        b.add(Relu(), conv(b, b.input(int8(*shape), f"x{len(b.inputs)}"), (1, 1)))
    grown = conv(b, b.input(int8(1, 1, 8, 3), "y"), (1, 1), Conv2D(padding=(1, 0, 1, 0)))
    relus = [node.output for node in b.nodes if isinstance(node.op, Relu)]
    before = b.finish(*relus, grown)
    assert map_time_to_height.run(before) is before


def test_joining_rows_is_no_line_of_time_steps() -> None:
    b = GraphBuilder()
    x = between(b, 1, 1, 10, 4)
    before = b.finish(b.add(Concatenation(1), x, x))
    assert names(map_time_to_height.run(before)) == names(before)


def test_transposing_twice_gives_the_same_layer() -> None:
    b = GraphBuilder()
    x = b.input(int8(1, 1, 12, 6))
    shape = (1, 1, 3, 6)
    weights = b.constant(np.ones(shape, np.int8), per_channel(shape, 3).quantization)
    bias = b.constant(np.zeros(6, np.int32))
    op = DepthwiseConv2D((1, 2), (1, 3), (0, 2, 0, 1))
    b.add(op, x, weights, bias)
    node = b.nodes[-1]
    once = transposed_node(node)
    assert once is not None
    assert once.op.infer(once.signature.inputs) == (once.output.type.shape,)
    twice = transposed_node(once)
    assert twice is not None
    assert twice.op == op
    assert types(twice.inputs) == types(node.inputs)


def types(values: tuple[Value, ...]) -> list[TensorType]:
    return [value.type for value in values]
