"""Regions that an accelerator computes become one operator each; a reason for every node that does
not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from glowmcu.delegation.back_end import BackEnd, Refused, RegionCost
from glowmcu.delegation.partition import computes, ordered, regions
from glowmcu.ir.aliasing import byte_offset
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Constant, constant
from glowmcu.ir.types import TensorType, element_type_of
from glowmcu.lazy_dataclass import dataclass
from glowmcu.number_text import count
from glowmcu.ops.copy import Copy
from glowmcu.ops.delegate import Delegate

#: Estimated cycles of a node on the core.
HostCycles = Callable[[Node], float]
#: How often a back end may leave nodes of a region before it is given up.
_MOST_ROUNDS = 32


@dataclass(frozen=True)
class Region:
    """Nodes that go to the accelerator, what they become, and cycles there and here."""

    nodes: tuple[Node, ...]
    op: Delegate
    constants: tuple[Node, ...]
    cost: RegionCost
    host_cycles: float
    weights_memory: str = ""


@dataclass(frozen=True)
class Division:
    """The divided graph, its regions by the node that stands for each, and why others stay."""

    graph: Graph
    regions: Mapping[Node, Region] = field(default_factory=dict)
    stays: Mapping[Node, str] = field(default_factory=dict)


def divide(
    graph: Graph, back_end: BackEnd, host_cycles: HostCycles, kept: Mapping[Node, str] | None = None
) -> Division:  # fmt: skip
    """Regions of positive gain become delegates; nodes that are `kept` stay, for the reasons given.

    Raises GlowmcuError of the back end.
    """
    stays = {node: why for node in graph.nodes if computes(node)
             for why in [_refusal(graph, node, back_end)] if why}  # fmt: skip
    stays |= kept or {}
    found: list[Region] = []
    known: dict[tuple[Node, ...], Region | dict[Node, str]] = {}
    for _ in range(_MOST_ROUNDS):
        accepted = [node for node in graph.nodes if not isinstance(node.op, Constant)
                    and node not in stays and not _touches_state(graph, node)]  # fmt: skip
        found, refused = [], dict[Node, str]()
        for nodes in regions(graph, accepted):
            if nodes not in known:
                known[nodes] = _lowered(graph, nodes, back_end, host_cycles)
            made = known[nodes]
            if isinstance(made, Region):
                found.append(made)
            else:
                refused |= made
        stays |= refused
        if not refused:
            break
    return _divided(graph, found, stays)


def _refusal(graph: Graph, node: Node, back_end: BackEnd) -> str:
    if node.stage or _touches_state(graph, node):
        return "it makes what a state becomes"
    return back_end.refusal(node, graph)


def _touches_state(graph: Graph, node: Node) -> bool:
    return any(value in graph.assigned for value in node.outputs)


def _lowered(
    graph: Graph, nodes: tuple[Node, ...], back_end: BackEnd, host_cycles: HostCycles
) -> Region | dict[Node, str]:
    """A region that is worth it, or why its nodes stay."""
    inner = region_graph(graph, nodes)
    made = back_end.lowered(inner)
    if isinstance(made, Refused):
        by_name = {node.outputs[0].name: node for node in nodes}
        return {by_name[node.outputs[0].name]: why for node, why in made.reasons.items()}
    cost, here = back_end.cost(inner, made.op), sum(map(host_cycles, nodes))
    if cost.cycles >= here:
        why = (
            f"about {count(round(cost.cycles))} cycles with transfers on {back_end.name}, "
            f"{count(round(here))} on the core"
        )
        return {node: why for node in nodes if computes(node)}
    constants = []
    for word, data in zip(("commands", "constants"), made.constants, strict=False):
        type_ = TensorType(data.shape, element_type_of(data.dtype))
        value = Value(type_, f"{nodes[0].name}/{word}")
        constants.append(Node(constant(data), (), (value,), value.name))
    return Region(nodes, made.op, tuple(constants), cost, here, made.weights_memory)


def region_graph(graph: Graph, nodes: Sequence[Node]) -> Graph:
    """The nodes as a graph of their own, with the constants that they read."""
    made = {value for node in nodes for value in node.outputs}
    read = dict.fromkeys(value for node in nodes for value in node.inputs if value not in made)
    constants = [graph.producers[v] for v in read if graph.constant_data(v) is not None]
    inputs = tuple(value for value in read if graph.constant_data(value) is None)
    members = set(nodes)
    outputs = tuple(
        value
        for node in nodes
        for value in node.outputs
        if value in graph.outputs or any(user not in members for user in graph.users.get(value, []))
    )
    return Graph(graph.name, inputs, (*constants, *nodes), outputs, graph.rounding)


def _divided(graph: Graph, found: Sequence[Region], stays: dict[Node, str]) -> Division:
    if not found:
        return Division(graph, {}, stays)
    by_nodes = {region.nodes: region for region in found}
    made: dict[Node, Region] = {}
    nodes: list[Node] = []
    for item in ordered(graph, by_nodes):
        if isinstance(item, Node):
            nodes.append(item)
            continue
        region = by_nodes[item]
        *copies, node = _with_copies(graph, _node(graph, region, len(made)))
        made[node] = region
        nodes += [*region.constants, *copies, node]
    return Division(_without_unread(graph.replace(nodes)), made, stays)


def _node(graph: Graph, region: Region, number: int) -> Node:
    computing = [node for node in region.nodes if computes(node)]
    first = computing[0]
    name = first.name if len(computing) == 1 else f"region {number}"
    inner = region_graph(graph, region.nodes)
    operands = (*inner.inputs, *(node.output for node in region.constants))
    return Node(region.op, operands, inner.outputs, name, first.source)


def _with_copies(graph: Graph, node: Node) -> list[Node]:
    """The node of a region, behind copies of operands that begin where the device cannot read."""
    assert isinstance(node.op, Delegate)
    copies, operands = list[Node](), list(node.inputs)
    for position, value in enumerate(node.inputs):
        if byte_offset(graph, value) % node.op.align:
            copied = Value(value.type, f"{value.name}/aligned")
            copies.append(Node(Copy(), (value,), (copied,), copied.name, "aligned"))
            operands[position] = copied
    return [*copies, replace(node, inputs=tuple(operands))]


def _without_unread(graph: Graph) -> Graph:
    """Without constants that only regions read, which have their own copies."""
    read = {value for node in graph.nodes for value in node.inputs} | set(graph.outputs)
    return graph.replace(
        node for node in graph.nodes if not isinstance(node.op, Constant) or node.output in read
    )
