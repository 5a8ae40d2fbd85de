"""Sets of categories in trees: a file asks value by value, and all that hold lead to one node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.ir.operation import Array
from glowmcu.ops.trees import TreeEnsemble
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.tree_models import tree_model

FEATURES = 3
CATEGORIES = 24


@dataclass
class SetTrees:
    """Attributes of trees of sets in the making: nested, a few of them thresholds."""

    draw: np.random.Generator
    mode: str = "BRANCH_EQ"
    tracks: bool = False
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
            node = self._node(tree, "BRANCH_LEQ", feature, float(draw.integers(CATEGORIES)))
            return self._lead(tree, [node], self.grow(tree, depth - 1), self.grow(tree, depth - 1))
        values = draw.choice(CATEGORIES, int(draw.integers(1, 9)), replace=False)
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


def rows(seed: int, count: int = 24) -> Array:
    """Categories, some in between, beyond them all or missing."""
    draw = np.random.default_rng(seed)
    found = draw.integers(-1, CATEGORIES + 1, (count, FEATURES)).astype(np.float32)
    odd = draw.random(found.shape) < 0.2
    extra = np.array([np.nan, 3.5, np.inf, -np.inf, 11.999999], np.float32)
    return np.where(odd, draw.choice(extra, found.shape), found)


def ensemble(attributes: dict[str, Any], features: int) -> TreeEnsemble:
    """What is imported."""
    data = tree_model("TreeEnsembleRegressor", attributes, features)
    found = [node.op for node in reference_graph(data, "m.onnx").nodes]
    (op,) = [op for op in found if isinstance(op, TreeEnsemble)]
    return op


@pytest.mark.parametrize("tracks", [False, True], ids=["plain", "missing values"])
@pytest.mark.parametrize("mode", ["BRANCH_EQ", "BRANCH_NEQ"])
@pytest.mark.parametrize("seed", range(4))
def test_nested_sets_lead_where_the_file_says(seed: int, mode: str, tracks: bool) -> None:
    attributes = set_trees(3, 6, seed, mode=mode, tracks=tracks).attributes()
    data = tree_model("TreeEnsembleRegressor", attributes, FEATURES)

    def expected(_: bytes, arrays: Sequence[Array]) -> list[Array]:
        return [walked(attributes, arrays[0][0])]

    check_model(data, [[row[np.newaxis]] for row in rows(seed)], expected, Options("m"))


def test_sets_take_two_nodes_a_value_and_what_they_lead_to_is_there_once() -> None:
    attributes = set_trees(4, 10, 1).attributes()
    op = ensemble(attributes, FEATURES)
    modes = attributes["nodes_modes"]
    assert op.features.size == len(modes) + modes.count("BRANCH_EQ")


def test_a_value_above_all_of_a_set_is_compared_once() -> None:
    """From the largest on: what is above one is above the rest."""
    count = 12
    attributes = {
        "nodes_treeids": [0] * (count + 2), "nodes_nodeids": list(range(count + 2)),
        "nodes_featureids": [0] * (count + 2), "nodes_values": [2.0 * i for i in range(count + 2)],
        "nodes_modes": ["BRANCH_EQ"] * count + ["LEAF"] * 2,
        "nodes_truenodeids": [count] * count + [0, 0],
        "nodes_falsenodeids": [*range(1, count), count + 1, 0, 0],
        "target_treeids": [0, 0], "target_nodeids": [count, count + 1], "target_ids": [0, 0],
        "target_weights": [1.0, 2.0], "n_targets": 1,
    }  # fmt: skip
    op = ensemble(attributes, 1)
    assert op.thresholds[0] == 2 * count - 2
    assert op.features[op.right[0]] == -1


@pytest.mark.parametrize(
    ("mode", "value"), [("BRANCH_LEQ", -1e30), ("BRANCH_LT", -(2.0**63)), ("BRANCH_EQ", -1e30)]
)
def test_a_threshold_below_all_integers_is_never_met(mode: str, value: float) -> None:
    attributes = {
        "nodes_treeids": [0] * 3, "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0] * 3,
        "nodes_values": [value, 0.0, 0.0], "nodes_modes": [mode, "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0],
        "target_weights": [1.0, -1.0], "n_targets": 1,
    }  # fmt: skip
    data = tree_model("TreeEnsembleRegressor", attributes, 1, dtype="int64")
    rows = [[np.array([[number]], np.int64)] for number in (-(2**63), 0, 2**63 - 1)]
    check_model(data, rows, lambda *_: [np.array([[-1.0]], np.float32)], Options("m"))
