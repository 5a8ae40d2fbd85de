"""Padding passes what only moves axes, and ends in the layer that reads it."""

from __future__ import annotations

import pytest

from glowmcu.ir.operation import Operation
from glowmcu.lowering import sink_padding
from glowmcu.ops.activation import Relu
from glowmcu.ops.padding import Pad
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose
from tests.ir.graphs import GraphBuilder, int8
from tests.lowering.run_pass import names, run

PADDING = Pad(((0, 0), (1, 0), (2, 3)), -7)


@pytest.mark.parametrize(
    ("op", "paddings"),
    [
        (Transpose((0, 2, 1)), ((0, 0), (2, 3), (1, 0))),
        (Transpose((2, 1, 0)), ((2, 3), (1, 0), (0, 0))),
        (Reshape((1, 4, 1, 10)), ((0, 0), (1, 0), (0, 0), (2, 3))),
        (Reshape((4, 10)), ((1, 0), (2, 3))),
    ],
)
def test_padding_follows_its_axes(op: Operation, paddings: tuple[tuple[int, int], ...]) -> None:
    b = GraphBuilder()
    x = b.add(Relu(), b.input(int8(1, 3, 5)))
    after = run(sink_padding.run, b.finish(b.add(op, b.add(PADDING, x))))
    assert names(after) == ["relu", op.name, "pad"]
    assert after.nodes[-1].op == Pad(paddings, -7)


def test_padding_passes_several() -> None:
    b = GraphBuilder()
    padded = b.add(PADDING, b.add(Relu(), b.input(int8(1, 3, 5))))
    image = b.add(Transpose((0, 2, 3, 1)), b.add(Reshape((1, 4, 1, 10)), padded))
    after = run(sink_padding.run, b.finish(image))
    assert names(after) == ["relu", "reshape", "transpose", "pad"]
    assert after.nodes[-1].op == Pad(((0, 0), (0, 0), (2, 3), (1, 0)), -7)


def test_padding_stays_where_axes_are_lost_or_somebody_else_reads_it() -> None:
    b = GraphBuilder()
    joined = b.finish(b.add(Reshape((1, 40)), b.add(PADDING, b.input(int8(1, 3, 5)))))
    assert sink_padding.run(joined) is joined
    b = GraphBuilder()
    unit = Pad(((1, 0), (0, 0)), 0)  # the axis that the reshape drops has become two long
    flat = b.finish(b.add(Reshape((10,)), b.add(unit, b.input(int8(1, 5)))))
    assert sink_padding.run(flat) is flat
    b = GraphBuilder()
    padded = b.add(PADDING, b.input(int8(1, 3, 5)))
    both = b.finish(b.add(Transpose((0, 2, 1)), padded), b.add(Relu(), padded))
    assert sink_padding.run(both) is both
