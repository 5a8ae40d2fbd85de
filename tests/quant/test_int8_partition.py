"""Which nodes become int8: by their operands, by their names, and by what is around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.activation import Relu
from glowmcu.ops.elementwise import Add, Mul
from glowmcu.ops.gather import Gather
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.scan import ArgMax, CumSum
from glowmcu.ops.shape import Reshape
from glowmcu.quant.int8_partition import (
    border_nodes,
    choose_int8_nodes,
    is_real,
    nodes_named,
    why_float,
)
from glowmcu.quant.mask_values import possible_values
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import RELU, draw, real


class Chain:
    """Nodes one behind the other, each named by itself; `with_all` outputs are shown besides."""

    def __init__(self) -> None:
        self.graph = GraphBuilder()
        self.last = self.x = self.graph.input(real(1, 4), "x")

    def __call__(self, op: Any, name: str, *others: Any) -> Chain:
        operands = [
            each if isinstance(each, Value) else self.graph.constant(each, name=f"{name}.c")
            for each in others
        ]
        self.last = self.graph.add(op, self.last, *operands, name=name, like=real(1))
        return self

    def dense(self, name: str, weights: Any = None) -> Chain:
        w = draw(1, 4, self.last.type.shape[-1]) if weights is None else weights
        return self(FullyConnected(), name, w, np.zeros(4, np.float32))

    def finish(self) -> Graph:
        return self.graph.finish(self.last)


def turn(chain: Chain, name: str) -> Chain:
    shape = (4, 1) if chain.last.type.shape == (1, 4) else (1, 4)
    return chain(Reshape(shape), name)


def relu(chain: Chain, name: str) -> Chain:
    return chain(Relu(RELU), name)


def total(chain: Chain, name: str) -> Chain:
    return chain(CumSum(), name)


INF = np.full((4, 4), np.inf, np.float32)
Make = Callable[[Chain], Chain]
#: Networks; which nodes become int8 with an int8 interface, and with a float one.
PARTITIONS: dict[str, tuple[Make, str, str]] = {
    "a layer": (lambda c: c.dense("d"), "d", "d"),
    "what moves before a layer": (lambda c: turn(turn(c, "a"), "b").dense("d"), "a b d", "a b d"),
    "what moves and nothing else": (lambda c: turn(turn(c, "a"), "b"), "a b", ""),
    "what moves between float nodes": (lambda c: total(turn(total(c, "s"), "a"), "t"), "", ""),
    "what moves at the input": (lambda c: total(turn(c, "a"), "s"), "", ""),
    "what moves behind a layer": (lambda c: total(turn(c.dense("d"), "a"), "s"), "d a", "d a"),
    "what moves in front of one": (
        lambda c: turn(turn(total(c, "s"), "a"), "b").dense("d"), "a b d", "a b d",
    ),
    "no product at the input": (lambda c: total(relu(c, "r"), "s"), "r", ""),
    "no product at the output": (lambda c: relu(total(c, "s"), "r"), "r", ""),
    "no product between float nodes": (lambda c: total(relu(total(c, "s"), "r"), "t"), "", ""),
    "a product between float nodes": (lambda c: total(total(c, "s").dense("d"), "t"), "d", "d"),
    "no product beside one": (
        lambda c: total(relu(total(c, "s").dense("d"), "r"), "t"), "d r", "d r",
    ),
    "two partitions": (
        lambda c: total(relu(total(c.dense("d"), "s"), "r"), "t").dense("e"), "d e", "d e",
    ),
    "weights of infinity": (lambda c: c.dense("d", INF), "", ""),
    "a factor of infinity": (lambda c: c(Mul(), "m", INF[:1]), "", ""),
    "weights that are none": (
        lambda c: c(FullyConnected(), "d", c.graph.input(real(4, 4), "w"), np.zeros(4, np.float32)),
        "", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTITIONS)
def test_int8_partitions_are_those_that_are_worth_their_conversions(name: str) -> None:
    make, *wanted = PARTITIONS[name]
    graph = make(Chain()).finish()
    for int8_interface, names in zip((True, False), wanted, strict=True):
        rules = choose_int8_nodes(graph, (), (), int8_interface)
        assert [node.name for node in rules] == names.split()


def test_what_is_kept_or_refused_is_a_shore() -> None:
    graph = relu(relu(Chain().dense("d"), "r").dense("e"), "q").finish()
    nodes = {node.name: node for node in graph.nodes}
    for keep, refused, wanted in (
        ((), (), "d r e q"), (("e",), (), "d r q"), (("relu",), (), "d e"), ((), ("d",), "r e q"),
        (("fully_connected",), (), "q"), (("e",), ("d",), "q"),
    ):  # fmt: skip
        found = choose_int8_nodes(graph, keep, [nodes[name] for name in refused], True)
        assert [node.name for node in found] == wanted.split()


def test_each_float_node_says_why() -> None:
    chain = turn(relu(total(Chain().dense("d").dense("w", INF), "s"), "r"), "t")
    graph = total(chain, "u").finish()
    refused = {node: "too large" for node in graph.nodes if node.name == "d"}
    rules = choose_int8_nodes(graph, ("cumsum",), refused, True)
    assert rules == {}
    assert why_float(graph, rules, ("cumsum",), refused) == {
        "d": "fully_connected: too large",
        "w": "fully_connected: a constant operand holds infinity or NaN",
        "s": "cumsum: as was asked for",
        "r": "relu: all around it is float",
        "t": "reshape: all around it is float",
        "u": "cumsum: as was asked for",
    }
    reasons = why_float(graph, rules, (), {})
    assert reasons["s"] == f"cumsum: {CumSum().float_reason}"
    made = choose_int8_nodes(graph, (), {}, True)
    assert why_float(graph, made, (), {}).keys() == {"w", "s", "r", "t", "u"}


def test_nodes_are_named_by_operator_class_node_or_result() -> None:
    graph = relu(Chain().dense("d"), "r").dense("e").finish()
    for name, wanted in (
        ("fully_connected", "d e"), ("Fully_Connected", "d e"), ("FullyConnected", "d e"),
        ("d", "d"), ("r", "r"), ("relu", "r"), ("Relu", "r"),
    ):  # fmt: skip
        assert sorted(node.name for node in nodes_named(graph, [name], "--x")) == wanted.split()
    assert nodes_named(graph, [], "--x") == set()
    with pytest.raises(GlowmcuError) as caught:
        nodes_named(graph, ["d", "fullyconnected", "d.c", "D"], "--x")
    assert [problem.code for problem in caught.value.problems] == ["GM312"] * 3
    assert "--x 'fullyconnected' is neither" in str(caught.value)
    assert "its operators are: fully_connected, relu" in str(caught.value)


def test_a_node_is_real_by_any_operand_or_result() -> None:
    graph = GraphBuilder()
    integers = graph.input(TensorType((2,), ElementType.I32), "i")
    floats = graph.input(real(2), "f")
    whole = graph.add(Add(), integers, integers, name="whole")
    graph.add(Add(), floats, floats, name="part")
    found = {node.name: is_real(node) for node in graph.finish(whole).nodes}
    assert found == {"whole": False, "part": True}


def test_regions_know_the_nodes_around_them() -> None:
    graph = total(relu(total(turn(turn(Chain().dense("d"), "a"), "b"), "s"), "r"), "t").finish()
    moves = [
        (sorted(n.name for n in region), sorted(n.name for n in around))
        for region, around in border_nodes(graph, lambda node: node.name in "abr")
    ]
    assert moves == [(["a", "b"], ["d", "s"]), (["r"], ["s", "t"])]


def test_constants_and_integers_make_nobody_a_neighbour() -> None:
    """A layer with weights, then the places of its largest results, which a gather reads."""
    graph = GraphBuilder()
    x, table = graph.input(real(1, 4), "x"), graph.input(real(4, 2), "table")
    w, b = graph.constant(draw(1, 4, 4)), graph.constant(draw(2, 4))
    y = graph.add(FullyConnected(), x, w, b, name="layer")
    places = graph.add(ArgMax(1), y, name="places", like=TensorType((1,), ElementType.I32))
    picked = graph.add(Gather(0), table, places, name="picked", like=real(1))
    for name, around in (("layer", ["places"]), ("places", ["layer"]), ("picked", [])):
        (found,) = border_nodes(graph.finish(picked), lambda node: node.name == name)  # noqa: B023
        assert [node.name for node in found[1]] == around


def measured(low: float, high: float) -> Callable[[Value], tuple[float, float]]:
    return lambda value: (low, high)


@pytest.mark.parametrize(
    ("span", "wanted"),
    [
        # At both ends of the input, of which 0 and 1 are possible at least, then as it was seen.
        ((0.0, 1.0), [-2.0, 0.0, 0.0, 1.0]), ((1.0, 1.0), [-2.0, 0.0, 1.0, 1.0]),
        ((0.2, 3.0), [-2.0, 4.0, 0.2, 3.0]), ((-1.0, 0.5), [-4.0, -1.0, -1.0, 0.5]),
        ((-1.0, 2.0), [-4.0, 2.0, -1.0, 2.0]), ((-3.0, -2.0), [-8.0, -2.0, -3.0, -2.0]),
    ],
)  # fmt: skip
def test_a_mask_is_evaluated_where_its_input_is_at_either_end(
    span: tuple[float, float], wanted: list[float]
) -> None:
    """(x - 1) * 2"""
    chain = Chain()(Add(), "a", np.float32(-1))(Mul(), "m", np.float32(2))
    graph = chain.finish()
    values = possible_values(graph, chain.last, measured(*span))
    assert {value.name for value in values} == {"m", "a", "x", "m.c", "a.c"}
    found = values[chain.last]
    assert found.size == 10
    assert sorted(set(found.tolist())) == sorted(set(wanted))
    (constant,) = (numbers for value, numbers in values.items() if value.name == "a.c")
    assert set(constant.tolist()) == {-1.0}


def test_what_layers_make_is_no_mask() -> None:
    chain = Chain().dense("d")(Add(), "a", np.float32(-1))
    assert possible_values(chain.finish(), chain.last, measured(0, 1)) == {}
    assert possible_values(chain.finish(), chain.x, measured(0, 1)).keys() == {chain.x}


def test_numbers_that_are_not_finite_are_left_out_and_none_are_no_values() -> None:
    chain = Chain()(Mul(), "m", np.array([np.inf, 2, -np.inf, np.nan], np.float32))
    graph = chain.finish()
    found = possible_values(graph, chain.last, measured(0.5, 1.0))
    assert sorted(set(found[chain.last].tolist())) == [0.0, 0.5, 1.0, 2.0]
    other = Chain()(Mul(), "m", np.float32(np.inf))
    assert possible_values(other.finish(), other.last, measured(0.5, 1.0)) == {}


def test_softmax_is_the_end_of_all_that_is_int8() -> None:
    graph = total(Chain().dense("d")(Softmax(), "p"), "s").finish()
    assert [node.name for node in choose_int8_nodes(graph, (), (), False)] == ["d", "p"]
