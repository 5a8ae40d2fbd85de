"""Transposes pass every operator whose axes can be others, and vanish in layers' weights."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lowering import fold_transposes_into_weights, sink_transposes
from glowmcu.lowering.transposed_operators import reshape_groups
from glowmcu.ops.activation import Relu
from glowmcu.ops.elementwise import Add, Mul
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.lookup import Lookup, all_values
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.padding import MirrorPad, Pad
from glowmcu.ops.reduction import ReduceMax, Sum
from glowmcu.ops.scan import ArgMax
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.transpose import Reverse, Transpose
from tests.ir.graphs import GraphBuilder, int8
from tests.lowering.run_pass import TO_NCHW, TO_NHWC, names, run

UNARY: dict[str, Operation] = {
    "relu": Relu(),
    "pad": Pad(((0, 0), (1, 0), (2, 3), (0, 1)), 7),
    "mirror_pad": MirrorPad(((0, 0), (0, 1), (2, 1), (1, 0))),
    "slice": Slice((0, 1, 4, 0), (1, 2, 3, 3), (1, 2, -1, 2)),
    "reverse": Reverse((1, 3)),
    "reduce_max": ReduceMax((1, 2), True),
}


def transposed(b: GraphBuilder, *shape: int) -> Value:
    return b.add(Transpose(TO_NCHW), b.add(Relu(), b.input(int8(*shape), f"x{len(b.inputs)}")))


def back(b: GraphBuilder, *values: Value) -> Graph:
    return b.finish(*(b.add(Relu(), b.add(Transpose(TO_NHWC), value)) for value in values))


@pytest.mark.parametrize("op", UNARY.values(), ids=UNARY)
def test_transposes_meet_below_an_operator_of_one_tensor(op: Operation) -> None:
    b = GraphBuilder()
    graph = back(b, b.add(op, transposed(b, 1, 5, 6, 4)))
    after = run(sink_transposes.run, graph)
    assert "transpose" not in names(after)
    assert op.name in names(after)


def test_transposes_meet_below_a_split() -> None:
    b = GraphBuilder()
    x = transposed(b, 1, 5, 6, 4)
    parts = b.add_many(Split(1, (1, 3)), x)
    assert "transpose" not in names(run(sink_transposes.run, back(b, *parts)))


def test_a_reduction_that_drops_axes_keeps_the_order_of_the_others() -> None:
    b = GraphBuilder()
    pooled = b.add(ReduceMax((2, 3)), transposed(b, 2, 5, 6, 4))
    found = b.add(ArgMax(1), transposed(b, 2, 5, 6, 4), like=TensorType((), ElementType.I32))
    one = b.add(ReduceMax((2,)), transposed(b, 2, 5, 6, 4))
    after = run(sink_transposes.run, b.finish(pooled, found, one))
    (left,) = (node for node in after.nodes if node.op.name == "transpose")
    assert left.inputs[0].type.shape == (2, 6, 4)
    assert left.output.name == after.outputs[2].name


def test_a_sum_passes_with_another_scale() -> None:
    b = GraphBuilder()
    y = b.add(Sum((2, 3), True), transposed(b, 1, 5, 6, 4), like=int8(scale=3.0))
    assert "transpose" not in names(run(sink_transposes.run, back(b, y)))


def test_a_residual_block_has_no_transposes_inside() -> None:
    b = GraphBuilder()
    first = transposed(b, 1, 4, 4, 6)
    branch = b.add(Transpose(TO_NCHW), b.add(Relu(), b.add(Transpose(TO_NHWC), first)))
    joined = b.add(Concatenation(1), b.add(Add(), first, branch), first)
    assert "transpose" not in names(run(sink_transposes.run, back(b, joined)))


def test_a_channel_factor_follows_without_a_copy() -> None:
    """Squeeze and excitation: one of the transposes moves only axes of length 1."""
    b = GraphBuilder()
    x, s = transposed(b, 1, 4, 4, 6), transposed(b, 1, 1, 1, 6)
    assert "transpose" not in names(run(sink_transposes.run, back(b, b.add(Mul(), x, s))))


def test_a_series_as_an_image_of_one_row_has_no_transposes_inside() -> None:
    b = GraphBuilder()
    image = b.add(Relu(), b.input(int8(1, 1, 9, 4)))
    series = b.add(Transpose((0, 2, 1)), b.add(Reshape((1, 9, 4)), image))
    relu = b.add(Relu(), series)
    again = b.add(Transpose(TO_NHWC), b.add(Reshape((1, 4, 1, 9)), relu))
    after = run(sink_transposes.run, b.finish(b.add(Relu(), again)))
    assert "transpose" not in names(after)


def test_gathered_positions_pass_where_they_are_not_more() -> None:
    b = GraphBuilder()
    fewer = b.constant(np.array([0, 0, 3], np.int32))
    y = b.add(Gather(2), transposed(b, 1, 4, 6, 2), fewer)
    assert "transpose" not in names(run(sink_transposes.run, back(b, y)))
    b = GraphBuilder()
    more = b.constant(np.arange(9, dtype=np.int32) // 3)
    graph = back(b, b.add(Gather(2), transposed(b, 1, 4, 6, 2), more))
    assert names(run(sink_transposes.run, graph)).count("transpose") == 2


def test_a_reader_that_cannot_follow_keeps_the_transpose() -> None:
    b = GraphBuilder()
    x = transposed(b, 1, 4, 4, 6)
    graph = b.finish(b.add(Relu(), x), b.add(Reshape((4, 24)), x))
    assert sink_transposes.run(graph) is graph


def branches(count: int, depth: int, turned_back: int, shown: bool = False) -> Graph:
    """Of one transpose so many chains of operators, of which the first end in its inverse."""
    b = GraphBuilder()
    x = transposed(b, 1, 4, 5, 6)
    ends = [x] if shown else []
    for branch in range(count):
        y = x
        for level in range(depth):
            table = np.roll(all_values(ElementType.I8), 20 * branch + level + 1)
            y = b.add(Lookup(table.copy()), y)
        ends.append(b.add(Transpose(TO_NHWC), y) if branch < turned_back else y)
    return b.finish(*ends)


@pytest.mark.parametrize(
    ("graph", "left"),
    [
        (branches(1, 1, 0), 1), (branches(2, 1, 0), 1), (branches(3, 2, 0), 1),
        (branches(2, 1, 1), 1), (branches(3, 1, 2), 1), (branches(3, 3, 1), 1),
        (branches(4, 3, 4), 0), (branches(4, 1, 1), 2), (branches(2, 1, 2, shown=True), 1),
        (branches(1, 1, 0, shown=True), 1), (branches(3, 9, 0), 1),
    ],
)  # fmt: skip
def test_readers_that_would_need_several_transposes_leave_one_in_front(
    graph: Graph, left: int
) -> None:
    assert names(run(sink_transposes.run, graph)).count("transpose") == left


@pytest.mark.parametrize("other", ["a reduction", "a constant"])
def test_operands_of_other_ranks_keep_a_transpose_where_it_is(other: str) -> None:
    """What a reduction makes of more axes, and a constant that adds one."""
    b = GraphBuilder()
    x = b.add(Transpose((2, 0, 1)), b.add(Relu(), b.input(int8(3, 4, 2), "x")))
    if other == "a reduction":
        y = b.add(ReduceMax((3,), False), b.input(int8(2, 3, 4, 5), "y"))
    else:
        y = b.constant(np.ones((5, 1, 1, 4), np.int8), int8().quantization)
    graph = b.finish(b.add(Relu(), b.add(Add(), b.add(Relu(), x), y)), b.add(Add(), x, x))
    assert names(run(sink_transposes.run, graph)).count("transpose") == 1


def test_readers_that_meet_again_need_one_transpose() -> None:
    b = GraphBuilder()
    x = transposed(b, 1, 4, 5, 6)
    y = b.add(Add(), x, b.add(Lookup(np.roll(all_values(ElementType.I8), 9).copy()), x))
    graph = b.finish(y)
    after = run(sink_transposes.run, graph)
    assert names(after).count("transpose") == 1
    assert names(after)[-1] == "transpose"


def test_a_flattened_transpose_goes_into_the_weights() -> None:
    generator = np.random.default_rng(0)
    b = GraphBuilder()
    flat = b.add(Reshape((2, 30)), transposed(b, 2, 3, 2, 5))
    weights = b.constant(
        generator.integers(-99, 99, (7, 30)).astype(np.int8), int8(zero_point=0).quantization
    )
    bias = b.constant(generator.integers(-99, 99, 7).astype(np.int32))
    y = b.add(FullyConnected(), flat, weights, bias, like=int8(scale=40.0))
    after = run(fold_transposes_into_weights.run, b.finish(y))
    assert "transpose" not in names(after)


def test_a_transpose_of_the_batch_stays() -> None:
    b = GraphBuilder()
    x = b.add(Transpose((1, 0, 2)), b.input(int8(2, 3, 4)))
    weights = b.constant(np.ones((5, 8), np.int8), int8(zero_point=0).quantization)
    bias = b.constant(np.zeros(5, np.int32))
    y = b.add(FullyConnected(), b.add(Reshape((3, 8)), x), weights, bias, like=int8())
    graph = b.finish(y)
    assert fold_transposes_into_weights.run(graph) is graph


GROUPS = {
    "flatten": ((2, 3, 4), (2, 12), [((0,), (0,)), ((1, 2), (1,))]),
    "split": ((6, 4), (2, 3, 4), [((0,), (0, 1)), ((1,), (2,))]),
    "ones come and go": ((1, 6, 1), (6, 1, 1), [((1,), (0, 1, 2))]),
    "nothing in common": ((2, 3), (3, 2), [((0, 1), (0, 1))]),
    "one element": ((1, 1), (1,), None),
}


@pytest.mark.parametrize(("before", "after", "want"), GROUPS.values(), ids=GROUPS)
def test_axes_that_hold_the_same_elements_are_found(before, after, want) -> None:
    assert reshape_groups(before, after) == want
