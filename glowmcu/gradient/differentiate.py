"""Reverse mode: from the gradients of some values back to those of values before them.

Source: Linnainmaa, 1976; Baydin et al., Automatic Differentiation in Machine Learning, 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import NoGradient, rule_of
from glowmcu.ir.graph import Node, Value


class MissingGradient(Exception):
    """A value that is asked for lies behind `node`, which has no gradient; the text says why."""

    def __init__(self, node: Node, why: str) -> None:
        super().__init__(why)
        self.node = node


def gradients(
    build: Builder,
    nodes: Sequence[Node],
    upstream: Mapping[Value, Value],
    wanted: Iterable[Value],
    ready: Callable[[Value, Value], None] = lambda value, found: None,
) -> dict[Value, Value]:
    """Gradients of `wanted`, by value; those without influence are left out.

    `nodes` are in topological order and float32 between `wanted` and the values of `upstream`,
    whose gradients are given. As soon as that of a wanted value is complete, `ready` is told: what
    it adds to the nodes needs no memory for it later. Raises MissingGradient.
    """
    targets = list(wanted)
    depends = _dependent(nodes, targets)
    inner = {value for node in depends for value in node.outputs}.union(targets)
    found: dict[Value, Value] = dict(upstream)
    firsts = _first_readers(nodes, targets)
    for node in reversed(nodes):
        for value, part in _parts(build, node, found) if node in depends else ():
            if value in inner:
                before = found.get(value)
                found[value] = part if before is None else build.plus(before, part)
        for value in firsts.get(node, ()):
            if value in found:
                ready(value, found[value])
    return {value: found[value] for value in targets if value in found}


def _parts(build: Builder, node: Node, found: Mapping[Value, Value]) -> list[tuple[Value, Value]]:
    """What gradients of a node's results add to those of its operands. Raises MissingGradient."""
    given = [found.get(value) for value in node.outputs]
    if not any(given):
        return []
    try:
        parts = rule_of(node.op)(build, node, given)
    except NoGradient as cause:
        raise MissingGradient(node, str(cause)) from cause
    pairs = zip(node.inputs, parts, strict=True)
    return [(value, part) for value, part in pairs if part is not None]


def _first_readers(nodes: Sequence[Node], values: Iterable[Value]) -> dict[Node, list[Value]]:
    """Values by the first node that reads them: the last one that a gradient comes from."""
    readers: dict[Node, list[Value]] = {}
    for value in dict.fromkeys(values):
        first = next((node for node in nodes if value in node.inputs), None)
        if first is not None:
            readers.setdefault(first, []).append(value)
    return readers


def _dependent(nodes: Sequence[Node], wanted: Iterable[Value]) -> dict[Node, None]:
    """Nodes that any wanted value has influence on."""
    reached, depends = set(wanted), dict[Node, None]()
    for node in nodes:
        if not reached.isdisjoint(node.inputs):
            reached.update(node.outputs)
            depends[node] = None
    return depends
