"""Parts of a concatenation are taken from its operands."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.ir.graph import Value
from glowmcu.lowering import forward_parts
from glowmcu.ops.activation import Relu
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from tests.ir.graphs import GraphBuilder, int8
from tests.lowering.run_pass import names, run


def joined(b: GraphBuilder, rows: int = 1, count: int = 3, axis: int = 0) -> Value:
    """`count` results of (rows, 4), one behind the other."""
    parts = [b.add(Relu(), b.input(int8(rows, 4), f"x{i}")) for i in range(count)]
    return b.add(Concatenation(axis), *parts)


def test_the_last_of_all_states_is_that_state() -> None:
    b = GraphBuilder()
    stacked = b.add(Reshape((1, 3, 4)), joined(b))
    last = b.add(Slice((0, 2, 0), (1, 1, 4), (1, 1, 1)), stacked)
    after = run(forward_parts.run, b.finish(b.add(Reshape((1, 4)), last)))
    assert names(after) == ["relu", "reshape", "reshape"]
    assert after.nodes[0].inputs[0].name == "x2"


def test_what_is_joined_and_split_again_goes_straight_through() -> None:
    b = GraphBuilder()
    parts = b.add_many(Split(0, (1, 1, 1), drop_axis=True), joined(b))
    after = run(forward_parts.run, b.finish(*parts))
    assert sorted(names(after)) == ["relu"] * 3 + ["reshape"] * 3


def test_a_part_may_lie_inside_of_an_operand() -> None:
    b = GraphBuilder()
    inside = b.add(Slice((3, 0), (1, 4), (1, 1)), joined(b, rows=2))
    after = run(forward_parts.run, b.finish(inside))
    assert names(after) == ["relu", "reshape", "slice", "reshape"]


def test_whole_operands_are_joined_without_the_others() -> None:
    b = GraphBuilder()
    after = run(
        forward_parts.run, b.finish(b.add(Slice((1, 0), (2, 4), (1, 1)), joined(b, count=4)))
    )
    assert names(after).count("relu") == 2
    assert "slice" not in names(after)


def test_the_result_keeps_its_name() -> None:
    b = GraphBuilder()
    part = b.add(Slice((1, 0), (1, 4), (1, 1)), joined(b), name="state")
    assert run(forward_parts.run, b.finish(part)).outputs[0].name == "state"


@pytest.mark.parametrize("why", ["scattered", "across", "shared", "constant", "steps"])
def test_other_parts_stay(why: str) -> None:
    b = GraphBuilder()
    outputs: list[Value] = []
    rows = 2 if why in ("scattered", "across") else 1
    whole = joined(b, rows, count=4, axis=1 if why == "scattered" else 0)
    op = Slice((1, 0), (2, 4), (1, 1))
    if why == "scattered":
        op = Slice((0, 4), (1, 4), (1, 1))
    elif why == "steps":
        op = Slice((0, 0), (2, 4), (2, 1))
    elif why == "shared":
        outputs.append(b.add(Relu(), whole))
    elif why == "constant":
        data = b.constant(np.ones((2, 4), np.int8), int8().quantization)
        whole, op = b.add(Concatenation(0), whole, data), Slice((4, 0), (2, 4), (1, 1))
    graph = b.finish(b.add(op, whole), *outputs)
    assert forward_parts.run(graph) is graph
