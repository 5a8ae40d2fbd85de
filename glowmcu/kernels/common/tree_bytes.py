"""Trees as bytes: a node, then its left branch, then its right one.

    node: feature (1 or 2 bytes, the first below 0x80), threshold (1 or 2), bytes to the right one
          of one that asks for a set, where that begins (1 to 3) in place of the threshold
    leaf: what it stores, 1 to 3 bytes, the first from 0x80 on

What has several bytes begins with the high one, but for thresholds.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.kernels.common.stored_trees import StoredTrees
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class TreeBytes:
    """All trees, and where each begins."""

    data: Array
    roots: Array
    feature_bytes: int
    threshold_bytes: int
    skip_bytes: int
    leaf_bytes: int
    set_bytes: int = 0

    @property
    def node_bytes(self) -> int:
        """Of a node that is no leaf."""
        return self.feature_bytes + self.threshold_bytes + self.skip_bytes

    @property
    def asking_bytes(self) -> int:
        """Of a node that asks for a set."""
        return self.feature_bytes + self.set_bytes + self.skip_bytes


def tree_bytes(
    trees: StoredTrees,
    features: Array,
    thresholds: Array,
    numbers: Array,
    threshold_bytes: int,
    set_bytes: int = 0,
) -> TreeBytes:
    """`features[k]` is where the code finds key k, `numbers[r]` what a leaf of row r stores. The
    `thresholds` of nodes that ask for sets are where these begin, in `set_bytes`.
    """
    feature_bytes = 1 if features.max(initial=0) < 0x80 else 2
    largest = int(numbers.max(initial=0))
    leaf_bytes = next(count for count in (1, 2, 3) if largest < 0x80 << (8 * (count - 1)))
    skip_bytes = 1
    while True:
        node_bytes = feature_bytes + skip_bytes + np.where(trees.asks, set_bytes, threshold_bytes)
        sizes = np.where(trees.inner, node_bytes, leaf_bytes)
        places = np.concatenate([[0], np.cumsum(sizes)])
        skips = places[trees.right] - places[:-1]
        if skips[trees.inner].max(initial=0) < 1 << (8 * skip_bytes):
            break
        skip_bytes += 1
    data = np.zeros(places[-1], np.uint8)
    inner, start = trees.inner, places[:-1]
    at = start[inner]
    feature = features[trees.key[inner]]
    for offset in range(feature_bytes):
        data[at + offset] = (feature >> (8 * (feature_bytes - 1 - offset))) & 0xFF
    at = at + feature_bytes
    for nodes, size in ((inner & ~trees.asks, threshold_bytes), (trees.asks, set_bytes)):
        for offset in range(size):
            place = start[nodes] + feature_bytes + offset
            data[place] = (thresholds[nodes] >> (8 * offset)) & 0xFF
    at = at + np.where(trees.asks, set_bytes, threshold_bytes)[inner]
    for offset in range(skip_bytes):
        data[at + offset] = (skips[inner] >> (8 * (skip_bytes - 1 - offset))) & 0xFF
    at, stored = start[~inner], numbers[trees.left[~inner]]
    for offset in range(leaf_bytes):
        data[at + offset] = (stored >> (8 * (leaf_bytes - 1 - offset))) & 0xFF
    data[at] |= 0x80
    return TreeBytes(
        data, places[trees.roots], feature_bytes, threshold_bytes, skip_bytes, leaf_bytes, set_bytes
    )
