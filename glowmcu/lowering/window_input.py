"""The input of a model whose windows slide: how layers see it, and its shape with new rows only.

Files have time where their framework puts it: NHWC images in axis 1, PyTorch's NCHW ones and its
(batch, channels, time) in axis 2, flat inputs as blocks of values. Reshapes and transposes lead
from there to the rows of the image that the first layers read; back along them the axis is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import Shape
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose


@dataclass(frozen=True)
class WindowInput:
    """`image` [1, rows, columns, channels] is what the nodes of `chain` make of the input.

    `axes` has for the input and the result of each node the axis in which the rows are.
    """

    image: Value
    chain: tuple[Node, ...]
    axes: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Of the whole window."""
        return self.image.type.shape[1]

    def shape(self, index: int, rows: int) -> Shape:
        """Of the input (0) or of what a node of the chain makes (1, 2, …), with so many rows."""
        whole = (self.chain[0].inputs[0].type if self.chain else self.image.type).shape
        if index:
            whole = self.chain[index - 1].output.type.shape
        axis = self.axes[index]
        return (*whole[:axis], whole[axis] // self.rows * rows, *whole[axis + 1 :])

    def operation(self, index: int, rows: int) -> Operation:
        """That of a node of the chain (0, 1, …), for so many rows."""
        op = self.chain[index].op
        return replace(op, shape=self.shape(index + 1, rows)) if isinstance(op, Reshape) else op


def window_input(graph: Graph, value: Value) -> WindowInput | None:
    """The last image of more than one row that the input becomes by reshapes and transposes."""
    found: WindowInput | None = None
    chain: list[Node] = []
    while value not in graph.outputs:
        shape = value.type.shape
        if len(shape) == 4 and shape[0] == 1:
            axes = _axes(chain)
            if axes is not None and (shape[1] > 1 or found is None):
                found = WindowInput(value, tuple(chain), axes)
        users = graph.users.get(value, [])
        if len(users) != 1 or not isinstance(users[0].op, Reshape | Transpose):
            break
        chain.append(users[0])
        value = users[0].output
    return found


def _axes(chain: Sequence[Node]) -> tuple[int, ...] | None:
    """Where the rows of the last result are, from the input on; None where no axis holds them."""
    axes = [1]
    for node in reversed(chain):
        before, after = node.inputs[0].type.shape, node.output.type.shape
        if isinstance(node.op, Transpose):
            axes.insert(0, node.op.permutation[axes[0]])
            continue
        rows, ahead = chain[-1].output.type.shape[1], prod(after[: axes[0]])
        axis = next(
            (
                axis
                for axis, size in enumerate(before)
                if prod(before[:axis]) == ahead and size > 1 and size % rows == 0
            ),
            None,
        )
        if axis is None:
            return None
        axes.insert(0, axis)
    return tuple(axes)
