"""The input of a model whose windows slide: how layers see it, and its shape with new rows only.

Files have time where their framework puts it: NHWC images in axis 1, PyTorch's NCHW ones and its
(batch, channels, time) in axis 2, its spectrograms in axis 3, flat inputs as blocks of values.
Reshapes and transposes lead from there to the image that the first layers read; back along them the
axis is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import Shape
from glowmcu.lazy_dataclass import dataclass
from glowmcu.lowering.transpose_images import HW_TRANSPOSE, transposed
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose

_HEIGHT, _WIDTH = 1, 2


@dataclass(frozen=True)
class WindowInput:
    """`image` [1, height, width, channels] is what the nodes of `chain` make of the input.

    `axes` has for the input and the result of each node the axis in which the rows are: at last the
    height of the image, or its width.
    """

    image: Value
    chain: tuple[Node, ...]
    axes: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Of the whole window."""
        return self.image.type.shape[self.axes[-1]]

    def network(self, graph: Graph) -> tuple[Graph, Value]:
        """What comes behind the image, which is its input with rows as height."""
        if not self.chain and self.axes[-1] == _HEIGHT:
            return graph, self.image
        first = self.chain[0].inputs[0] if self.chain else self.image
        inputs = (self.image if value is first else value for value in graph.inputs)
        nodes = (node for node in graph.nodes if node not in self.chain)
        behind = replace(graph, inputs=tuple(inputs), nodes=tuple(nodes))
        return transposed(behind, self.image) if self.axes[-1] == _WIDTH else (behind, self.image)

    def in_front_of(self, rows: Value, name: str) -> tuple[Value, tuple[Node, ...]]:
        """The input of new rows in the file's layout, and the nodes that make `rows` of it."""
        ops: list[tuple[Operation, Value]] = [(node.op, node.output) for node in self.chain]
        values = [self.chain[0].inputs[0] if self.chain else self.image]
        values += [value for _, value in ops]
        count = rows.type.shape[_HEIGHT]
        given = made = self._with_rows(values[0], self.axes[0], count, name)
        nodes = []
        for (op, value), axis in zip(ops, self.axes[1:], strict=True):
            result = self._with_rows(value, axis, count, f"{value.name}/rows")
            new = Reshape(result.type.shape) if isinstance(op, Reshape) else op
            nodes.append(Node(new, (made,), (result,), result.name, "slide"))
            made = result
        if self.axes[-1] == _WIDTH:
            nodes.append(Node(HW_TRANSPOSE, (made,), (rows,), rows.name, "slide"))
        elif nodes:
            nodes[-1] = replace(nodes[-1], outputs=(rows,))
        else:
            given = rows
        return given, tuple(nodes)

    def _with_rows(self, value: Value, axis: int, rows: int, name: str) -> Value:
        shape = value.type.shape
        size = shape[axis] // self.rows * rows
        return Value(value.type.with_shape((*shape[:axis], size, *shape[axis + 1 :])), name)


def window_input(graph: Graph, value: Value, axis: int | None = None) -> WindowInput | None:
    """The last image of more than one row that the input becomes by reshapes and transposes.

    Rows are its height; where `axis` of the input is given, what that becomes, height or width.
    """
    found: WindowInput | None = None
    chain: list[Node] = []
    while value not in graph.outputs:
        if value.type.rank == 4 and value.type.shape[0] == 1:
            found = _seen_by_layers(value, chain, axis) or found
        users = graph.users.get(value, [])
        if len(users) != 1 or not isinstance(users[0].op, Reshape | Transpose):
            break
        chain.append(users[0])
        value = users[0].output
    return found


def _seen_by_layers(image: Value, chain: Sequence[Node], axis: int | None) -> WindowInput | None:
    for side in (_HEIGHT,) if axis is None else (_HEIGHT, _WIDTH):
        axes = _axes(image.type.shape, chain, side) if image.type.shape[side] > 1 else None
        if axes is not None and axis in (None, axes[0]):
            return WindowInput(image, tuple(chain), axes)
    return None


def _axes(image: Shape, chain: Sequence[Node], side: int) -> tuple[int, ...] | None:
    """Where the rows of the image are, from the input on; None if no axis holds them."""
    axes = [side]
    for node in reversed(chain):
        before, after = node.inputs[0].type.shape, node.output.type.shape
        if isinstance(node.op, Transpose):
            axes.insert(0, node.op.permutation[axes[0]])
            continue
        ahead = prod(after[: axes[0]])
        places = (
            place
            for place, size in enumerate(before)
            if prod(before[:place]) == ahead and size > 1 and size % image[side] == 0
        )
        place = next(places, None)
        if place is None:
            return None
        axes.insert(0, place)
    return tuple(axes)
