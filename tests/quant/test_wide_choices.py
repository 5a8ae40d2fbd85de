"""Which nodes are int16 without being named, and the scales that int16 has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from glowmcu.ir.graph import Graph, State, Value
from glowmcu.ops.activation import Relu
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.moments import MeanVarianceNormalization
from glowmcu.ops.reduction import Mean
from glowmcu.ops.shape import Reshape
from glowmcu.ops.wide import fixed_wide_parameters
from glowmcu.quant.int8_partition import choose_int8_nodes
from glowmcu.quant.schemas import Schema
from glowmcu.quant.wide import (
    choose_sample_parameters,
    choose_wide_nodes,
    choose_wide_parameters,
)
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import draw, real

POWER = Schema.SYMMETRIC_WITH_POWER2_SCALE


class Building(GraphBuilder):
    """Nodes by their names."""

    def made(self, name: str, op: Any, *operands: Value) -> Value:
        return self.add(op, *operands, name=name, like=real(1))

    def dense(self, name: str, x: Value) -> Value:
        w, b = self.constant(draw(1, 4, 4)), self.constant(draw(2, 4))
        return self.made(name, FullyConnected(), x, w, b)


def wide(graph: Graph, names: tuple[str, ...] = (), refused: str = "") -> list[str]:
    rules = choose_int8_nodes(graph, (), (), True)
    kept = {node: "no" for node in graph.nodes if node.name in refused.split()}
    found = choose_wide_nodes(graph, rules, names, kept)
    return [node.name for node in graph.nodes if node in found]


def block() -> Graph:
    """A layer, sums and a product around a normalization, and a sum behind another layer."""
    b = Building()
    x = b.input(real(1, 4), "x")
    total = b.made("sum", Add(), b.dense("in", x), x)
    normal = b.made("normal", MeanVarianceNormalization(), total)
    scaled = b.made("scaled", Mul(), normal, b.constant(draw(3, 4)))
    moved = b.made("moved", Sub(), scaled, b.constant(draw(4, 4)))
    middle = b.made("middle", Mean((1,), True), moved)
    inner = b.dense("inner", b.made("relu", Relu((0.0, 6.0)), moved))
    return b.finish(b.made("far", Add(), inner, inner), middle)


def test_what_is_joined_to_a_normalization_is_int16_and_layers_are_not() -> None:
    graph = block()
    assert wide(graph) == ["sum", "normal", "scaled", "moved", "middle"]
    assert wide(graph, refused="scaled") == ["sum", "normal", "moved", "middle"]
    assert wide(graph, ("inner",)) == ["sum", "normal", "scaled", "moved", "middle", "inner"]
    everything = [node.name for node in graph.nodes if node.inputs]
    assert wide(graph, ("all",)) == everything
    assert wide(graph, ("all",), "relu") == [name for name in everything if name != "relu"]


def test_what_stays_float_is_not_int16() -> None:
    graph = block()
    rules = choose_int8_nodes(graph, ("scaled", "middle"), (), True)
    found = choose_wide_nodes(graph, rules, (), {})
    assert [node.name for node in graph.nodes if node in found] == ["sum", "normal", "moved"]


def test_without_a_normalization_sums_are_int8() -> None:
    b = Building()
    x = b.input(real(1, 4), "x")
    graph = b.finish(b.made("sum", Add(), b.dense("in", x), x))
    assert wide(graph) == []


@pytest.mark.parametrize(
    ("around", "moves"),
    [((True, True), True), ((True, False), False), ((False, True), False), ((False, False), False)],
)
def test_what_moves_elements_between_int16_is_int16(around: tuple[bool, bool], moves: bool) -> None:
    b = Building()
    x = b.dense("first", b.input(real(1, 4), "x"))
    turned = b.made("turned", Reshape((4, 1)), x)
    graph = b.finish(b.dense("last", b.made("back", Reshape((1, 4)), turned)))
    names = tuple(name for name, is_wide in zip(("first", "last"), around, strict=True) if is_wide)
    inner = ("turned", "back") if moves else ()
    assert wide(graph, names) == [
        name for name in ("first", *inner, "last") if name in names + inner
    ]
    assert "turned" not in wide(graph, names, "turned")


@pytest.mark.parametrize(
    ("way", "names"),
    [
        ("a running sum", ["kept"]), ("through a shape", ["kept", "left"]),
        ("through a layer", []), ("of something else", []),
    ],
)  # fmt: skip
def test_a_state_that_is_made_of_itself_is_int16(way: str, names: list[str]) -> None:
    b = Building()
    x, state = b.input(real(1, 4), "x"), b.input(real(1, 4), "state")
    other = b.dense("in", x)
    if way == "a running sum":
        new = b.made("kept", Add(), state, other)
    elif way == "through a shape":
        left = b.made("left", Mul(), b.made("shape", Reshape((1, 4)), state), other)
        new = b.made("kept", Add(), left, other)
    elif way == "through a layer":
        new = b.made("kept", Add(), b.dense("forgets", state), other)
    else:
        new = b.made("kept", Add(), other, other)
    y = b.made("y", Relu((0.0, 6.0)), b.made("beside", Add(), state, other))
    graph = b.finish(y, new)
    graph = replace(graph, states=(State(state, np.zeros((1, 4), np.float32)),))
    assert sorted(set(wide(graph)) - {"shape"}) == names


@pytest.mark.parametrize(
    ("low", "high", "largest"),
    [(-1.0, 1.0, 1.0), (-3.0, 1.0, 3.0), (0.0, 2.5, 2.5), (-2.0, -1.0, 2.0)],
)
def test_int16_spans_what_was_seen_around_zero(low: float, high: float, largest: float) -> None:
    found = choose_wide_parameters(low, high, Schema.ASYMMETRIC)
    assert (found.scales, found.zero_points) == ((float(np.float32(largest / 32767)),), (0,))
    power = choose_wide_parameters(low, high, POWER).scales[0]
    assert np.log2(power) == np.rint(np.log2(power))
    assert found.scales[0] <= power < 2 * found.scales[0]
    assert choose_wide_parameters(0.0, 0.0, Schema.ASYMMETRIC).scales == (1.0,)


@pytest.mark.parametrize(
    ("low", "high", "unit"),
    [
        (-0.1, 0.1, -15), (-1.0, 1.0, -15), (-1.001, 0.5, -14), (0.0, 1.9, -14), (0.0, 2.0, -13),
        (-255.0, 200.0, -7), (0.0, 256.0, -6), (0.0, 256.5, 0), (-32767.0, 9.0, 0),
        (-32768.0, 9.0, 1), (0.0, 70000.0, 2),
    ],
)  # fmt: skip
def test_samples_are_fractions_or_whole_numbers(low: float, high: float, unit: int) -> None:
    found = choose_sample_parameters(low, high)
    assert (found.scales, found.zero_points) == ((2.0**unit,), (0,))


@pytest.mark.parametrize(
    ("scale", "point", "wanted"),
    [(1 / 256, -128, 1.0), (1 / 128, 0, 1.0), (1 / 64, 0, 2.0), (1 / 256, 128, 1.0),
     (1 / 128, 64, 1.5)],
)  # fmt: skip
def test_what_int8_fixes_int16_spans(scale: float, point: int, wanted: float) -> None:
    found = fixed_wide_parameters((scale, point))
    assert (found.scales, found.zero_points) == ((wanted / 32768,), (0,))
