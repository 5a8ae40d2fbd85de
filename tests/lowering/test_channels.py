"""Which channels go from which graph: constants into biases, unread ones out, and where they stay.

Every case compares all bytes before and after; what is asserted besides is what should be left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Constant
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.lowering import fold_constant_channels, remove_unread_channels, simplify
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.elementwise import Add
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose_conv import TransposeConv2D
from tests.ir.graphs import GraphBuilder, int8
from tests.lowering.channel_graphs import simplified, started
from tests.lowering.layers import FAR, UNIT, computing, conv, data, dense, depthwise, shapes, unit

LIVELY, SATURATED, FLAT = [1, 1], [1, -1], [0, 0]


def test_a_constant_channel_goes_into_the_bias_of_its_reader() -> None:
    b, x = started()
    hidden = conv(b, x, [LIVELY, SATURATED, FLAT], [0, FAR, 5])
    after = simplified(b, conv(b, hidden, [[1, -1, 3]], [10]))
    assert shapes(after) == [(1, 3, 3, 1), (1, 3, 3, 1)]
    assert data(after, computing(after)[1], 2).tolist() == [10 - 127 + 3 * 5]


def test_a_channel_that_only_meets_weights_of_zero_goes_with_all_that_makes_it() -> None:
    b, x = started()
    first = conv(b, x, [[1, 0], [0, 1], [1, 1]], [0, 0, 0])
    second = depthwise(b, first, [[[1, 2, 3]]], [0, 0, 0])
    after = simplified(b, conv(b, second, [[0, 0, 1], [0, 0, 2]], [0, 0]))
    assert shapes(after) == [(1, 3, 3, 1), (1, 3, 3, 1), (1, 3, 3, 2)]
    assert data(after, computing(after)[0], 1).tolist() == [[[[1, 1]]]]
    assert data(after, computing(after)[1], 1).tolist() == [[[[3]]]]


@pytest.mark.parametrize(("constant", "left"), [(0, 1), (9, 2)])
def test_in_front_of_padding_only_the_zero_point_is_folded(constant: int, left: int) -> None:
    """Any other constant counts 0 where the window reaches outside the image."""
    b, x = started()
    hidden = conv(b, x, [LIVELY, FLAT], [0, constant])
    weights = np.ones((1, 3, 3, 2))
    after = simplified(b, conv(b, hidden, weights, [0], padding=(1, 1, 1, 1)))
    assert shapes(after) == [(1, 3, 3, left), (1, 3, 3, 1)]


def test_a_constant_that_is_the_zero_point_of_its_own_type_needs_no_bias() -> None:
    b, x = started()
    hidden = conv(b, x, [LIVELY, FLAT], [0, 0], zero_point=-7)
    after = simplified(b, conv(b, hidden, np.ones((1, 2, 2, 2)), [4], padding=(1, 1, 0, 0)))
    assert shapes(after) == [(1, 3, 3, 1), (1, 3, 3, 1)]
    assert data(after, computing(after)[1], 2).tolist() == [4]


def test_a_constant_channel_of_an_output_stays_but_needs_nothing() -> None:
    """Outputs keep their shapes; what the channel used to read is not read any more."""
    b, x = started()
    hidden = conv(b, x, [[1, 0], [0, 1]], [0, 0])
    after = simplified(b, conv(b, hidden, [[1, 0], [1, 1]], [0, -FAR]))
    assert shapes(after) == [(1, 3, 3, 1), (1, 3, 3, 2)]
    assert data(after, computing(after)[1], 1).reshape(2, 1).tolist() == [[1], [0]]


def test_both_sides_of_a_residual_lose_the_same_channels() -> None:
    """Channel 1 is read by nobody, channel 2 only in one of the summands: that one stays."""
    b, x = started()
    trunk = conv(b, x, [[1, 0], [0, 1], [0, 0]], [0, 0, 3])
    branch = conv(b, trunk, [[1, 1, 0], [1, 0, 0], [2, 0, 0]], [0, 0, 0])
    total = b.add(Add(), trunk, branch, like=unit())
    after = simplified(b, conv(b, total, [[1, 0, 1]], [0]))
    assert [node.op.name for node in computing(after)] == ["conv_2d", "conv_2d", "add", "conv_2d"]
    trunk_shape, branch_shape, sum_shape, _ = shapes(after)
    assert trunk_shape == branch_shape == sum_shape
    assert sum_shape[3] == 3  # the branch reads channel 1 of the trunk


def test_a_residual_without_readers_elsewhere_shrinks_on_both_sides() -> None:
    b, x = started()
    trunk = conv(b, x, [[1, 0], [0, 1], [1, 1]], [0, 0, 0])
    branch = conv(b, trunk, [[1, 0, 1], [1, 0, 0], [2, 0, 0]], [0, 0, 0])
    total = b.add(Add(), trunk, branch, like=unit())
    after = simplified(b, conv(b, total, [[1, 0, 1]], [0]))
    assert shapes(after) == [(1, 3, 3, 2), (1, 3, 3, 2), (1, 3, 3, 2), (1, 3, 3, 1)]


def test_several_readers_keep_what_any_of_them_needs() -> None:
    b, x = started()
    hidden = conv(b, x, [[1, 0], [0, 1], [1, 1], [2, 1]], [0, 0, 0, 0])
    left = conv(b, hidden, [[1, 0, 0, 0]], [0])
    right = depthwise(b, conv(b, hidden, [[0, 0, 1, 0]], [0]), [[[2]]], [0])
    after = simplified(b, left, right)
    assert shapes(after)[0] == (1, 3, 3, 2)


def test_weights_that_layers_share_stay_whole() -> None:
    """Two slices of one constant would be two constants."""
    b, x = started()
    hidden = conv(b, x, [LIVELY, FLAT], [0, 5])
    w = b.constant(np.array([[[[1, 2]]], [[[3, 4]]]], np.int8), UNIT)
    biases = [b.constant(np.full(2, start, np.int32)) for start in (0, 1)]
    pairs = zip((hidden, x), biases, strict=True)
    values = [b.add(Conv2D(), v, w, bias, like=unit()) for v, bias in pairs]
    after = simplified(b, *values)
    assert shapes(after)[0] == (1, 3, 3, 2)
    layers = [node for node in computing(after) if node.output.name in {v.name for v in values}]
    assert layers[0].inputs[1] is layers[1].inputs[1]


def test_layers_that_share_a_bias_alone_lose_their_channels() -> None:
    b, x = started()
    hidden = conv(b, x, [LIVELY, FLAT], [0, 5])
    bias = b.constant(np.zeros(2, np.int32))
    values = []
    for v, weights in ((hidden, [[1, 2], [3, 4]]), (x, [[1, 2], [3, 5]])):
        w = b.constant(np.array(weights, np.int8)[:, np.newaxis, np.newaxis], UNIT)
        values.append(b.add(Conv2D(), v, w, bias, like=unit()))
    after = simplified(b, *values)
    assert shapes(after) == [(1, 3, 3, 1), (1, 3, 3, 2), (1, 3, 3, 2)]


def test_a_layer_whose_bias_is_computed_stays() -> None:
    b = GraphBuilder()
    x = b.input(unit(1, 2))
    bias = b.input(TensorType((1,), ElementType.I32), "bias")
    hidden = dense(b, x, [LIVELY, FLAT], [0, 20])
    w = b.constant(np.array([[1, 1]], np.int8), UNIT)
    graph = b.finish(b.add(FullyConnected(), hidden, w, bias, like=unit()))
    assert simplify.run(graph) is graph


def test_each_result_reads_its_own_channels_and_keeps_its_scale() -> None:
    """Behind it the first result, which alone reads the first channel, is not read."""
    b = GraphBuilder()
    x = b.input(unit(1, 2))
    hidden = dense(b, x, [[1, 0], [0, 1], [1, 1]], [0, 0, 0])
    quantization = Quantization((0.5, 0.25, 0.125), (0, 0, 0), 0)
    w = b.constant(np.array([[5, 0, 0], [0, 2, 0], [0, 0, 0]], np.int8), quantization)
    y = b.add(FullyConnected(), hidden, w, b.constant(np.array([1, 2, 3], np.int32)), like=unit())
    after = remove_unread_channels.run(b.finish(dense(b, y, [[0, 1, 1]], [0])))
    assert shapes(after) == [(1, 1), (1, 2), (1, 1)]
    weights = computing(after)[1].inputs[1].type
    assert weights.quantization == Quantization((0.25, 0.125), (0, 0), 0)


def test_what_is_made_of_constants_alone_stays() -> None:
    b, x = started()
    stored = b.constant(np.ones((9, 2), np.int8), UNIT)
    made = b.add(Reshape((1, 3, 3, 2)), stored)
    graph = b.finish(conv(b, made, [[1, 0]], [0]), conv(b, x, [[1, 0]], [0]))
    assert remove_unread_channels.run(graph) is graph


def test_a_bias_without_room_folds_nothing() -> None:
    b, x = started()
    hidden = conv(b, x, [LIVELY, FLAT], [0, 100])
    full = 2**31 - 200
    after = simplified(b, conv(b, hidden, [[1, 100], [1, -100]], [full, full]))
    reader = computing(after)[-1]
    assert shapes(after)[0] == (1, 3, 3, 2)
    assert data(after, reader, 2)[0] == full


@pytest.mark.parametrize("zero_point", [-5, 0, 7])
def test_weights_with_a_zero_point_are_zero_where_they_store_it(zero_point: int) -> None:
    b = GraphBuilder()
    x = b.input(unit(1, 3))
    hidden = dense(b, x, [[1, 0, 2], [0, 1, 1], [0, 0, 0]], [0, 0, 20])
    stored = np.array([[3, 0, 2], [1, 0, 4]]) + zero_point
    after = simplified(b, dense(b, hidden, stored, [0, 0], weights_zero_point=zero_point))
    assert shapes(after) == [(1, 1), (1, 2)]
    assert data(after, computing(after)[1], 1).tolist() == (stored[:, :1]).tolist()
    assert data(after, computing(after)[1], 2).tolist() == [40, 80]


def test_flattened_channels_go_from_every_pixel() -> None:
    b, x = started()
    hidden = conv(b, x, [[1, 0], [0, 1], [1, 1]], [0, 0, FAR])
    flat = b.add(Reshape((1, 27)), hidden)
    weights = np.arange(54).reshape(2, 9, 3) % 5 - 2
    weights[:, :, 1] = 0
    after = simplified(b, dense(b, flat, weights.reshape(2, 27), [0, 0]))
    assert shapes(after) == [(1, 3, 3, 1), (1, 9), (1, 2)]
    assert (data(after, computing(after)[2], 1) == weights[:, :, 0]).all()


def test_a_channel_that_one_pixel_needs_stays_everywhere() -> None:
    b, x = started()
    hidden = conv(b, x, [[1, 0], [0, 1]], [0, 0])
    weights = np.zeros((1, 9, 2))
    weights[0, :, 0], weights[0, 4, 1] = 1, 1
    after = simplified(b, dense(b, b.add(Reshape((1, 18)), hidden), weights.reshape(1, 18), [0]))
    assert shapes(after) == [(1, 3, 3, 2), (1, 18), (1, 1)]


def test_channels_of_one_depthwise_input_go_together_or_stay_together() -> None:
    b, x = started()
    hidden = conv(b, x, [[1, 0], [0, 1], [1, 1]], [0, 0, 0])
    wide = depthwise(b, hidden, [[[1, 2, 3, 4, 5, 6]]], [0] * 6)
    after = simplified(b, conv(b, wide, [[1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1]], [0, 0]))
    assert shapes(after) == [(1, 3, 3, 2), (1, 3, 3, 4), (1, 3, 3, 2)]
    assert data(after, computing(after)[1], 1).reshape(-1).tolist() == [1, 2, 5, 6]


def test_a_depthwise_input_channel_is_read_by_any_of_its_results() -> None:
    """Of the second input channel only the second result is read, which is not the first of it."""
    b, x = started()
    hidden = conv(b, x, [[1, 0], [0, 1], [1, 1]], [0, 0, 0])
    wide = depthwise(b, hidden, [[[1, 2, 3, 4, 5, 6]]], [0] * 6)
    after = simplified(b, conv(b, wide, [[0, 0, 0, 4, 0, 0]], [0]))
    assert shapes(after) == [(1, 3, 3, 1), (1, 3, 3, 2), (1, 3, 3, 1)]
    assert data(after, computing(after)[0], 1).reshape(-1).tolist() == [0, 1]
    assert data(after, computing(after)[1], 1).reshape(-1).tolist() == [3, 4]


def test_softmax_sees_all_of_its_channels() -> None:
    b, x = started()
    hidden = conv(b, x, [LIVELY, FLAT, SATURATED], [0, 9, -FAR])
    y = b.add(Softmax(), hidden, like=int8(scale=1 / 256, zero_point=-128))
    after = simplified(b, conv(b, y, [[0, 1, 0]], [0]))
    assert shapes(after)[0] == (1, 3, 3, 3)


def test_groups_stay_as_they_are() -> None:
    b, x = started(4)
    w = b.constant(np.array([[1, 0], [0, 0], [0, 1], [2, 3]], np.int8).reshape(4, 1, 1, 2), UNIT)
    y = b.add(Conv2D(), x, w, b.constant(np.array([0, FAR, 0, 0], np.int32)), like=unit())
    after = simplified(b, conv(b, y, [[1, 1, 0, 1]], [0]))
    assert shapes(after)[0] == (1, 3, 3, 4)


def test_a_transposed_convolution_takes_part() -> None:
    b, x = started()
    hidden = conv(b, x, [LIVELY, FLAT, [2, 1]], [0, 0, 0])
    w = b.constant(np.ones((2, 2, 2, 3), np.int8), UNIT)
    up = b.add(TransposeConv2D((6, 6), (2, 2)), hidden, w,
               b.constant(np.array([0, FAR], np.int32)), like=unit())  # fmt: skip
    after = simplified(b, conv(b, up, [[1, 1]], [0]))
    assert shapes(after) == [(1, 3, 3, 2), (1, 6, 6, 1), (1, 6, 6, 1)]


def test_sixteen_bits_are_simplified_too() -> None:
    b = GraphBuilder()
    wide = TensorType((1, 3), ElementType.I16, Quantization((1.0,), (0,)))
    x = b.input(wide)

    def layer(x: Value, weights: Any, bias: Any) -> Value:
        w = b.constant(np.array(weights, np.int8), UNIT)
        return b.add(FullyConnected(), x, w, b.constant(np.array(bias, np.int64)), like=wide)

    hidden = layer(x, [[1, 0, 2], [0, 1, 1], [0, 0, 0]], [0, 2**30, 20])
    graph = b.finish(layer(hidden, [[1, 1, 1]], [0]))
    after = simplify.run(graph)
    assert shapes(after) == [(1, 1), (1, 1)]
    assert data(after, computing(after)[1], 2).tolist() == [32767 + 20]


def test_a_bias_of_64_bits_without_room_folds_nothing() -> None:
    b = GraphBuilder()
    wide = TensorType((1, 2), ElementType.I16, Quantization((1.0,), (0,)))
    x = b.input(wide)

    def layer(x: Value, weights: Any, bias: list[int]) -> Value:
        w = b.constant(np.array(weights, np.int8), UNIT)
        return b.add(FullyConnected(), x, w, b.constant(np.array(bias, np.int64)), like=wide)

    hidden = layer(x, [LIVELY, FLAT], [0, 20])
    graph = b.finish(layer(hidden, [[1, 1], [1, 1]], [2**62, 2**62 - 1]))
    after = fold_constant_channels.run(graph)
    assert data(after, computing(after)[1], 2).tolist() == [2**62, 2**62 - 1 + 20]
    assert data(after, computing(after)[1], 1).tolist() == [[1, 1], [1, 0]]


def test_a_layer_that_keeps_all_channels_stays_the_same_node() -> None:
    b, x = started()
    hidden = conv(b, x, [[1, 0], [0, 1]], [0, 0])
    whole = conv(b, x, [LIVELY], [0])
    graph = b.finish(conv(b, hidden, [[1, 0]], [0]), whole)
    after = remove_unread_channels.run(graph)
    assert shapes(after) == [(1, 3, 3, 1), (1, 3, 3, 1), (1, 3, 3, 1)]
    assert after.producers[whole] is graph.producers[whole]


def test_nothing_happens_to_a_float_network() -> None:
    """0 * x is not 0 for every x."""
    b = GraphBuilder()
    real = TensorType((1, 2), ElementType.F32)
    x = b.input(real)
    for weights in ([[1, 0], [0, 0]], [[1, 0], [0, 1]]):
        w, bias = (b.constant(np.array(c, np.float32)) for c in (weights, [0, 1]))
        x = b.add(FullyConnected(), x, w, bias)
    graph = b.finish(x)
    assert simplify.run(graph) is graph


@pytest.mark.parametrize("run_pass", [fold_constant_channels.run, remove_unread_channels.run])
def test_a_graph_without_layers_is_handed_back(run_pass: Any) -> None:
    b, x = started()
    graph = b.finish(b.add(Softmax(), x, like=int8(scale=1 / 256, zero_point=-128)))
    assert run_pass(graph) is graph


@pytest.mark.parametrize(
    ("weight", "bias", "folded"),
    [
        (3, 2**31 - 1 - 6, 2**31 - 1), (3, 2**31 - 6, None), (-3, -(2**31) + 6, -(2**31)),
        (-3, -(2**31) + 5, None), (3, 0, 6), (0, 7, None),
    ],
)  # fmt: skip
def test_a_constant_is_folded_where_the_bias_has_room(
    weight: int, bias: int, folded: int | None
) -> None:
    """The first channel is always 2; the second one is anything."""
    b = GraphBuilder()
    dense(b, b.input(unit(1, 2)), [[weight, 1]], [bias])
    node = b.nodes[-1]
    assert isinstance(node.op, FullyConnected)
    layer = fold_constant_channels._Layer(
        node, node.op, np.array([[weight, 1]], np.int8), np.array([bias], np.int32)
    )
    layer.fold_constant_operands(ValueRange(np.array([2, -128]), np.array([2, 127])))
    assert layer.changed == (folded is not None)
    weights, biases, _ = layer.nodes()
    assert isinstance(weights.op, Constant)
    assert isinstance(biases.op, Constant)
    assert weights.op.data.tolist() == [[weight if folded is None else 0, 1]]
    assert biases.op.data.tolist() == [bias if folded is None else folded]
