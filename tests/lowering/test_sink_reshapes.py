"""Reshapes pass element-wise operators, where that changes no element's partner."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.graph import Value
from glowmcu.lowering import sink_reshapes
from glowmcu.ops.activation import Relu
from glowmcu.ops.elementwise import Add
from glowmcu.ops.shape import Reshape
from tests.ir.graphs import GraphBuilder, int8
from tests.lowering.run_pass import names, run


def flattened(b: GraphBuilder, *shape: int) -> Value:
    x = b.add(Relu(), b.input(int8(*shape), f"x{len(b.inputs)}"))
    return b.add(Reshape((1, x.type.element_count)), x)


def test_a_function_meets_what_makes_its_operand() -> None:
    b = GraphBuilder()
    y = b.add(Reshape((1, 4, 1, 6)), b.add(Relu(), flattened(b, 1, 1, 4, 6)))
    assert names(run(sink_reshapes.run, b.finish(y))) == ["relu", "relu", "reshape"]


def test_two_reshapes_become_one() -> None:
    b = GraphBuilder()
    y = b.add(Add(), flattened(b, 2, 3), flattened(b, 2, 3))
    assert names(run(sink_reshapes.run, b.finish(y))) == ["relu", "relu", "add", "reshape"]


def test_a_constant_of_one_element_fits_any_shape() -> None:
    b = GraphBuilder()
    one = b.constant(np.full((1, 1), 7, np.int8), int8().quantization)
    after = run(sink_reshapes.run, b.finish(b.add(Add(), one, flattened(b, 6))))
    assert [node.op.name for node in after.nodes if node.op.name != "constant"] == [
        "relu", "add", "reshape",
    ]  # fmt: skip
    assert after.nodes[-2].output.type.shape == (6,)


def test_operands_that_meet_only_after_the_reshape_stay() -> None:
    b = GraphBuilder()
    row = b.constant(np.arange(6, dtype=np.int8).reshape(1, 6), int8().quantization)
    with_row = b.finish(b.add(Add(), flattened(b, 2, 3), row))
    assert sink_reshapes.run(with_row) is with_row
    b = GraphBuilder()
    other = b.finish(b.add(Add(), flattened(b, 2, 3), flattened(b, 3, 2)))
    assert sink_reshapes.run(other) is other
    b = GraphBuilder()
    column = b.add(Reshape((6, 1)), b.add(Relu(), b.input(int8(2, 3))))
    square = b.finish(b.add(Add(), column, flattened(b, 2, 3)))
    assert sink_reshapes.run(square) is square
