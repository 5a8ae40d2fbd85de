"""Trees on what features are stored as: the thresholds are integers of that type.

`x <= t` of the real numbers is `q <= q'` of stored ones, for they grow with each other; q' is the
largest that stands for t or less. The bits of float32 are ordered likewise once the negative ones
are turned over: a core compares words, and no float.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from glowmcu.errors import error
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.kernels.kernel import Site, once_a_site
from glowmcu.ops.trees import MOST_NODES, TreeEnsemble, laid_out, real_features

#: Behind the bits of the least float32, turned over: what is not a number comes before or behind.
LEAST_KEY = 0x007FFFFF


@dataclass(frozen=True, order=True)
class Key:
    """A feature as it is compared: what is not a number is larger than all others, or `low`."""

    feature: int
    low: bool = False


@dataclass(frozen=True, eq=False)
class StoredTrees:
    """Nodes in the order of a walk that goes left first; a leaf's `row` stands in `left`.

    `keys[key[n]]` is what node n compares with `thresholds[n]`; `key[n]` is -1 for a leaf.
    """

    element: ElementType
    keys: tuple[Key, ...]
    roots: Array
    key: Array
    thresholds: Array
    left: Array
    right: Array

    @cached_property
    def inner(self) -> Array:
        """Which nodes compare."""
        return self.key >= 0

    @cached_property
    def visited(self) -> float:
        """Comparisons of a run, if every second one holds."""
        reached = np.zeros(self.key.size)
        np.add.at(reached, self.roots, 1.0)
        for node in np.flatnonzero(self.inner):
            reached[self.left[node]] += reached[node] / 2
            reached[self.right[node]] += reached[node] / 2
        return float(reached[self.inner].sum())

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


@once_a_site
def stored_trees(site: Site) -> StoredTrees:
    """The trees of a `tree_ensemble`, comparisons that are always true or false left out."""
    op, type_ = site.node.op, site.signature.inputs[0]
    assert isinstance(op, TreeEnsemble)
    thresholds = stored_thresholds(op.thresholds, type_)
    target = np.arange(op.features.size)
    if not type_.element.is_float:
        target = _decided(op, thresholds, *type_.element.limits)
    is_low = op.missing_left & type_.element.is_float
    inner = op.features >= 0
    pairs = zip(op.features[inner].tolist(), is_low[inner].tolist(), strict=True)
    keys = sorted({Key(feature, low) for feature, low in pairs})
    numbers = {key: number for number, key in enumerate(keys)}
    left, right = (
        np.where(inner, target[np.where(inner, way, 0)], way) for way in (op.left, op.right)
    )
    found = laid_out(target[op.roots].tolist(), inner, left, right)
    if found is None:
        raise error(
            "GM115", f"its trees have more than {MOST_NODES} nodes, written out", site.node.name
        )
    order = found.order
    key = [
        numbers[Key(int(op.features[node]), bool(is_low[node]))] if inner[node] else -1
        for node in order
    ]
    return StoredTrees(
        type_.element,
        tuple(keys),
        found.roots,
        np.array(key),
        thresholds[order].astype(np.int64),
        found.left,
        found.right,
    )


def _decided(op: TreeEnsemble, thresholds: Array, lowest: int, highest: int) -> Array:
    """For each node the first at or below it whose comparison depends on the feature."""
    target = np.arange(op.features.size)
    for node in reversed(np.flatnonzero(op.features >= 0).tolist()):
        if thresholds[node] >= highest:
            target[node] = target[op.left[node]]
        elif thresholds[node] < lowest:
            target[node] = target[op.right[node]]
    return target


def stored_thresholds(thresholds: Array, type_: TensorType) -> Array:
    """Integers: the largest stored value that is at most the threshold; one less than all of them
    where there is none. Of float32 the keys of `float_keys`.
    """
    if type_.element.is_float:
        return float_keys(thresholds).astype(np.int64)
    lowest, highest = type_.element.limits
    if type_.element.size_bytes <= 2:
        stored = np.arange(lowest, highest + 1).astype(type_.element.numpy)
        real = real_features(stored, type_)
        return np.searchsorted(real, thresholds, side="right") + np.int64(lowest - 1)
    found = [_largest_integer(float(t), lowest, highest) for t in thresholds]
    # One less than all of 64 bits is an integer of Python's.
    return np.array(found, object if min(found, default=0) < lowest == -(2**63) else np.int64)


def _largest_integer(threshold: float, lowest: int, highest: int) -> int:
    """The largest integer that is at most the threshold when it is rounded to float32."""
    low, high = lowest - 1, highest
    while low < high:
        middle = (low + high + 1) // 2
        if float(np.float32(middle)) <= threshold:
            low = middle
        else:
            high = middle - 1
    return low


def float_keys(values: Array) -> Array:
    """uint32 in the order of float32, -infinity first; what is not a number behind infinity."""
    bits = values.astype(np.float32).view(np.uint32)
    turned = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)).astype(np.uint32)
    return turned - np.uint32(LEAST_KEY)


def real_of_key(key: int) -> float:
    """The number that has this key among `float_keys`, or an infinity."""
    bits = np.uint32((key + LEAST_KEY) & 0xFFFFFFFF)
    bits ^= np.uint32(0x80000000 if bits >> 31 else 0xFFFFFFFF)
    return float(bits.view(np.float32))
