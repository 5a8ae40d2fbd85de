"""What rules say of channels, against what a change of one channel changes in fact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from glowmcu.ir.graph import Graph, Node, Value, evaluate_node
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lowering import fold_constant_channels
from glowmcu.lowering.channel_rules import ChannelRule, channel_count, rule_of
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.elementwise import Add
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.padding import Pad
from glowmcu.ops.pooling import MaxPool2D
from glowmcu.ops.reduction import Mean
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.tiling import Tile
from glowmcu.ops.transpose import Reverse, Transpose
from tests.ir.graphs import GraphBuilder
from tests.lowering.layers import UNIT, unit

IMAGE = (1, 4, 5, 6)
#: Operators and the shapes of their operands.
CASES: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "a sum": (Add(), (IMAGE, IMAGE)),
    "a sum with one channel": (Add(), (IMAGE, (1, 4, 5, 1))),
    "a sum with a scalar": (Add(), (IMAGE, ())),
    "one channel and many": (Add(), ((1, 1, 1, 1), IMAGE)),
    "a sum of vectors": (Add(), ((6,), (6,))),
    "a pool": (MaxPool2D((2, 2)), (IMAGE,)),
    "a mean of pixels": (Mean((1, 2), True), (IMAGE,)),
    "a mean of channels": (Mean((3,), True), (IMAGE,)),
    "channels joined": (Concatenation(3), (IMAGE, (1, 4, 5, 2), (1, 4, 5, 1))),
    "columns joined": (Concatenation(2), (IMAGE, (1, 4, 2, 6))),
    "channels split": (Split(3, (1, 3, 2)), (IMAGE,)),
    "channels split, without their axis": (Split(3, (1,) * 6, drop_axis=True), (IMAGE,)),
    "columns split, without their axis": (Split(2, (1,) * 5, drop_axis=True), (IMAGE,)),
    "columns split": (Split(2, (1, 4)), (IMAGE,)),
    "pixels that join": (Reshape((1, 4, 1, 30)), (IMAGE,)),
    "pixels that part": (Reshape((1, 4, 10, 3)), (IMAGE,)),
    "pixels that join unevenly": (Reshape((1, 2, 15, 4)), (IMAGE,)),
    "the same channels": (Reshape((20, 6)), (IMAGE,)),
    "a slice of pixels": (Slice((0, 1, 1, 0), (1, 2, 2, 6), (1, 1, 2, 1)), (IMAGE,)),
    "a slice of channels": (Slice((0, 0, 0, 1), (1, 4, 5, 3), (1, 1, 1, 1)), (IMAGE,)),
    "padded channels": (Pad(((0, 0), (0, 0), (0, 0), (1, 1)), 3), (IMAGE,)),
    "channels turned": (Transpose((0, 3, 2, 1)), (IMAGE,)),
    "channels backwards": (Reverse((3,)), (IMAGE,)),
    "channels twice": (Tile((1, 1, 1, 2)), (IMAGE,)),
}  # fmt: skip


def test_a_scalar_has_one_channel_which_a_value_without_elements_lacks() -> None:
    assert [channel_count(unit(*shape)) for shape in ((), (3,), (2, 5), (3, 0))] == [1, 3, 5, 0]


def node_of(op: Any, shapes: Sequence[tuple[int, ...]]) -> tuple[Graph, Node]:
    builder = GraphBuilder()
    operands = [builder.input(unit(*shape), f"x{index}") for index, shape in enumerate(shapes)]
    outputs = builder.add_many(op, *operands)
    return builder.finish(*outputs), builder.nodes[-1]


def results(graph: Graph, node: Node, operands: Sequence[Array]) -> list[Array]:
    return [np.asarray(array) for array in evaluate_node(node, operands, graph.rounding)]


@pytest.mark.parametrize("outer", [(2,), (2, 3), (1, 2, 3)])
def test_a_layer_loses_rows_and_columns_of_its_weights_whatever_its_operands_rank(
    outer: tuple[int, ...],
) -> None:
    builder = GraphBuilder()
    x = builder.input(unit(*outer, 5), "x")
    weights = builder.constant(np.ones((4, 5), np.int8), UNIT)
    y = builder.add(FullyConnected(), x, weights, builder.constant(np.zeros(4, np.int32), UNIT))
    graph = builder.finish(y)
    rule = rule_of(builder.nodes[-1], graph)
    read, made = np.arange(5) != 2, np.arange(4) > 0
    slices = rule.slices([read, None, None], [made])
    assert {
        operand: {axis: mask.tolist() for axis, mask in each.items()}
        for operand, each in slices.items()
    } == {1: {0: made.tolist(), 1: read.tolist()}, 2: {0: made.tolist()}}


@pytest.mark.parametrize("computed", ["weights", "bias", "both"])
@pytest.mark.parametrize("op", [FullyConnected(), Conv2D(), DepthwiseConv2D()])
def test_a_layer_of_computed_weights_or_biases_stays_whole(op: Any, computed: str) -> None:
    builder = GraphBuilder()
    x_shape = (2, 4) if isinstance(op, FullyConnected) else (1, 2, 2, 4)
    w_shape = {FullyConnected: (4, 4), Conv2D: (4, 1, 1, 4), DepthwiseConv2D: (1, 1, 1, 4)}
    x = builder.input(unit(*x_shape), "x")
    weights: Value = builder.constant(np.ones(w_shape[type(op)], np.int8), UNIT)
    bias: Value = builder.constant(np.zeros(4, np.int32), UNIT)
    if computed in ("weights", "both"):
        weights = builder.input(unit(*w_shape[type(op)]), "w")
    if computed in ("bias", "both"):
        bias = builder.input(TensorType((4,), ElementType.I32, UNIT), "b")
    y = builder.add(op, x, weights, bias)
    assert type(rule_of(builder.nodes[-1], builder.finish(y))) is ChannelRule


@pytest.mark.parametrize("shared", ["nothing", "weights", "bias"])
def test_a_layer_whose_weights_others_share_stays_whole(shared: str) -> None:
    builder = GraphBuilder()
    x = builder.input(unit(2, 5), "x")
    weights = [builder.constant(np.ones((4, 5), np.int8), UNIT) for _ in range(2)]
    biases = [builder.constant(np.zeros(4, np.int32), UNIT) for _ in range(2)]
    second = int(shared != "weights"), int(shared != "bias")
    one = builder.add(FullyConnected(), x, weights[0], biases[0])
    layer = builder.nodes[-1]
    other = builder.add(FullyConnected(), x, weights[second[0]], biases[second[1]])
    is_whole = type(rule_of(layer, builder.finish(one, other))) is ChannelRule
    assert is_whole is (shared == "weights")


@pytest.mark.parametrize("op", [Transpose(()), Pad(()), Slice((), (), ()), Tile(()), Reverse(())])
def test_a_scalar_has_one_channel_which_stays(op: Any) -> None:
    graph, node = node_of(op, [()])
    rule = rule_of(node, graph)
    (read,) = rule.reads([np.array([True])])
    assert read is not None
    assert read.tolist() == [True]


def masks_of(values: Sequence[Value], which: int, channel: int) -> list[Any]:
    """Nothing but one channel of one value."""
    masks = [np.zeros(channel_count(value.type), bool) for value in values]
    masks[which][channel] = True
    return masks


@pytest.mark.parametrize(("op", "shapes"), CASES.values(), ids=CASES)
def test_a_rule_reads_every_channel_that_a_result_depends_on(
    op: Any, shapes: tuple[tuple[int, ...], ...]
) -> None:
    graph, node = node_of(op, shapes)
    rule = rule_of(node, graph)
    random = np.random.default_rng(1)
    before = [random.integers(-30, 31, shape).astype(np.int8) for shape in shapes]
    wanted = results(graph, node, before)
    for operand, value in enumerate(node.inputs):
        for channel in range(channel_count(value.type)):
            changed = [array.copy() for array in before]
            place = (..., channel) if value.type.rank else ()
            changed[operand][place] = 100 - changed[operand][place]
            after = results(graph, node, changed)
            for which, (old, new) in enumerate(zip(wanted, after, strict=True)):
                flat = (old != new).reshape(-1, channel_count(node.outputs[which].type))
                for touched in np.flatnonzero(flat.any(axis=0)):
                    read = rule.reads(masks_of(node.outputs, which, int(touched)))[operand]
                    assert read is not None
                    assert read.shape == (channel_count(value.type),)
                    assert read[channel]


@pytest.mark.parametrize(("op", "shapes"), CASES.values(), ids=CASES)
def test_masks_have_an_entry_for_every_channel(
    op: Any, shapes: tuple[tuple[int, ...], ...]
) -> None:
    graph, node = node_of(op, shapes)
    rule = rule_of(node, graph)
    counts = [channel_count(value.type) for value in node.inputs]
    for which, value in enumerate(node.outputs):
        for channel in range(channel_count(value.type)):
            wanted = masks_of(node.outputs, which, channel)
            read = rule.reads(wanted)
            assert [None if mask is None else len(mask) for mask in read] == counts
            kept = rule.follows(read, wanted)
            assert [len(mask) for mask in kept] == [channel_count(v.type) for v in node.outputs]
            assert kept[which][channel]


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [("110001", "110001"), ("010010", "010010"), ("000001", "100001"), ("111111", "111111")],
)
def test_of_a_constant_that_is_joined_a_channel_is_left(wanted: str, kept: str) -> None:
    """Four channels of a constant in front of two of an input."""
    builder = GraphBuilder()
    parts = builder.constant(np.ones((1, 4), np.int8), UNIT), builder.input(unit(1, 2))
    graph = builder.finish(builder.add(Concatenation(1), *parts))
    asked = np.array([each == "1" for each in wanted])
    (found,) = rule_of(builder.nodes[-1], graph).follows([None, asked[4:]], [asked])
    assert "".join("01"[int(each)] for each in found) == kept


@dataclass(frozen=True)
class Around(Add):
    """A sum that says it runs a graph."""

    def inner_graphs(self) -> tuple[Graph, ...]:
        return (node_of(Add(), ((2,), (2,)))[0],)


@pytest.mark.parametrize(
    ("op", "shapes", "is_whole"),
    [
        (Add(), ((1, 4), (1, 4)), False), (Add(), ((0, 4), (0, 4)), True),
        (Around(), ((1, 4), (1, 4)), True), (Around(), ((0,), (0,)), True),
        (Concatenation(1), ((1, 4), (1, 3)), False), (Concatenation(1), ((1, 4), (1, 0)), True),
    ],
)  # fmt: skip
def test_what_is_empty_or_runs_a_graph_keeps_all_channels(
    op: Any, shapes: tuple[tuple[int, ...], ...], is_whole: bool
) -> None:
    graph, node = node_of(op, shapes)
    assert (type(rule_of(node, graph)) is ChannelRule) == is_whole


def test_layers_without_a_constant_channel_are_left_without_a_look_at_their_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """These may be megabytes."""

    def widened(*_: object) -> None:
        raise AssertionError("its weights are widened")

    monkeypatch.setattr(fold_constant_channels, "_Layer", widened)
    builder = GraphBuilder()
    weights = builder.constant(np.ones((4, 5), np.int8), UNIT)
    bias = builder.constant(np.zeros(4, np.int32), UNIT)
    y = builder.add(FullyConnected(), builder.input(unit(2, 5), "x"), weights, bias)
    graph = builder.finish(y)
    assert fold_constant_channels.run(graph) is graph
