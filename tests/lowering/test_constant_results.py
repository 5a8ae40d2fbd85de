"""Layers of which nothing is left, and limits that are never reached."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.ir.graph import Graph, Value
from glowmcu.lowering import drop_redundant_clamps, replace_constant_results, simplify
from glowmcu.ops.activation import Clip
from glowmcu.ops.elementwise import Add, Maximum, Minimum
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.lookup import Lookup
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.pooling import MaxPool2D
from glowmcu.ops.shape import Reshape
from tests.ir.graphs import GraphBuilder, int8
from tests.lowering.channel_graphs import expect_same_bytes
from tests.lowering.layers import FAR, UNIT, computing, conv, depthwise, shapes, unit

BYTES = np.arange(256, dtype=np.uint8).view(np.int8)


def started(size: int = 3) -> tuple[GraphBuilder, Value]:
    b = GraphBuilder()
    return b, b.input(unit(1, size, size, 2))


def after_all(graph: Graph) -> Graph:
    after = simplify.run(graph)
    expect_same_bytes(graph, after)
    return after


def names(graph: Graph) -> list[str]:
    return [node.op.name for node in computing(graph)]


def test_an_output_that_never_changes_is_a_constant() -> None:
    b, x = started()
    after = after_all(b.finish(conv(b, x, [[1, 2], [3, 4]], [FAR, -FAR])))
    assert names(after) == []


def test_softmax_of_constants_is_a_constant() -> None:
    b, x = started()
    logits = conv(b, x, [[0, 0], [0, 0]], [3, 9])
    y = b.add(Softmax(), logits, like=int8(scale=1 / 256, zero_point=-128))
    assert names(after_all(b.finish(y))) == []


def test_a_large_constant_is_computed_from_one_channel() -> None:
    """900 bytes of flash for 12 would be a bad bargain."""
    b, x = started(30)
    hidden = conv(b, x, [[1, 1], [2, 1]], [0, 0])
    after = after_all(b.finish(conv(b, hidden, [[1, 1]], [FAR])))
    assert names(after) == ["conv_2d", "conv_2d"]
    assert shapes(after) == [(1, 30, 30, 1), (1, 30, 30, 1)]


def test_a_constant_that_only_elementwise_operators_read_is_stored_once_a_channel() -> None:
    b, x = started(30)
    constant = conv(b, x, [[1, 1], [2, 1]], [FAR, 7 * FAR])
    after = after_all(b.finish(b.add(Add(), x, constant, like=unit(zero_point=-100))))
    assert names(after) == ["add"]
    (add,) = computing(after)
    assert add.inputs[1].type.shape == (1, 1, 1, 2)


def test_two_constant_operands_do_not_both_become_one_pixel() -> None:
    b, x = started(30)
    one, two = (conv(b, x, [[1, 1], [2, 1]], [far, far]) for far in (FAR, -FAR))
    total = b.add(Add(), one, two, like=unit())
    after = after_all(b.finish(total, b.add(Add(), x, total, like=unit(zero_point=5))))
    assert after.outputs[0].type.shape == (1, 30, 30, 2)


def test_padding_around_a_constant_is_no_constant() -> None:
    b, x = started()
    constant = conv(b, x, [[0, 0]], [9])
    y = conv(b, constant, np.ones((1, 3, 3, 1)), [0], padding=(1, 1, 1, 1))
    after = after_all(b.finish(y))
    assert names(after) == ["conv_2d"]


def test_a_network_of_constants_ends_in_one() -> None:
    b, x = started()
    x = conv(b, x, [[1, 1], [2, 1]], [FAR, -FAR])
    x = depthwise(b, x, [[[1, 2]]], [0, 0])
    x = b.add(MaxPool2D((2, 2)), x)
    x = b.add(Concatenation(3), x, x)
    x = b.add(Reshape((1, 16)), x)
    assert names(after_all(b.finish(x))) == []


def test_an_input_and_a_constant_may_both_be_outputs() -> None:
    b, x = started()
    graph = b.finish(conv(b, x, [[0, 0]], [4]), conv(b, x, [[1, 1]], [0]))
    assert names(after_all(graph)) == ["conv_2d"]


def test_a_graph_of_live_values_is_handed_back() -> None:
    b, x = started()
    graph = b.finish(conv(b, x, [[1, 1]], [0]))
    assert replace_constant_results.run(graph) is graph
    assert drop_redundant_clamps.run(graph) is graph


def narrow(b: GraphBuilder, x: Value) -> Value:
    """Two channels, in [-20, 30] and in [5, 30]."""
    return conv(b, x, [[1, 0], [0, 1]], [0, 128 + 5], clamp=(-20, 30))


@pytest.mark.parametrize(
    ("clamp", "left"),
    [
        ((-20, 60), None),
        ((-19, 60), (-19, 127)),
        ((-128, 59), (-128, 59)),
        ((-20, 59), (-128, 59)),
        ((10, 20), (10, 20)),
    ],
)
def test_a_clamp_is_as_wide_as_makes_no_difference(clamp: Any, left: Any) -> None:
    """The sum of two channels in [-10, 30] is in [-20, 60]."""
    b, x = started()
    hidden = conv(b, x, [[1, 0], [0, 1]], [0, 0], clamp=(-10, 30))
    after = after_all(b.finish(conv(b, hidden, [[1, 1]], [0], clamp=clamp)))
    assert computing(after)[-1].op.clamp == left  # type: ignore[attr-defined]


NO_OPS: dict[str, Any] = {
    "table": lambda b, x: b.add(Lookup(np.maximum(BYTES, np.int8(-20))), x),
    "clip": lambda b, x: b.add(Clip((-20, 30)), x),
    "maximum": lambda b, x: b.add(Maximum(), x, b.constant(np.int8([-20, 5]), UNIT)),
    "minimum": lambda b, x: b.add(Minimum(), b.constant(np.int8([[[[30, 127]]]]), UNIT), x,
                                  like=unit()),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_OPS)
def test_what_hands_on_every_value_that_comes_is_no_node(name: str) -> None:
    b, x = started()
    y = conv(b, NO_OPS[name](b, narrow(b, x)), [[1, 1]], [0])
    assert names(after_all(b.finish(y))) == ["conv_2d", "conv_2d"]


BINDING: dict[str, Any] = {
    "table": lambda b, x: b.add(Lookup(np.maximum(BYTES, np.int8(-19))), x),
    "clip": lambda b, x: b.add(Clip((-20, 29)), x),
    "maximum": lambda b, x: b.add(Maximum(), x, b.constant(np.int8([-20, 6]), UNIT)),
    "minimum": lambda b, x: b.add(Minimum(), x, b.constant(np.int8([29, 29]), UNIT)),
}


@pytest.mark.parametrize("name", BINDING)
def test_what_changes_a_single_value_stays(name: str) -> None:
    b, x = started()
    y = conv(b, BINDING[name](b, narrow(b, x)), [[1, 1]], [0])
    assert len(names(after_all(b.finish(y)))) == 3


def test_an_output_keeps_its_node_and_its_name() -> None:
    b, x = started()
    y = b.add(Clip((-128, 127)), conv(b, x, [[1, 1]], [0]), name="probabilities")
    after = after_all(b.finish(y))
    assert [value.name for value in after.outputs] == ["probabilities"]
    assert names(after) == ["conv_2d", "clip"]
