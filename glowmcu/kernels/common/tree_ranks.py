"""Features as ranks: how many of the thresholds that a feature meets are below it.

It is at most the threshold with number j exactly if its rank is at most j. However features are
stored, trees then compare bytes.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.stored_trees import StoredTrees
from glowmcu.kernels.common.tree_rows import narrowest, unsigned
from glowmcu.kernels.kernel import ConstantArray
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class Ranks:
    """Thresholds of key k are those from `starts[k]` to `starts[k + 1]`, ascending; `thresholds[n]`
    is the rank that node n compares with. `rank_bytes`: 1 or 2.
    """

    sorted: ConstantArray
    starts: ConstantArray
    features: ConstantArray
    thresholds: Array
    rank_bytes: int

    @property
    def flash_bytes(self) -> int:
        return sum(item.data.nbytes for item in (self.sorted, self.starts, self.features))

    @property
    def cycles(self) -> float:
        """Of finding all ranks."""
        sizes = np.diff(self.starts.data.astype(np.int64))
        return float((25.0 + 11.0 * np.ceil(np.log2(sizes + 1))).sum())


def tree_ranks(trees: StoredTrees) -> Ranks:
    """Ranks for all keys of the trees."""
    found, thresholds = [], trees.thresholds.copy()
    keys = trees.keys[: trees.compared]
    for number in range(len(keys)):
        nodes = trees.key == number
        values, places = np.unique(trees.thresholds[nodes], return_inverse=True)
        thresholds[nodes] = places
        found.append(values)
    sizes = [values.size for values in found]
    values = np.concatenate([np.zeros(0, np.int64), *found])
    if trees.element is ElementType.F32:
        stored = values.astype(np.uint32)
    else:
        stored = narrowest(values, np.int16, np.int32, np.int64)
    # Low keys stand behind all features, whatever they are of.
    features = np.array([key.feature * 2 + key.low for key in keys])
    if trees.element is not ElementType.F32 or not any(key.low for key in keys):
        features = features // 2
    return Ranks(
        ConstantArray("sorted", stored, "thresholds of each feature, ascending"),
        ConstantArray("starts", unsigned(np.cumsum([0, *sizes])), "of a feature's thresholds"),
        ConstantArray("features", unsigned(features), "that are ranked"),
        thresholds,
        1 if max(sizes, default=0) <= 0xFF else 2,
    )
