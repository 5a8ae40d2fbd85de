"""An early part of a network computed in vertical strips, so that rows on their way are narrower.

The graph from the inputs to one tensor is made several times, each time for a range of that
tensor's columns and the columns under them, and put together again. Columns in the halo are
computed twice: MCUNetV2's patches (arXiv 2110.15352), in one direction. Kernels know nothing of it:
a strip's layer is a layer with a narrower image, padded only where the image ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Constant, Operation
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D, window_extent
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.slicing import Slice
from glowmcu.ops.stack import Stack

#: Columns `[first, end)`.
Columns = tuple[int, int]
_WINDOWED = Conv2D | DepthwiseConv2D | AveragePool2D | MaxPool2D


@dataclass(frozen=True, eq=False)
class StripArea:
    """The nodes between graph inputs and `end` that can be computed in strips."""

    nodes: tuple[Node, ...]
    sources: tuple[Value, ...]
    end: Value

    @property
    def width(self) -> int:
        return self.end.type.shape[2]

    @cached_property
    def inside(self) -> frozenset[Node]:
        return frozenset(self.nodes)


def strip_areas(graph: Graph, sources: Iterable[Value]) -> list[StripArea]:
    """Areas that read nothing but `sources` and constants and hand on one tensor, small to large.

    A window makes the area: without one there would be no halo, nor rows to keep.
    """
    areas = []
    for node in graph.nodes:
        area = _area(graph, node.output, frozenset(sources))
        if area is not None and any(isinstance(item.op, _WINDOWED) for item in area.nodes):
            areas.append(area)
    return areas


def _area(graph: Graph, end: Value, sources: frozenset[Value]) -> StripArea | None:
    if end.type.rank != 4 or end.type.shape[0] != 1 or end.type.shape[2] < 2:
        return None
    inside: dict[Node, None] = {}
    found: dict[Value, None] = {}
    todo = [end]
    while todo:
        value = todo.pop()
        node = graph.producers.get(value)
        if value in sources:
            found[value] = None
        elif node is None or not _splits(graph, node):
            return None
        elif node not in inside:
            inside[node] = None
            todo += _images(graph, node)
    own = {node.output for node in inside} - {end}
    escapes = any(value in own for value in graph.outputs) or any(
        user not in inside for value in own for user in graph.users.get(value, ())
    )
    if escapes or not found or any(value in graph.outputs for value in found):
        return None
    ordered = tuple(node for node in graph.nodes if node in inside)
    return StripArea(ordered, tuple(found), end)


def _images(graph: Graph, node: Node) -> list[Value]:
    """Operands that have columns; the others are constants."""
    if isinstance(node.op, _WINDOWED):
        return [node.inputs[0]]
    return [value for value in node.inputs if graph.constant_data(value) is None]


def _splits(graph: Graph, node: Node) -> bool:
    """Whether columns of the result follow from columns of the operands."""
    images = [value.type for value in _images(graph, node)]
    outputs = node.signature.outputs
    if len(outputs) > 1 or any(type_.rank != 4 or type_.shape[0] != 1 for type_ in images):
        return False
    if isinstance(node.op, _WINDOWED):
        constants = node.inputs[1:]
        return all(graph.constant_data(value) is not None for value in constants)
    width = node.output.type.shape[2] if node.output.type.rank == 4 else 0
    constants_match = all(
        value.type.rank < 2 or value.type.shape[-2] == 1
        for value in node.inputs
        if graph.constant_data(value) is not None
    )
    same = all(type_.shape[2] == width for type_ in images)
    return node.op.elementwise and same and bool(images) and constants_match


def columns_of_strips(graph: Graph, area: StripArea, count: int) -> list[Mapping[Value, Columns]]:
    """For strips of about one width: the columns that each computes of every tensor."""
    bounds = [area.width * number // count for number in range(count + 1)]
    return [_needed(graph, area, columns) for columns in pairwise(bounds)]


def split_into_strips(graph: Graph, area: StripArea, count: int) -> Graph:
    """The graph with the area in `count` strips of about one width."""
    made: list[Node] = []
    parts: list[Value] = []
    for number, columns in enumerate(columns_of_strips(graph, area, count)):
        strip = _Strip(graph, area, columns, f"/strip{number}")
        parts.append(strip.result)
        made += strip.nodes
    made.append(Node(Concatenation(2), tuple(parts), (area.end,), f"{area.nodes[-1].name}/strips"))
    nodes: list[Node] = []
    for node in graph.nodes:
        if node is area.nodes[-1]:
            nodes += made
        elif node not in area.inside:
            nodes.append(node)
    return graph.replace(nodes)


class _Strip:
    """The nodes that make some columns of every tensor of an area."""

    def __init__(
        self, graph: Graph, area: StripArea, columns: Mapping[Value, Columns], suffix: str
    ) -> None:
        self.graph = graph
        self.suffix = suffix
        self.nodes: list[Node] = []
        self.columns = columns
        self.values = {
            source: self._cut(source, source, self.columns[source], (0, 0))
            for source in area.sources
        }
        for node in area.nodes:
            self._add(node)
        self.result = self.values[area.end]

    def _add(self, node: Node) -> None:
        columns = self.columns[node.output]
        op, wanted = _narrowed(node, columns)
        inputs = list(node.inputs)
        for value in dict.fromkeys(_images(self.graph, node)):
            narrow = self._cut(value, self.values[value], wanted, self.columns[value])
            inputs = [narrow if item is value else item for item in inputs]
        result = self._narrow(node.output, columns)
        self.values[node.output] = result
        self.nodes.append(
            Node(op, tuple(inputs), (result,), f"{node.name}{self.suffix}", node.source)
        )

    def _cut(self, value: Value, have: Value, wanted: Columns, columns: Columns) -> Value:
        """The wanted columns of `value`, of which `have` holds `columns` (none: all of them)."""
        first, end = wanted[0] - columns[0], wanted[1] - columns[0]
        if (first, end) == (0, have.type.shape[2]):
            return have
        _, height, _, depth = have.type.shape
        op = Slice((0, 0, first, 0), (1, height, end - first, depth), (1, 1, 1, 1))
        result = self._narrow(value, wanted)
        name = f"{value.name}{self.suffix}/{wanted[0]}"
        self.nodes.append(Node(op, (have,), (result,), name, "strips"))
        return result

    def _narrow(self, value: Value, columns: Columns) -> Value:
        batch, height, _, depth = value.type.shape
        shape = (batch, height, columns[1] - columns[0], depth)
        return Value(value.type.with_shape(shape), f"{value.name}{self.suffix}")


def _needed(graph: Graph, area: StripArea, columns: Columns) -> Mapping[Value, Columns]:
    """The columns of every tensor that these columns of the end are made of."""
    needed = {area.end: columns}
    for node in reversed(area.nodes):
        _, wanted = _narrowed(node, needed[node.output])
        for value in _images(graph, node):
            known = needed.get(value, wanted)
            needed[value] = min(known[0], wanted[0]), max(known[1], wanted[1])
    return needed


def _narrowed(node: Node, columns: Columns) -> tuple[Operation, Columns]:
    """The operator for these columns of its result, and the operands' columns under them."""
    op = node.op
    if isinstance(op, Stack):
        batch, height, _, depth = node.output.type.shape
        shape = batch, height, columns[1] - columns[0], depth
        members = (replace(item, type=item.type.with_shape(shape)) for item in op.members)
        return replace(op, members=tuple(members)), columns
    if not isinstance(op, _WINDOWED):
        return op, columns
    width = node.inputs[0].type.shape[2]
    pooling = isinstance(op, AveragePool2D | MaxPool2D)
    kernel = op.kernel[1] if pooling else node.inputs[1].type.shape[2]  # type: ignore[union-attr]
    top, left, bottom, _ = op.padding
    first = columns[0] * op.strides[1] - left
    end = (columns[1] - 1) * op.strides[1] - left + window_extent(kernel, op.dilations[1])
    inside = max(first, 0), min(end, width)
    padding = (top, max(-first, 0), bottom, max(end - width, 0))
    return replace(op, padding=padding), inside


def extra_macs(graph: Graph, whole: Graph) -> int:
    """Multiply-accumulates of `graph` beyond those of `whole`."""
    return sum(_macs(graph.nodes)) - sum(_macs(whole.nodes))


def _macs(nodes: Sequence[Node]) -> Iterable[int]:
    return (node.macs for node in nodes if not isinstance(node.op, Constant))
