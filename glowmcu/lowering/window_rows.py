"""Rows of layers with windows: which are inner ones, and the operator for some of them."""

from __future__ import annotations

from dataclasses import replace

from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import Operation
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D, window_extent
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D

WINDOWED = Conv2D | DepthwiseConv2D | AveragePool2D | MaxPool2D


@dataclass(frozen=True)
class Inner:
    """Rows `[first, end)` of a tensor see no edge of the window; they move up by `step` a run."""

    first: int
    end: int
    step: int

    @property
    def kept(self) -> int:
        """Rows that are there from the run before."""
        return max(0, self.end - self.step - self.first)

    @property
    def first_new(self) -> int:
        """The row from which on they are computed."""
        return self.first + self.kept


def with_rows(value: Value, rows: int) -> tuple[int, ...]:
    """The shape of `rows` rows of a tensor [1, rows, columns, channels]."""
    shape = value.type.shape
    return (shape[0], rows, *shape[2:])


def window_of(node: Node) -> tuple[int, int, int]:
    """Stride, padding above and extent along the rows."""
    op = node.op
    assert isinstance(op, WINDOWED)
    if isinstance(op, AveragePool2D | MaxPool2D):
        kernel = op.kernel[0]
    else:
        kernel = node.inputs[1].type.shape[1]
    return op.strides[0], op.padding[0], window_extent(kernel, op.dilations[0])


def of_rows(node: Node, first: int, end: int) -> tuple[Operation, tuple[int, int]]:
    """The operator for these rows of its result, and the operand's rows under them."""
    if not isinstance(node.op, WINDOWED):
        return node.op, (first, end)
    stride, top, extent = window_of(node)
    rows = node.inputs[0].type.shape[1]
    above = first * stride - top
    below = (end - 1) * stride - top + extent
    _, left, _, right = node.op.padding
    padding = (max(-above, 0), left, max(below - rows, 0), right)
    return replace(node.op, padding=padding), (max(above, 0), min(below, rows))
