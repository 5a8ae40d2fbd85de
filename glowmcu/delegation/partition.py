"""A partition of a graph: which accepted nodes go together.

Groups are merged along edges while the graph of groups stays without a cycle, so that each is
convex: nothing of it waits for the core while the core waits for it. In the order of the graph, so
that equal graphs give equal regions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from heapq import heapify, heappop, heappush

from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.operation import Constant


def regions(graph: Graph, accepted: Collection[Node]) -> list[tuple[Node, ...]]:
    """Maximal convex groups of connected accepted nodes that compute, in the graph's order.

    Nodes whose results are bytes of an operand cost nothing: they stay where all of their readers
    are in the group, and go to the core otherwise.
    """
    allowed = set(accepted)
    while True:
        found = _merged(graph, allowed)
        outer = {node for group in found for node in group if _is_edge(graph, node, group)}
        if not outer:
            return [group for group in found if any(map(computes, group))]
        allowed -= outer


def computes(node: Node) -> bool:
    """Whether it does anything at all."""
    return not isinstance(node.op, Constant) and not node.op.aliases(node.signature)


def _is_edge(graph: Graph, node: Node, group: Collection[Node]) -> bool:
    """Whether what costs nothing is an end of its group, where it is of no use."""
    if computes(node):
        return False
    readers = [reader for value in node.outputs for reader in graph.users.get(value, [])]
    is_shown = any(value in graph.outputs for value in node.outputs)
    return is_shown or not readers or any(reader not in group for reader in readers)


def _merged(graph: Graph, accepted: Collection[Node]) -> list[tuple[Node, ...]]:
    group_of = {node: number for number, node in enumerate(graph.nodes)}
    edges = _edges(graph)
    for node in graph.nodes:
        if node not in accepted:
            continue
        for maker in _makers(graph, node):
            if maker not in accepted or group_of[maker] == group_of[node]:
                continue
            merged = dict(group_of)
            old, new = group_of[node], group_of[maker]
            for other, number in group_of.items():
                if number == old:
                    merged[other] = new
            if _only_within(graph, node, maker, group_of) or _is_acyclic(edges, merged):
                group_of = merged
    groups: dict[int, list[Node]] = {}
    for node in graph.nodes:
        if node in accepted:
            groups.setdefault(group_of[node], []).append(node)
    return [tuple(members) for members in groups.values()]


def _only_within(graph: Graph, node: Node, maker: Node, group_of: dict[Node, int]) -> bool:
    """Whether all that a node alone in its group waits for is in the group of `maker`."""
    is_alone = sum(number == group_of[node] for number in group_of.values()) == 1
    return is_alone and all(
        group_of[other] == group_of[maker] for other in _makers(graph, node)
    )  # fmt: skip


def _makers(graph: Graph, node: Node) -> Iterable[Node]:
    """Who makes its operands, but for constants."""
    found = (graph.producers.get(value) for value in node.inputs)
    return dict.fromkeys(
        maker for maker in found if maker is not None and not isinstance(maker.op, Constant)
    )


def _edges(graph: Graph) -> list[tuple[Node, Node]]:
    """Who has to come before whom: makers before readers, and who reads what a state was before
    who makes what it becomes.
    """
    edges = [(maker, node) for node in graph.nodes for maker in _makers(graph, node)]
    for state, value in zip(graph.states, graph.assigned, strict=True):
        maker = graph.producers.get(value)
        if maker is not None:
            readers = graph.users.get(state.value, [])
            edges += [(reader, maker) for reader in readers if reader is not maker]
    return edges


def _is_acyclic(edges: list[tuple[Node, Node]], group_of: dict[Node, int]) -> bool:
    return _order(edges, group_of) is not None


def _order(edges: list[tuple[Node, Node]], group_of: dict[Node, int]) -> list[int] | None:
    """Groups so that each comes behind what it waits for, the smallest number first."""
    after: dict[int, set[int]] = {number: set() for number in group_of.values()}
    for before, behind in edges:
        if group_of[before] != group_of[behind]:
            after[group_of[before]].add(group_of[behind])
    waits = dict.fromkeys(after, 0)
    for targets in after.values():
        for number in targets:
            waits[number] += 1
    ready = [number for number, count in waits.items() if not count]
    heapify(ready)
    order = []
    while ready:
        number = heappop(ready)
        order.append(number)
        for target in after[number]:
            waits[target] -= 1
            if not waits[target]:
                heappush(ready, target)
    return order if len(order) == len(after) else None


def ordered(graph: Graph, found: Iterable[tuple[Node, ...]]) -> list[Node | tuple[Node, ...]]:
    """Nodes and regions of a graph, each behind what it waits for."""
    group_of = {node: number for number, node in enumerate(graph.nodes)}
    members: dict[int, tuple[Node, ...]] = {}
    for group in found:
        first = group_of[group[0]]
        members[first] = group
        group_of |= dict.fromkeys(group, first)
    order = _order(_edges(graph), group_of)
    assert order is not None, "regions wait for each other"
    return [members.get(number, graph.nodes[number]) for number in order]
