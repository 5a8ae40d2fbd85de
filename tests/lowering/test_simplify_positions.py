"""Positions that were found need not be counted, looked up or cast back and forth."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.ir.graph import Node, Value
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lowering import simplify_positions
from glowmcu.ops.cast import Cast
from glowmcu.ops.comparison import Less, Select
from glowmcu.ops.elementwise import Add
from glowmcu.ops.gather import Gather
from glowmcu.ops.scan import ArgMax, TopK
from glowmcu.ops.shape import Reshape
from tests.ir.graphs import GraphBuilder
from tests.lowering.run_pass import names, run
from tests.quant.networks import real

I32, I64, F32 = ElementType.I32, ElementType.I64, ElementType.F32


def of(element: ElementType) -> TensorType:
    return TensorType((), element)


def ranked(b: GraphBuilder) -> tuple[Value, Value]:
    """Values and positions of `top_k`."""
    x = b.input(real(1, 5), "x")
    results = Value(real(1, 2), "values"), Value(TensorType((1, 2), I64), "places")
    b.nodes.append(Node(TopK(1, 2), (x,), results, "top_k"))
    return results


def found(b: GraphBuilder, element: ElementType = I32) -> Value:
    return b.add(ArgMax(1), b.input(real(2, 5), "x"), like=of(element))


def number(b: GraphBuilder, value: int) -> Value:
    return b.constant(np.array(value, np.int32))


def from_the_end(b: GraphBuilder, index: Value, zero: int = 0) -> Value:
    is_negative = b.add(Less(), index, number(b, zero), like=of(ElementType.BOOL))
    return b.add(Select(), is_negative, b.add(Add(), index, number(b, 5)), index, like=of(I32))


def test_positions_are_not_counted_from_the_end() -> None:
    b = GraphBuilder()
    index = from_the_end(b, found(b))
    after = run(simplify_positions.run, b.finish(b.add(Add(), index, number(b, 7))))
    assert names(after) == ["arg_max", "constant", "add"]


@pytest.mark.parametrize("why", ["any numbers", "another border"])
def test_other_numbers_are(why: str) -> None:
    b = GraphBuilder()
    index = found(b)
    if why == "any numbers":
        index = b.add(Add(), index, number(b, -3))
    index = from_the_end(b, index, 2 if why == "another border" else 0)
    graph = b.finish(b.add(Add(), index, number(b, 7)))
    assert simplify_positions.run(graph) is graph


def test_classes_that_are_numbered_are_their_positions() -> None:
    b = GraphBuilder()
    index = found(b)
    classes = b.constant(np.arange(5, dtype=np.int64).reshape(1, 5))
    label = b.add(Gather(1), classes, index, like=of(I64))
    after = run(simplify_positions.run, b.finish(b.add(Reshape((2,)), label)))
    assert "gather" not in names(after)
    assert "cast" in names(after)


@pytest.mark.parametrize("table", [[0, 1, 2, 3, 5], [0, 1, 2, 3]], ids=["other numbers", "short"])
def test_classes_of_other_numbers_are_looked_up(table: list[int]) -> None:
    b = GraphBuilder()
    classes = b.constant(np.array(table, np.int64))
    graph = b.finish(b.add(Gather(0), classes, found(b), like=of(I64)))
    assert simplify_positions.run(graph) is graph


def test_a_cast_to_real_numbers_and_back_leaves_nothing() -> None:
    b = GraphBuilder()
    label = b.add(Cast(), found(b, I64), like=of(F32))
    label = b.add(Reshape((2, 1)), label)
    after = run(simplify_positions.run, b.finish(b.add(Cast(), label, like=of(I64))))
    assert "cast" not in names(after)


def test_one_cast_for_two() -> None:
    b = GraphBuilder()
    values, places = ranked(b)
    index = b.add(Cast(), b.add(Cast(), places, like=of(F32)), like=of(I32))
    after = run(simplify_positions.run, b.finish(values, index))
    assert names(after).count("cast") == 1


def test_the_values_that_top_k_found_are_no_positions() -> None:
    b = GraphBuilder()
    values, _ = ranked(b)
    graph = b.finish(b.add(Cast(), b.add(Cast(), values, like=of(I32)), like=of(F32)))
    assert simplify_positions.run(graph) is graph
