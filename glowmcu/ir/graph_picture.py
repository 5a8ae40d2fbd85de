"""A graph as a picture: Graphviz text that can be compared line by line, and SVG if `dot` is.

Constants are no nodes of their own: they stand in the label of who reads them.
"""

from __future__ import annotations

import shutil
import subprocess

from glowmcu import installation
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Constant
from glowmcu.ir.text.names import Names

_HEAD = """digraph {name} {{
  rankdir=TB;
  node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="Helvetica", fontsize=10];
  edge [fontname="Helvetica", fontsize=8];
"""
_COLOURS = {"work": "#fde2c8", "free": "#eeeeee", "other": "#dcebf7", "border": "#d9f2d9"}
_LONGEST_NAME = 60
_TIMEOUT_SECONDS = 60


def print_dot(graph: Graph) -> str:
    """One line a node and one an edge, in the graph's order; names are stable."""
    return _Picture(graph).text()


def missing_dot() -> str | None:
    """Why there can be no SVG, or None."""
    if shutil.which("dot") is None:
        return f"graph.svg skipped: needs `dot` on PATH: {installation.GRAPHVIZ.advice}"
    return None


def render_svg(dot_text: str) -> str | None:
    """The picture as SVG; None when `dot` fails or takes longer than a minute."""
    try:
        done = subprocess.run(
            ["dot", "-Tsvg"],
            input=dot_text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=_TIMEOUT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


class _Picture:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._names = Names()
        self._sources: dict[Value, str] = {}

    def text(self) -> str:
        graph = self._graph
        lines = [_HEAD.format(name=_quoted(graph.name))]
        lines += map(self._input, graph.inputs)
        computing = [node for node in graph.nodes if not isinstance(node.op, Constant)]
        lines += map(self._node, computing)
        lines += (edge for node in computing for edge in self._edges(node))
        for index, value in enumerate(graph.outputs):
            lines += self._output(index, value)
        return "".join(lines) + "}\n"

    def _box(self, key: object, wish: str, label: list[str], kind: str) -> str:
        name = self._names.add(key, wish)
        text = "\\n".join(_escaped(line) for line in label)
        return f'  {_quoted(name)} [label="{text}", fillcolor="{_COLOURS[kind]}"];\n'

    def _input(self, value: Value) -> str:
        line = self._box(value, value.name, ["input", value.name, str(value.type)], "border")
        self._sources[value] = self._names[value]
        return line

    def _node(self, node: Node) -> str:
        constants = [
            str(value.type) for value in node.inputs if self._graph.constant_data(value) is not None
        ]
        name = node.name.partition(";")[0][-_LONGEST_NAME:]
        label = [node.op.name, name, *constants]
        if node.macs:
            label.append(f"{node.macs} MACs")
        free = bool(node.op.aliases(node.signature))
        kind = "work" if node.macs else "free" if free else "other"
        line = self._box(node, node.name, label, kind)
        for value in node.outputs:
            self._sources[value] = self._names[node]
        return line

    def _edges(self, node: Node) -> list[str]:
        read = [value for value in node.inputs if self._graph.constant_data(value) is None]
        return [self._edge(value, self._names[node]) for value in read]

    def _edge(self, value: Value, target: str) -> str:
        source = _quoted(self._sources[value])
        return f'  {source} -> {_quoted(target)} [label="{_escaped(str(value.type))}"];\n'

    def _output(self, index: int, value: Value) -> list[str]:
        lines = []
        if value not in self._sources:  # a constant that is an output
            lines.append(self._box(value, value.name, ["constant", value.name], "free"))
            self._sources[value] = self._names[value]
        key = ("output", index)
        lines.append(
            self._box(key, f"output_{index}", ["output", value.name, str(value.type)], "border")
        )
        return [*lines, self._edge(value, self._names[key])]


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """Graphviz takes quotes and backslashes escaped; control characters would end the line."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    return plain.replace("\\", "\\\\").replace('"', '\\"')
