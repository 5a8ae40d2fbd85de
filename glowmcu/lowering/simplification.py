"""What `simplify` did, told from the graphs before and after: which channels went from where, why.

Values keep their names through it, so layers are found again by name, and in order where several
have the same one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.operation import Constant
from glowmcu.ir.value_ranges import value_ranges
from glowmcu.lowering.channel_rules import channel_count
from glowmcu.lowering.passes import SIMPLIFY, PassObserver
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.transpose_conv import TransposeConv2D
from glowmcu.simplified import SimplificationEntry, SimplifiedLayer

_WEIGHTED = (Conv2D, DepthwiseConv2D, FullyConnected, TransposeConv2D)
#: Name of the result, and how many nodes before had the same.
_Key = tuple[str, int]


class SimplificationWatch:
    """An observer of `lower` that remembers what there was before `simplify`, and after."""

    def __init__(self, observer: PassObserver | None = None) -> None:
        self._observer = observer
        self._last: Graph | None = None
        self._pair: tuple[Graph, Graph] | None = None

    def __call__(self, name: str, graph: Graph) -> None:
        if name == SIMPLIFY and self._last is not None:
            self._pair = self._last, graph
        self._last = graph
        if self._observer is not None:
            self._observer(name, graph)

    def told(self) -> SimplificationEntry | None:
        """What was simplified; None if nothing was."""
        if self._pair is None or self._pair[0] is self._pair[1]:
            return None
        return simplification(*self._pair)


def simplification(before: Graph, after: Graph) -> SimplificationEntry:
    """What there is less in `after`, by layer and node."""
    old, new = _computing(before), _computing(after)
    constant_before, constant_after = _constant_channels(before), _constant_channels(after)
    layers = [
        _layer(before, after, (node, constant_before[node]), new.get(key), constant_after)
        for key, node in old.items()
        if isinstance(node.op, _WEIGHTED)
    ]
    gone = [key for key in old if key not in new]
    constants = Counter(n.output.name for n in after.nodes if isinstance(n.op, Constant))
    return SimplificationEntry(
        macs_before=before.macs,
        macs_after=after.macs,
        weights_bytes_before=_all_weights_bytes(before),
        weights_bytes_after=_all_weights_bytes(after),
        layers=tuple(layer for layer in layers if _has_less(layer)),
        constant_results=tuple(name for name, _ in gone if name in constants),
        removed_nodes=tuple(name for name, _ in gone if name not in constants),
        dropped_clamps=tuple(
            key[0] for key, node in old.items() if key in new and _clamp(node) != _clamp(new[key])
        ),
    )


def _computing(graph: Graph) -> dict[_Key, Node]:
    seen: Counter[str] = Counter()
    nodes: dict[_Key, Node] = {}
    for node in graph.nodes:
        if not isinstance(node.op, Constant):
            nodes[node.output.name, seen[node.output.name]] = node
            seen[node.output.name] += 1
    return nodes


def _constant_channels(graph: Graph) -> Mapping[Node, int]:
    """Channels of each node's first result that hold one value."""
    ranges = value_ranges(graph)
    found: dict[Node, int] = {}
    for node in graph.nodes:
        range_ = ranges[node.output]
        found[node] = 0 if range_ is None else int(range_.is_constant.sum())
    return found


def _layer(
    before: Graph,
    after: Graph,
    was: tuple[Node, int],
    node: Node | None,
    constant_after: Mapping[Node, int],
) -> SimplifiedLayer:
    """One layer: channels that went were constant as far as there are fewer of these now."""
    old, constant = was
    count = channel_count(old.output.type)
    left = 0 if node is None else channel_count(node.output.type)
    still_constant = 0 if node is None else constant_after[node]
    went = min(max(constant - still_constant, 0), count - left)
    return SimplifiedLayer(
        name=old.name or old.output.name,
        op=old.op.name,
        channels_before=count,
        channels_after=left,
        constant_channels=went,
        unread_channels=count - left - went,
        macs_saved=old.macs - (0 if node is None else node.macs),
        weights_bytes_saved=_weights_bytes(before, old)
        - (0 if node is None else _weights_bytes(after, node)),
    )


def _has_less(layer: SimplifiedLayer) -> bool:
    channels_gone = layer.channels_after < layer.channels_before
    return channels_gone or layer.macs_saved > 0 or layer.weights_bytes_saved > 0


def _weights_bytes(graph: Graph, node: Node) -> int:
    data = graph.constant_data(node.inputs[1])
    return 0 if data is None else int(data.nbytes)


def _all_weights_bytes(graph: Graph) -> int:
    """Bytes of all layers' weights, each once."""
    layers = [node for node in graph.nodes if isinstance(node.op, _WEIGHTED)]
    distinct = {node.inputs[1]: node for node in layers}
    return sum(_weights_bytes(graph, node) for node in distinct.values())


def _clamp(node: Node) -> object:
    op: Any = node.op
    return op.clamp if any(field.name == "clamp" for field in fields(op)) else None
