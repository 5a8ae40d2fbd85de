"""Which channels go through which operator: on their own, with others, or not at all.

Every case compares all bytes before and after; what is asserted besides is what should be left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.lowering import stack_elementwise
from glowmcu.lowering.channel_rules import _keeps_channels_apart
from glowmcu.ops.copy import Copy
from glowmcu.ops.elementwise import Add, Mul
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.padding import Pad
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.reduction import Mean
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice, Split
from glowmcu.ops.stack import Stack
from glowmcu.ops.tiling import Tile
from glowmcu.ops.transpose import Reverse, Transpose
from tests.ir.graphs import GraphBuilder
from tests.lowering.channel_graphs import simplified, started
from tests.lowering.layers import FAR, UNIT, computing, conv, dense, shapes, unit

CHANNELWISE: dict[str, Any] = {
    "average_pool_2d": lambda b, x: b.add(AveragePool2D((2, 2)), x),
    "max_pool_2d": lambda b, x: b.add(MaxPool2D((3, 1)), x),
    "mean": lambda b, x: b.add(Mean((1, 2), True), x),
    "pad of pixels": lambda b, x: b.add(Pad(((0, 0), (1, 1), (0, 0), (0, 0)), 4), x),
    "transpose of pixels": lambda b, x: b.add(Transpose((0, 2, 1, 3)), x),
    "slice of pixels": lambda b, x: b.add(Slice((0, 1, 0, 0), (1, 2, 2, 3), (1, 1, 1, 1)), x),
    "every other row": lambda b, x: b.add(Slice((0,) * 4, (1, 2, 3, 3), (1, 2, 1, 1)), x),
    "reversed columns": lambda b, x: b.add(Reverse((2,)), x),
    "pixels twice": lambda b, x: b.add(Tile((1, 1, 2, 1)), x),
    "joined rows": lambda b, x: b.add(Concatenation(1), x, x),
    "split rows": lambda b, x: b.add_many(Split(1, (1, 2)), x)[1],
    "mul by one value": lambda b, x: b.add(Mul(), x, b.constant(np.int8([3]), UNIT), like=unit()),
    "add of constants a channel": lambda b, x: b.add(
        Add(), b.constant(np.int8([1, 2, 3]), UNIT), x, like=unit()
    ),
}


@pytest.mark.parametrize("name", CHANNELWISE)
def test_a_channel_goes_through_operators_that_keep_channels_apart(name: str) -> None:
    b, x = started()
    hidden = conv(b, x, [[1, 0], [0, 1], [1, 1]], [0, 0, FAR])
    moved = CHANNELWISE[name](b, hidden)
    # Padded with another value, a constant channel is constant no more.
    after = simplified(b, conv(b, moved, [[1, 0, 0 if "pad" in name else -1]], [0]))
    assert all(shape[3] == 1 for shape in shapes(after))


MIXING: dict[str, Any] = {
    "pad of channels": lambda b, x: b.add(Pad(((0, 0), (0, 0), (0, 0), (0, 1)), 4), x),
    "mean over channels": lambda b, x: b.add(Mean((3,), True), x),
    "reversed channels": lambda b, x: b.add(Reverse((3,)), x),
    "transpose of channels": lambda b, x: b.add(Transpose((0, 3, 1, 2)), x),
    "every other channel": lambda b, x: b.add(Slice((0,) * 4, (1, 3, 3, 2), (1, 1, 1, 2)), x),
    "channels twice": lambda b, x: b.add(Tile((1, 1, 1, 2)), x),
}


@pytest.mark.parametrize("name", MIXING)
def test_all_channels_are_read_by_operators_that_move_or_mix_them(name: str) -> None:
    b, x = started()
    hidden = conv(b, x, [[1, 0], [0, 1], [1, 1]], [0, 0, 0])
    mixed = MIXING[name](b, hidden)
    weights = [[1] + [0] * (mixed.type.shape[3] - 1)]
    after = simplified(b, conv(b, mixed, weights, [0]))
    assert shapes(after)[0] == (1, 3, 3, 3)


#: Operators on 4 rows, 5 columns and 3 channels, and whether these stay apart from each other.
APART: dict[str, tuple[Any, bool]] = {
    "a slice of all channels": (Slice((0, 1, 0, 0), (1, 2, 5, 3), (1, 1, 1, 1)), True),
    "a slice of two channels": (Slice((0, 0, 0, 1), (1, 4, 5, 2), (1, 1, 1, 1)), False),
    "channels backwards": (Slice((0, 0, 0, 2), (1, 4, 5, 3), (1, 1, 1, -1)), False),
    "as many columns as channels": (Slice((0, 0, 1, 0), (1, 4, 3, 3), (1, 1, 1, 1)), True),
    "rows joined": (Concatenation(1), True),
    "columns joined": (Concatenation(2), True),
    "channels joined": (Concatenation(3), False),
    "columns split": (Split(2, (2, 3)), True),
    "channels split": (Split(3, (1, 2)), False),
    "columns padded": (Pad(((0, 0), (0, 0), (1, 2), (0, 0)), 4), True),
    "channels padded in front": (Pad(((0, 0), (0, 0), (0, 0), (1, 0)), 4), False),
    "channels padded behind": (Pad(((0, 0), (0, 0), (0, 0), (0, 1)), 4), False),
    "rows and columns turned": (Transpose((0, 2, 1, 3)), True),
    "columns and channels turned": (Transpose((0, 1, 3, 2)), False),
    "channels before all": (Transpose((3, 0, 1, 2)), False),
    "columns reversed": (Reverse((2,)), True),
    "columns and channels reversed": (Reverse((2, 3)), False),
    "a mean of pixels": (Mean((1, 2), True), True),
    "a mean of columns and channels": (Mean((2, 3), True), False),
    "columns twice": (Tile((1, 1, 2, 1)), True),
    "channels twice": (Tile((1, 1, 1, 2)), False),
    "a copy": (Copy(), True),
    "a pool": (MaxPool2D((2, 2)), True),
    "a sum": (Add(), True),
    "another shape": (Reshape((1, 5, 4, 3)), False),
}


@pytest.mark.parametrize(("op", "apart"), APART.values(), ids=APART)
def test_an_operator_keeps_channels_apart_or_does_not(op: Any, apart: bool) -> None:
    b = GraphBuilder()
    x = b.input(unit(1, 4, 5, 3))
    operands = (x, x) if isinstance(op, Add | Concatenation) else (x,)
    b.add_many(op, *operands)
    assert _keeps_channels_apart(b.nodes[-1]) == apart


def test_channels_do_not_go_through_a_stack() -> None:
    """Its members have types of their own, which would stay as they were."""
    b = GraphBuilder()
    x, y = b.input(unit(1, 4, 5, 3)), b.input(unit(1, 4, 5, 3))
    (node,) = stack_elementwise.run(b.finish(b.add(Mul(), b.add(Add(), x, y), x))).nodes
    assert isinstance(node.op, Stack)
    assert not _keeps_channels_apart(node)


def test_a_vector_has_channels() -> None:
    b = GraphBuilder()
    x = b.input(unit(1, 3))
    hidden = dense(b, x, [[1, 0, 2], [0, 1, 1], [1, 1, 1]], [0, 0, 0])
    moved = b.add(Copy(), b.add(Reshape((3,)), hidden))
    after = simplified(b, dense(b, b.add(Reshape((1, 3)), moved), [[0, 1, 0]], [0]))
    assert shapes(after) == [(1, 1), (1,), (1,), (1, 1), (1, 1)]


def test_parts_of_a_concatenation_lose_their_own_channels() -> None:
    b, x = started()
    left = conv(b, x, [[1, 0], [0, 1]], [0, FAR])
    right = conv(b, x, [[1, 1], [2, 1], [1, 2]], [0, 0, 0])
    stored = b.constant(np.ones((1, 3, 3, 2), np.int8), UNIT)
    joined = b.add(Concatenation(3), left, stored, right)
    after = simplified(b, conv(b, joined, [[1, 1, 0, 0, 1, 1, 0]], [0]))
    assert shapes(after) == [(1, 3, 3, 1), (1, 3, 3, 2), (1, 3, 3, 4), (1, 3, 3, 1)]


def test_parts_of_a_split_are_as_long_as_what_is_left_of_them() -> None:
    b, x = started()
    hidden = conv(b, x, [[1, 0], [0, 1], [1, 1], [2, 1]], [0, 0, FAR, 0])
    first, second = b.add_many(Split(3, (2, 2)), hidden)
    outputs = conv(b, first, [[0, 1]], [0]), conv(b, second, [[1, 1]], [0])
    after = simplified(b, *outputs)
    (split,) = (node for node in computing(after) if isinstance(node.op, Split))
    assert split.op == Split(3, (1, 1))


@pytest.mark.parametrize(
    ("weights", "begin", "left"),
    [([[0, 1]], 1, 1), ([[1, 0]], 0, 1), ([[1, 1]], 0, 2)],
    ids=["the last", "the first, behind one that goes", "both"],
)
def test_a_slice_of_channels_loses_those_that_nobody_reads(
    weights: list[list[int]], begin: int, left: int
) -> None:
    """Of four channels it takes the middle ones; the last is read besides."""
    b, x = started()
    hidden = conv(b, x, [[1, 0], [0, 1], [1, 1], [2, 1]], [0, 0, 0, 0])
    middle = b.add(Slice((0, 0, 0, 1), (1, 3, 3, 2), (1, 1, 1, 1)), hidden)
    outputs = conv(b, middle, weights, [0]), conv(b, hidden, [[0, 0, 0, 1]], [0])
    after = simplified(b, *outputs)
    (cut,) = (node for node in computing(after) if isinstance(node.op, Slice))
    assert shapes(after)[0] == (1, 3, 3, left + 1)
    assert (cut.op.begin[3], cut.op.size[3]) == (0, left)
