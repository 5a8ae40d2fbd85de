"""Which of the random layers a variant takes: a sweep draws until each variant has its share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import count

from benchmarks.random_layers import random_model
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.operation import Constant
from glowmcu.ir.value_ranges import ValueRanges, value_ranges
from glowmcu.kernels.kernel import Kernel, Target, load_kernels, site_of
from glowmcu.lowering.passes import lower
from glowmcu.pipeline import reference_graph

_POOL = 100
#: A variant that accepted none of so many layers takes none; the search for others ends later.
_IN_VAIN, _MOST_DRAWN = 1000, 8_000
#: Portable kernels of other types.
_OTHER_TYPES = ("_f32", "_s16", "_u8")


def variants(family: str, target: Target, seed: int) -> list[str]:
    """Variants that accept a layer of the family, by name, but for portable ones of other types."""
    nodes = [node for _, node in _nodes(_pool(family, seed, 0)[0], 0)]
    names = {
        kernel.name
        for node in nodes
        for kernel in load_kernels().get(type(node.op), ())
        if not kernel.name.endswith(_OTHER_TYPES)
    }
    found = {name: next(accepted(family, target, name, seed), None) for name in sorted(names)}
    return [name for name, layer in found.items() if layer is not None]


def accepted(family: str, target: Target, name: str, seed: int) -> Iterator[int]:
    """Numbers of the seed's layers that the variant accepts, in order."""
    hits = 0
    for first in count(step=_POOL):
        if first >= (_MOST_DRAWN if hits else _IN_VAIN):
            return
        graph, ranges = _pool(family, seed, first)
        taken = -1
        for layer, node in _nodes(graph, first):
            kernel = _named(node, name)
            if layer != taken and kernel and kernel.accepts(site_of(graph, node, ranges), target):
                hits, taken = hits + 1, layer
                yield layer


@lru_cache(maxsize=200)
def _pool(family: str, seed: int, first: int) -> tuple[Graph, ValueRanges]:
    """The next layers of the seed as the kernels see them."""
    model = random_model(family, seed, range(first, first + _POOL))
    graph = lower(reference_graph(model, "m.tflite"), simplified=False)
    return graph, value_ranges(graph)


def _nodes(graph: Graph, first: int) -> Iterator[tuple[int, Node]]:
    """Computing nodes with the number of the layer that they are part of."""
    layer = {value: first + index for index, value in enumerate(graph.outputs)}
    for node in reversed(graph.nodes):
        known = [layer[value] for value in node.outputs if value in layer]
        layer |= dict.fromkeys(node.inputs, known[0])
    for node in graph.nodes:
        if not isinstance(node.op, Constant):
            yield layer[node.output], node


def _named(node: Node, name: str) -> Kernel | None:
    return next((k for k in load_kernels().get(type(node.op), ()) if k.name == name), None)
