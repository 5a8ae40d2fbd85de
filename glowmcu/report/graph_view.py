"""A graph's facts, laid out for the page."""

from __future__ import annotations

from typing import Any

from glowmcu.report.graph_layout import HEIGHT, WIDTH, Layout, layout
from glowmcu.report.short_names import middle_cut

_LETTERS = 24


def graph_view(nodes: list[dict[str, Any]] | None) -> dict[str, Any] | None:
    """Boxes and lines in pixels; None of a graph that is too large to be drawn."""
    if not nodes:
        return None
    edges = [(source, index) for index, node in enumerate(nodes) for source in node["inputs"]]
    found = layout(len(nodes), edges)
    boxes = [_box(node, corner) for node, corner in zip(nodes, found.corners, strict=True)]
    return {"width": found.width, "height": found.height, "boxes": boxes, "lines": _lines(found)}


def _box(node: dict[str, Any], corner: tuple[float, float]) -> dict[str, Any]:
    title = [node["name"], node["type"], *(node.get("constants") or [])]
    title += [f"{name} {text}" for name, text in node.get("attributes", {}).items()]
    return {
        "x": corner[0], "y": corner[1], "width": WIDTH, "height": HEIGHT, "op": node["op"],
        "kind": _kind(node), "text": middle_cut(node["type"].split(" ")[0], _LETTERS),
        "step": node.get("step"), "title": "\n".join(title),
    }  # fmt: skip


def _kind(node: dict[str, Any]) -> str:
    """What colours a box: `input`, `work` where it multiplies, `output`, else `other`."""
    if node["op"] == "input":
        return "input"
    if node.get("macs"):
        return "work"
    return "output" if node.get("is_output") else "other"


def _lines(found: Layout) -> list[str]:
    """As SVG's path data."""
    return ["M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points) for points in found.paths]
