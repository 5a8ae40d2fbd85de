"""Trees that ask value by value whether a feature is in a set, as converters write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from glowmcu.ir.operation import Array

FEATURES = 3
CATEGORIES = 24


@dataclass
class SetTrees:
    """Attributes of trees of sets in the making: nested, a few of them thresholds."""

    draw: np.random.Generator
    mode: str = "BRANCH_EQ"
    tracks: bool = False
    #: Categories are drawn from these.
    pool: Sequence[float] = range(CATEGORIES)
    #: Of a set, at most.
    most: int = 8
    nodes: dict[str, list[Any]] = field(default_factory=dict)
    leaves: list[tuple[int, int, float]] = field(default_factory=list)

    def _node(self, tree: int, mode: str, feature: int = 0, value: float = 0.0) -> int:
        number = self.nodes.get("treeids", []).count(tree)
        entry = {
            "treeids": tree, "nodeids": number, "modes": mode, "featureids": feature,
            "values": value, "truenodeids": 0, "falsenodeids": 0,
            "missing_value_tracks_true": int(self.tracks and self.draw.random() < 0.3),
        }  # fmt: skip
        for name, item in entry.items():
            self.nodes.setdefault(name, []).append(item)
        return number

    def grow(self, tree: int, depth: int) -> int:
        """A node and all below it; its number."""
        draw = self.draw
        if not depth:
            node = self._node(tree, "LEAF")
            self.leaves.append((tree, node, float(np.float32(draw.normal()))))
            return node
        feature = int(draw.integers(FEATURES))
        if depth % 2:
            node = self._node(tree, "BRANCH_LEQ", feature, float(draw.choice(self.pool)))
            return self._lead(tree, [node], self.grow(tree, depth - 1), self.grow(tree, depth - 1))
        values = draw.choice(self.pool, int(draw.integers(1, self.most + 1)), replace=False)
        chain = [self._node(tree, self.mode, feature, float(value)) for value in values]
        return self._lead(tree, chain, self.grow(tree, depth - 1), self.grow(tree, depth - 1))

    def _lead(self, tree: int, chain: Sequence[int], same: int, other: int) -> int:
        """Every node of the chain to `same`, or on."""
        start = self.nodes["treeids"].index(tree)
        for node, following in zip(chain, [*chain[1:], other], strict=True):
            is_other = self.nodes["modes"][start + node] == "BRANCH_NEQ"
            self.nodes["truenodeids"][start + node] = following if is_other else same
            self.nodes["falsenodeids"][start + node] = same if is_other else following
        return chain[0]

    def attributes(self) -> dict[str, Any]:
        """Of a TreeEnsembleRegressor of one target."""
        trees, nodes, weights = zip(*self.leaves, strict=True)
        return {
            **{f"nodes_{name}": values for name, values in self.nodes.items()},
            "target_treeids": list(trees), "target_nodeids": list(nodes),
            "target_ids": [0] * len(trees), "target_weights": list(weights), "n_targets": 1,
        }  # fmt: skip


def set_trees(trees: int, depth: int, seed: int, **options: Any) -> SetTrees:
    made = SetTrees(np.random.default_rng(seed), **options)
    for number in range(trees):
        # The walk writes the node that it begins with first.
        assert made.grow(number, depth) == 0
    return made


def walked(attributes: dict[str, Any], row: Array) -> Array:
    """The sum of the leaves that the file's nodes lead to, one by one."""
    weights = dict(
        zip(
            zip(attributes["target_treeids"], attributes["target_nodeids"], strict=True),
            attributes["target_weights"], strict=True,
        )
    )  # fmt: skip
    total, trees = np.float32(0), attributes["nodes_treeids"]
    for tree in range(max(trees) + 1):
        start = place = trees.index(tree)
        while (mode := attributes["nodes_modes"][place]) != "LEAF":
            x, value = row[attributes["nodes_featureids"][place]], attributes["nodes_values"][place]
            holds = {"BRANCH_EQ": x == value, "BRANCH_NEQ": x != value, "BRANCH_LEQ": x <= value}
            tracks = attributes["nodes_missing_value_tracks_true"][place]
            way = "true" if holds[mode] or (np.isnan(x) and tracks) else "false"
            place = start + attributes[f"nodes_{way}nodeids"][place]
        total += np.float32(weights[tree, place - start])
    return np.array([[total]], np.float32)
