"""Trees on what features are stored as: thresholds and sets are of integers of that type."""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property

import numpy as np

from glowmcu.errors import error
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.kernels.common.stored_sets import StoredSet, in_reach, stored_sets
from glowmcu.kernels.common.stored_thresholds import stored_thresholds
from glowmcu.kernels.kernel import Site, once_a_site
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.trees import MOST_NODES, TreeEnsemble, laid_out

#: Bytes are codes of categories by themselves; to find codes of others takes more than a few
#: comparisons do.
BYTES = (ElementType.I8, ElementType.UI8)
_FEW_RUNS = 3


@dataclass(frozen=True, order=True)
class Key:
    """A feature as it is compared: what is not a number is larger than all others, or `low`; or as
    nodes ask for sets of it.
    """

    of_sets: bool
    feature: int
    low: bool = False


@dataclass(frozen=True, eq=False)
class StoredTrees:
    """Nodes in the order of a walk that goes left first; a leaf's `row` stands in `left`.

    `keys[key[n]]` is what node n compares with `thresholds[n]`; `key[n]` is -1 for a leaf. Keys of
    sets come last: of these `thresholds[n]` is the number of one of `sets`.
    """

    element: ElementType
    keys: tuple[Key, ...]
    roots: Array
    key: Array
    thresholds: Array
    left: Array
    right: Array
    sets: tuple[StoredSet, ...] = ()

    @cached_property
    def inner(self) -> Array:
        """Which nodes compare."""
        return self.key >= 0

    @cached_property
    def compared(self) -> int:
        """Keys that are compared with thresholds."""
        return sum(not key.of_sets for key in self.keys)

    @cached_property
    def asks(self) -> Array:
        """Which nodes ask for sets."""
        return self.key >= self.compared

    @cached_property
    def visited(self) -> float:
        """Comparisons of a run, if every second one holds."""
        return self.visits(self.inner)

    def visits(self, nodes: Array | list[int]) -> float:
        """How often a run is expected at these nodes."""
        return float(self._reached[nodes].sum())

    @cached_property
    def _reached(self) -> Array:
        reached = np.zeros(self.key.size)
        np.add.at(reached, self.roots, 1.0)
        for node in np.flatnonzero(self.inner):
            reached[self.left[node]] += reached[node] / 2
            reached[self.right[node]] += reached[node] / 2
        return reached

    @cached_property
    def depth(self) -> int:
        """Of the deepest tree, in comparisons."""
        depths = np.zeros(self.key.size, np.int64)
        for node in np.flatnonzero(self.inner):
            below = depths[node] + 1
            depths[self.left[node]] = max(depths[self.left[node]], below)
            depths[self.right[node]] = max(depths[self.right[node]], below)
        return int(depths.max())

    @cached_property
    def is_of_trees(self) -> bool:
        """Whether no node has two ways to it."""
        children = np.concatenate([self.left[self.inner], self.right[self.inner], self.roots])
        return np.unique(children).size == children.size


@dataclass
class _Nodes:
    """Nodes of an ensemble, and in their places several where a set is asked run by run."""

    op: TreeEnsemble
    features: list[int] = field(default_factory=list)
    thresholds: list[int] = field(default_factory=list)
    low: list[bool] = field(default_factory=list)
    sets: list[StoredSet | None] = field(default_factory=list)
    #: Ways to nodes of the ensemble; from -1 down to nodes here, `~place`.
    ways: list[tuple[int, int]] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def add(self, node: int, threshold: int, is_low: bool, left: int, right: int) -> None:
        self.features.append(int(self.op.features[node]))
        self.thresholds.append(threshold)
        self.low.append(is_low)
        self.sets.append(None)
        self.ways.append((left, right))

    def add_runs(
        self, node: int, runs: tuple[tuple[int, int], ...], lowest: int, is_low: bool
    ) -> None:
        """From the largest run down."""
        same, other = int(self.op.left[node]), int(self.op.right[node])
        if not runs:
            self.add(node, lowest - 1, False, same, other)
        for number, (first, last) in enumerate(runs):
            place = len(self.ways)
            following = ~(place + 2) if number + 1 < len(runs) else other
            self.add(node, last, is_low and number == 0, ~(place + 1), other)
            self.add(node, first - 1, False, following, same)

    def place(self, way: int) -> int:
        """Where a way leads."""
        return self.places[way] if way >= 0 else ~way


def _nodes(op: TreeEnsemble, type_: TensorType) -> _Nodes:
    thresholds = stored_thresholds(op.thresholds, type_).tolist()
    found = stored_sets(op, type_) if op.sets.size else ()
    numbers = np.where(op.features < 0, -1, op.sets) if found else np.full(op.features.size, -1)
    bits = [found[number].bits if number >= 0 else None for number in numbers.tolist()]
    has_bits = [item is not None for item in bits]
    if type_.element not in BYTES:
        runs = sum(len(found[number].runs) for number in numbers[numbers >= 0])
        has_bits = in_reach(op, bits) if runs > _FEW_RUNS else [False] * len(bits)
    is_low = op.missing_left & type_.element.is_float
    lowest = 0 if type_.element.is_float else type_.element.limits[0]
    made = _Nodes(op)
    for node, number in enumerate(numbers.tolist()):
        made.places.append(len(made.ways))
        if number >= 0 and not has_bits[node]:
            made.add_runs(node, found[number].runs, lowest, bool(is_low[node]))
            continue
        left, right = int(op.left[node]), int(op.right[node])
        made.add(node, thresholds[node], bool(is_low[node]), left, right)
        if (item := bits[node]) is not None:
            made.sets[-1] = replace(item, low=bool(is_low[node]))
    return made


@once_a_site
def stored_trees(site: Site) -> StoredTrees:
    """The trees of a `tree_ensemble`, comparisons that are always true or false left out."""
    op, type_ = site.node.op, site.signature.inputs[0]
    assert isinstance(op, TreeEnsemble)
    nodes = _nodes(op, type_)
    inner = np.array(nodes.features) >= 0
    left, right = (
        np.array(
            [nodes.place(way[side]) if is_inner else way[side]
             for way, is_inner in zip(nodes.ways, inner, strict=True)]
        )
        for side in (0, 1)
    )  # fmt: skip
    target = np.arange(inner.size)
    if not type_.element.is_float:
        target = _decided(nodes, inner, left, right, *type_.element.limits)
    left, right = (np.where(inner, target[np.where(inner, way, 0)], way) for way in (left, right))
    roots = [int(target[nodes.places[root]]) for root in op.roots]
    found = laid_out(roots, inner, left, right)
    if found is None:
        raise error(
            "GM115", f"its trees have more than {MOST_NODES} nodes, written out", site.node.name
        )
    order = found.order.tolist()
    keys = sorted({_key(nodes, node) for node in order if inner[node]})
    numbers = {key: number for number, key in enumerate(keys)}
    sets = dict.fromkeys(item for node in order if (item := nodes.sets[node]) is not None)
    places = {item: place for place, item in enumerate(sets)}
    limits = [places.get(nodes.sets[node], nodes.thresholds[node]) for node in order]
    return StoredTrees(
        type_.element,
        tuple(keys),
        found.roots,
        np.array([numbers[_key(nodes, node)] if inner[node] else -1 for node in order]),
        np.array(limits).astype(np.int64),
        found.left,
        found.right,
        tuple(sets),
    )


def _key(nodes: _Nodes, node: int) -> Key:
    of_sets = nodes.sets[node] is not None
    return Key(of_sets, nodes.features[node], nodes.low[node] and not of_sets)


def _decided(
    nodes: _Nodes, inner: Array, left: Array, right: Array, lowest: int, highest: int
) -> Array:
    """For each node the first at or below it whose comparison depends on the feature."""
    target = np.arange(inner.size)
    for node in reversed(np.flatnonzero(inner).tolist()):
        if nodes.sets[node] is not None:
            continue
        if nodes.thresholds[node] >= highest:
            target[node] = target[left[node]]
        elif nodes.thresholds[node] < lowest:
            target[node] = target[right[node]]
    return target
