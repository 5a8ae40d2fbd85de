"""Which channels of every value there must be, so that every output is what it was.

Backwards: what a needed channel reads is needed. Forwards: channels that an operator cannot drop on
its own (element-wise, depthwise) are there as long as its operand has them. Both until nothing
changes; inputs and outputs of the graph are whole.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Constant
from glowmcu.lazy_dataclass import dataclass
from glowmcu.lowering.channel_rules import (
    ChannelRule,
    Mask,
    Masks,
    OperandMasks,
    channel_count,
    everything,
    rule_of,
)


@dataclass(frozen=True)
class Liveness:
    """Masks of all values but constants, and the rules that they follow."""

    kept: Mapping[Value, Mask]
    rules: Mapping[Node, ChannelRule]

    def operands(self, node: Node) -> OperandMasks:
        """Masks of the operands, None for constants."""
        return [self.kept.get(value) for value in node.inputs]

    def results(self, node: Node) -> Masks:
        """Masks of the results."""
        return [self.kept[value] for value in node.outputs]

    def is_whole(self, node: Node) -> bool:
        """Whether the node stays as it is."""
        masks = [self.kept[v] for v in (*node.inputs, *node.outputs) if v in self.kept]
        return all(bool(mask.all()) for mask in masks)


def channel_liveness(graph: Graph) -> Liveness:
    """The fewest channels that all rules allow; at least one of every value."""
    nodes = [node for node in graph.nodes if not isinstance(node.op, Constant)]
    values = [*graph.inputs, *(value for node in nodes for value in node.outputs)]
    whole = {*graph.inputs, *graph.outputs}
    kept: dict[Value, Mask] = {}
    for value in values:
        full = everything(value.type)
        kept[value] = full if value in whole else np.zeros_like(full)
    live = Liveness(kept, {node: rule_of(node, graph) for node in nodes})
    while _grow(live, kept, nodes) or _keep_one(kept):
        pass
    return live


def _grow(live: Liveness, kept: dict[Value, Mask], nodes: list[Node]) -> bool:
    """One round backwards and one forwards; whether any mask has grown."""
    before = sum(int(mask.sum()) for mask in kept.values())
    for node in reversed(nodes):
        read = live.rules[node].reads(live.results(node))
        for value, mask in zip(node.inputs, read, strict=False):
            if mask is not None and value in kept:
                kept[value] = kept[value] | mask
    for node in nodes:
        results = live.rules[node].follows(live.operands(node), live.results(node))
        for value, mask in zip(node.outputs, results, strict=True):
            kept[value] = kept[value] | mask
    return sum(int(mask.sum()) for mask in kept.values()) > before


def _keep_one(kept: dict[Value, Mask]) -> bool:
    """A first channel for the first value that has none; whether there was one."""
    for value, mask in kept.items():
        if channel_count(value.type) and not mask.any():
            kept[value] = mask.copy()
            kept[value][0] = True
            return True
    return False
