"""Which nodes become int8 and which stay float, so that as few conversions as possible lie between.

A node becomes int8 when its operator has a quantization rule, its weights are constants and nobody
wants it float. Two kinds of node go with their neighbours: those that only move elements, and int8
partitions without a single multiplication in a float graph (two conversions cost more than they
save). What borders on stored integers of the model's own is no such partition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

import numpy as np

from glowmcu.errors import GlowmcuError, Problem
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Constant
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange
from glowmcu.ir.types import ElementType
from glowmcu.ops.quantization import Dequantize, Quantize

Rules = dict[Node, QuantizationRule]


def choose_int8_nodes(
    graph: Graph, keep_float: Iterable[str], refused: Collection[Node], int8_interface: bool
) -> Rules:
    """The nodes that become int8, with their rules, in the graph's order.

    `refused` stay float whatever their rule says. Raises GM312 for a name in `keep_float` that
    nothing has.
    """
    kept = nodes_named(graph, keep_float, "--keep-float") | set(refused)
    rules: Rules = {}
    for node in graph.nodes:
        rule = None if node in kept else _applicable_rule(graph, node)
        if rule is not None:
            rules[node] = rule
    adjacency = _Adjacency(graph, int8_interface)
    _follow_neighbours(adjacency, rules)
    _demote_idle_partitions(adjacency, rules)
    return rules


def nodes_named(graph: Graph, names: Iterable[str], option: str) -> set[Node]:
    """Nodes whose operator, own name or result has one of `names`. Raises GM312."""
    found: set[Node] = set()
    problems = []
    for name in names:
        nodes = {node for node in graph.nodes if is_named(node, name)}
        if not nodes:
            operators = sorted({n.op.name for n in graph.nodes if not isinstance(n.op, Constant)})
            problems.append(
                Problem(
                    "GM312",
                    f"{option} {name!r} is neither an operator nor a node of this model",
                    hint=f"its operators are: {', '.join(operators)}",
                )
            )
        found |= nodes
    if problems:
        raise GlowmcuError(problems)
    return found


def is_named(node: Node, name: str) -> bool:
    """Whether the node's operator, the node or a result of it is called `name`, or the node is a
    part of what is called so.
    """
    if isinstance(node.op, Constant):
        return False
    is_operator = node.op.name == name.lower() or type(node.op).__name__ == name
    is_part = node.name.startswith(f"{name}/")
    return is_operator or is_part or name in (node.name, *(value.name for value in node.outputs))


def _applicable_rule(graph: Graph, node: Node) -> QuantizationRule | None:
    """The operator's rule where its operands are such that it can be followed."""
    if not is_real(node):
        return None
    rule = node.op.quantization_rule(node.signature)
    return None if rule is None or _obstacle(graph, node, rule) else rule


def _obstacle(graph: Graph, node: Node, rule: QuantizationRule) -> str:
    """Why the rule cannot be followed here; empty if it can."""
    constants = (*rule.weights, *rule.biases)
    if any(graph.constant_data(node.inputs[position]) is None for position in constants):
        return "int8 needs its weights and biases to be constants"
    operands = [node.inputs[position] for position in (*rule.activations, *constants)]
    if not all(value.type.element is ElementType.F32 for value in operands):
        return "not all of its operands are float32"
    if not all(_is_finite(graph, value) for value in operands):
        return "a constant operand holds infinity or NaN"
    return ""


def _is_finite(graph: Graph, value: Value) -> bool:
    """False for a constant that holds infinity or NaN: no scale stores that."""
    data = graph.constant_data(value)
    return data is None or bool(np.isfinite(data).all())


def why_float(
    graph: Graph, rules: Rules, keep_float: Iterable[str], refused: Mapping[Node, str]
) -> dict[str, str]:
    """The nodes that compute with float32 beside those of `rules`, by name, each with why."""
    kept = nodes_named(graph, keep_float, "--keep-float")
    reasons: dict[str, str] = {}
    for node in graph.nodes:
        if node in rules or not node.inputs or not is_real(node) or is_conversion(graph, node):
            continue
        rule = node.op.quantization_rule(node.signature)
        if node in kept:
            reason = "as was asked for"
        elif node in refused:
            reason = refused[node]
        elif rule is None:
            reason = node.op.float_reason
        else:
            reason = _obstacle(graph, node, rule) or "all around it is float"
        reasons[node.name] = f"{node.op.name}: {reason}"
    return reasons


def is_real(node: Node) -> bool:
    """Whether the node computes with float32 at all."""
    return any(v.type.element is ElementType.F32 for v in (*node.inputs, *node.outputs))


def is_conversion(graph: Graph, node: Node) -> bool:
    """Whether it is the model's own border of int8 tensors, which are computed."""
    if not isinstance(node.op, Quantize | Dequantize):
        return False
    stored = node.inputs[0] if isinstance(node.op, Dequantize) else node.output
    return stored.type.element is ElementType.I8 and graph.constant_data(node.inputs[0]) is None


class _Adjacency:
    """Who borders on whom by a float32 tensor that is not constant."""

    def __init__(self, graph: Graph, int8_interface: bool) -> None:
        self.graph = graph
        self.int8_interface = int8_interface

    def neighbours(self, node: Node) -> list[Node]:
        """Nodes on the other side of the node's tensors."""
        found: dict[Node, None] = {}
        for value in self._tensors(node.inputs):
            producer = self.graph.producers.get(value)
            if producer is not None:
                found[producer] = None
        for value in self._tensors(node.outputs):
            found.update(dict.fromkeys(self.graph.users.get(value, [])))
        return list(found)

    def touches_int8(self, node: Node) -> bool:
        """Whether the node reads an int8 input or tensor of the model or makes such a one."""
        if any(is_conversion(self.graph, other) for other in self.neighbours(node)):
            return True
        border = {*self.graph.arguments, *self.graph.results}
        tensors = self._tensors((*node.inputs, *node.outputs))
        return self.int8_interface and any(value in border for value in tensors)

    def _tensors(self, values: Iterable[Value]) -> list[Value]:
        return [
            value
            for value in values
            if value.type.element is ElementType.F32 and self.graph.constant_data(value) is None
        ]

    def regions(self, belongs: Callable[[Node], bool]) -> list[list[Node]]:
        """Connected sets of the nodes for which `belongs` holds."""
        regions: list[list[Node]] = []
        seen: set[Node] = set()
        for start in self.graph.nodes:
            if start in seen or not belongs(start):
                continue
            seen.add(start)
            region, pending = [], [start]
            while pending:
                node = pending.pop()
                region.append(node)
                new = [n for n in self.neighbours(node) if n not in seen and belongs(n)]
                seen.update(new)
                pending += new
            regions.append(region)
        return regions


def border_nodes(
    graph: Graph, belongs: Callable[[Node], bool]
) -> list[tuple[list[Node], list[Node]]]:
    """Connected sets of the nodes for which `belongs` holds, each with the nodes around it."""
    adjacency = _Adjacency(graph, False)
    found = []
    for region in adjacency.regions(belongs):
        inside = set(region)
        around = [n for node in region for n in adjacency.neighbours(node) if n not in inside]
        found.append((region, around))
    return found


def _follow_neighbours(adjacency: _Adjacency, rules: Rules) -> None:
    """Nodes that only move elements stay float where all around them is."""
    neutral = {node for node, rule in rules.items() if rule.result is ResultRange.SAME}
    for region, around in border_nodes(adjacency.graph, neutral.__contains__):
        has_int8 = any(node in rules or is_conversion(adjacency.graph, node) for node in around)
        if not (has_int8 if around else adjacency.int8_interface):
            _remove(rules, region)


def _demote_idle_partitions(adjacency: _Adjacency, rules: Rules) -> None:
    """int8 regions without work and without an int8 border become float."""
    members: Mapping[Node, QuantizationRule] = dict(rules)
    for region in adjacency.regions(members.__contains__):
        idle = not any(node.macs for node in region)
        if idle and not any(map(adjacency.touches_int8, region)):
            _remove(rules, region)


def _remove(rules: Rules, nodes: Iterable[Node]) -> None:
    for node in nodes:
        del rules[node]
