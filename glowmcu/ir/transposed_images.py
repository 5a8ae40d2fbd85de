"""A node on images whose rows and columns are exchanged: same elements, same result.

An image of one row and the one of one column hold the same bytes, so for these it is free.
"""

from __future__ import annotations

from glowmcu.ir.graph import Node, Value
from glowmcu.ir.types import Shape


def transposed_shape(shape: Shape) -> Shape:
    """Axes 1 and 2 exchanged if there are four; others as they are."""
    return (shape[0], shape[2], shape[1], shape[3]) if len(shape) == 4 else shape


def is_row(shape: Shape) -> bool:
    """Whether it is an image of one row, or one pixel."""
    return len(shape) == 4 and shape[:2] == (1, 1)


def is_column(shape: Shape) -> bool:
    """Whether it is an image of one column, or one pixel."""
    return is_row(transposed_shape(shape))


def transposed_node(node: Node) -> Node | None:
    """The node on exchanged axes, its constants' too; None if its operator has no such form."""
    op = node.op.hw_transposed()
    if op is None:
        return None
    inputs = tuple(map(_transposed, node.inputs))
    return Node(op, inputs, tuple(map(_transposed, node.outputs)), node.name, node.source)


def _transposed(value: Value) -> Value:
    return Value(value.type.with_shape(transposed_shape(value.type.shape)), value.name)
