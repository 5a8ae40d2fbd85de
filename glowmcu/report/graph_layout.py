"""Where the nodes of a graph are drawn: layers from top to bottom, few crossings (grandalf)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from glowmcu.lazy_dataclass import dataclass

#: Of a node, and of the room between two, in pixels.
WIDTH, HEIGHT = 176, 44
_BETWEEN, _BELOW, _MARGIN = 20, 30, 12

Point = tuple[float, float]


@dataclass
class _Box:
    """What grandalf writes a node's middle into."""

    w: int = WIDTH
    h: int = HEIGHT
    xy: Point = (0.0, 0.0)


@dataclass
class _Path:
    """What grandalf writes an edge's points into."""

    points: list[Point] = field(default_factory=list)

    def setpath(self, points: list[Point]) -> None:
        self.points = list(points)


@dataclass(frozen=True)
class Layout:
    """In pixels from the upper left corner: the size, nodes' corners, edges' points."""

    width: float
    height: float
    corners: tuple[Point, ...]
    paths: tuple[tuple[Point, ...], ...]


def layout(node_count: int, edges: Sequence[tuple[int, int]]) -> Layout:
    """Of the nodes 0 to `node_count` - 1 of an acyclic graph; parts that have nothing to do with
    each other lie side by side.
    """
    from grandalf.graphs import Edge, Graph, Vertex
    from grandalf.layouts import SugiyamaLayout

    class Line(Edge):  # type: ignore[misc]
        """grandalf walks a set of edges: by address they came in another order in each process."""

        def __hash__(self) -> int:
            return int(self.data)

    vertices = [Vertex(number) for number in range(node_count)]
    lines = [Line(vertices[a], vertices[b], data=at) for at, (a, b) in enumerate(edges)]
    for vertex in vertices:
        vertex.view = _Box()
    for line in lines:
        line.view = _Path()
    left = float(_MARGIN)
    for part in Graph(vertices, lines).C:
        drawn = SugiyamaLayout(part)
        drawn.xspace, drawn.yspace = _BETWEEN, _BELOW
        # No edge leads back. Told so, grandalf does not look for one by a call a node in a path.
        drawn.init_all(roots=[v for v in part.sV if not v.e_in()], inverted_edges=[])
        drawn.draw()
        _part_boxes([v.view for v in part.sV])
        boxes, paths = [v.view for v in part.sV], [line.view for line in part.sE]
        xs = [box.xy[0] - WIDTH / 2 for box in boxes] + [x for p in paths for x, _ in p.points]
        x_shift = left - min(xs)
        y_shift = _MARGIN + HEIGHT / 2 - min(box.xy[1] for box in boxes)
        for box in boxes:
            box.xy = (box.xy[0] + x_shift, box.xy[1] + y_shift)
        for path in paths:
            path.points = [(x + x_shift, y + y_shift) for x, y in path.points]
        left += max(xs) - min(xs) + WIDTH + _BETWEEN
    return _layout([v.view for v in vertices], edges, [line.view for line in lines])


def _part_boxes(boxes: Sequence[_Box]) -> None:
    """Move boxes of a layer to the right that lie upon each other, as grandalf leaves some."""
    end: dict[float, float] = {}
    for box in sorted(boxes, key=lambda box: box.xy):
        x, y = box.xy
        x = max(x, end.get(y, x))
        box.xy, end[y] = (x, y), x + WIDTH + _BETWEEN


def _layout(
    boxes: Sequence[_Box], edges: Sequence[tuple[int, int]], paths: Sequence[_Path]
) -> Layout:
    corners = tuple((box.xy[0] - WIDTH / 2, box.xy[1] - HEIGHT / 2) for box in boxes)
    points = tuple(
        # An edge leaves the lower edge of a box and ends at the upper one of the other.
        (
            (boxes[a].xy[0], boxes[a].xy[1] + HEIGHT / 2),
            *path.points[1:-1],
            (boxes[b].xy[0], boxes[b].xy[1] - HEIGHT / 2),
        )
        for (a, b), path in zip(edges, paths, strict=True)
    )
    xs = [x + WIDTH for x, _ in corners] + [x for path in points for x, _ in path]
    bottom = max((y + HEIGHT for _, y in corners), default=0.0)
    return Layout(max(xs, default=0.0) + _MARGIN, bottom + _MARGIN, corners, points)
