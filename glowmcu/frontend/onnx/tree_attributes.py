"""Trees as attributes of ONNX-ML's operators list them: versions 1 and 3, and version 5."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from glowmcu.frontend.graph_builder import expect_few
from glowmcu.frontend.onnx.container import NodeRecord, tensor_data
from glowmcu.frontend.onnx.tree_nodes import MEMBER, MODES, Branch, Forest, Leaf, Row
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.operation import Array

#: What leaves add, zeros too: more than the flash of any microcontroller holds.
_MOST_WEIGHTS = 2**20
#: Of version 5, where one leaf lies behind another's number.
_MEMBER = 6
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def numbers(op: NodeRecord, name: str) -> Array:
    """An attribute of real numbers: a list of float32, or a tensor with `_as_tensor` behind its
    name, which may be double.
    """
    if op.attributes.get(name):
        return np.array(op.attributes[name], np.float32)
    if op.has(f"{name}_as_tensor"):
        return tensor_data(op.attributes[f"{name}_as_tensor"], None).reshape(-1)
    return np.zeros(0, np.float32)


def choice(op: NodeRecord, name: str, names: tuple[str, ...], default: int) -> str:
    """One of `names` by its number, as version 5 has it."""
    number = op.integer(name, default)
    if not 0 <= number < len(names):
        raise Unsupported(
            "GM105", f"{op.kind}: {name} is {number}; 0 to {len(names) - 1} are known"
        )
    return names[number]


def _list(op: NodeRecord, name: str, kind: type) -> list[Any]:
    """An attribute that is a list of one kind; empty if it is absent."""
    found = op.attributes.get(name)
    if found is None:
        return []
    if not isinstance(found, list | tuple) or not all(isinstance(item, kind) for item in found):
        raise Unsupported("GM101", f"{op.kind}: attribute {name} has the wrong type")
    return list(found)


class _Lists:
    """Attributes that are lists of one length: of bytes if they are modes, else of ints."""

    def __init__(self, op: NodeRecord, names: Iterable[str]) -> None:
        self._found = {
            name: _list(op, name, bytes if name.endswith("modes") else int) for name in names
        }
        sizes = {name: len(found) for name, found in self._found.items()}
        if len(set(sizes.values())) > 1:
            text = ", ".join(f"{name} {size}" for name, size in sizes.items())
            raise Unsupported("GM101", f"{op.kind}: lists of one length are expected; got {text}")
        self.size = next(iter(sizes.values()))

    def __getitem__(self, name: str) -> list[Any]:
        return self._found[name]


def old_forest(op: NodeRecord, prefix: str, targets: int) -> Forest:
    """TreeEnsembleClassifier (`prefix` class) and TreeEnsembleRegressor (target)."""
    names = ("treeids", "nodeids", "featureids", "modes", "truenodeids", "falsenodeids")
    lists = _Lists(op, (f"nodes_{name}" for name in names))
    expect_few(lists.size, "nodes of trees")
    values = numbers(op, "nodes_values")
    if values.size != lists.size or not lists.size:
        raise Unsupported("GM101", f"{op.kind}: {values.size} values for {lists.size} nodes")
    trees, ids, features, modes, trues, falses = (lists[f"nodes_{name}"] for name in names)
    places = {pair: place for place, pair in enumerate(zip(trees, ids, strict=True))}
    if len(places) != lists.size:
        raise Unsupported("GM101", f"{op.kind}: two nodes of a tree have one number")
    roots = [i for i, tree in enumerate(trees) if i == 0 or tree != trees[i - 1]]
    if len({trees[root] for root in roots}) != len(roots):
        raise Unsupported("GM105", f"{op.kind}: nodes of a tree are listed in two places")
    rows = _old_rows(op, prefix, places, targets)
    tracks = _list(op, "nodes_missing_value_tracks_true", int)
    nodes: list[Leaf | Branch] = []
    for place, (tree, mode) in enumerate(zip(trees, modes, strict=True)):
        text = mode.decode("utf-8", "replace")
        if text == "LEAF":
            nodes.append(Leaf(rows.get(place, ())))
            continue
        true, false = (places.get((tree, side[place]), -1) for side in (trues, falses))
        tracked = place < len(tracks) and tracks[place] == 1
        value = float(values[place])
        nodes.append(Branch(features[place], text, value, tracked, true, false))
    return Forest(nodes, roots, targets)


def _old_rows(
    op: NodeRecord, prefix: str, places: Mapping[tuple[int, int], int], targets: int
) -> dict[int, Row]:
    """What leaves add, by their places."""
    lists = _Lists(op, (f"{prefix}_{name}" for name in ("treeids", "nodeids", "ids")))
    weights = numbers(op, f"{prefix}_weights")
    if weights.size != lists.size:
        raise Unsupported("GM101", f"{op.kind}: {weights.size} weights, expected {lists.size}")
    _expect_few_weights(lists.size)
    rows: dict[int, list[tuple[int, float]]] = {}
    trees, ids = lists[f"{prefix}_treeids"], lists[f"{prefix}_nodeids"]
    for tree, node, target, weight in zip(
        trees, ids, lists[f"{prefix}_ids"], weights.tolist(), strict=True
    ):
        if (tree, node) not in places:
            raise Unsupported("GM101", f"{op.kind}: a weight of node {node} of tree {tree}")
        _check_target(op, target, targets)
        rows.setdefault(places[tree, node], []).append((target, weight))
    return {place: tuple(row) for place, row in rows.items()}


def _expect_few_weights(count: int) -> None:
    """A leaf may add to several targets, and to one of them more than once."""
    if count > _MOST_WEIGHTS:
        raise Unsupported(
            "GM115", f"it has {count} weights of trees; {_MOST_WEIGHTS} are taken",
            "no forest of that size fits a microcontroller: train fewer or smaller trees",
        )  # fmt: skip


def _check_target(op: NodeRecord, target: int, targets: int) -> None:
    if not 0 <= target < targets:
        raise Unsupported("GM101", f"{op.kind}: a weight for target {target} of {targets}")


_NEW_NODES = (
    "nodes_featureids", "nodes_truenodeids", "nodes_trueleafs", "nodes_falsenodeids",
    "nodes_falseleafs",
)  # fmt: skip


def new_forest(op: NodeRecord) -> Forest:
    """TreeEnsemble: leaves are numbered by themselves, behind the other nodes here."""
    targets = op.integer("n_targets", 1)
    lists = _Lists(op, _NEW_NODES)
    leaf_targets = _list(op, "leaf_targetids", int)
    expect_few(lists.size + len(leaf_targets), "nodes of trees")
    splits = _tensor(op, "nodes_splits")
    modes, weights = _tensor(op, "nodes_modes"), _tensor(op, "leaf_weights")
    if modes.size != lists.size or splits.size != lists.size:
        found = f"{modes.size} modes and {splits.size} splits"
        raise Unsupported("GM101", f"{op.kind}: {found} for {lists.size} nodes")
    if weights.size != len(leaf_targets):
        found = f"{weights.size} weights for {len(leaf_targets)} leaves"
        raise Unsupported("GM101", f"{op.kind}: {found}")
    maker = _NewNodes(op, lists, modes, splits)
    for target in leaf_targets:
        _check_target(op, target, targets)
    maker.leaves = [
        Leaf(((target, float(weight)),))
        for target, weight in zip(leaf_targets, weights.tolist(), strict=True)
    ]
    return Forest(maker.made(), _list(op, "tree_roots", int), targets)


def _tensor(op: NodeRecord, name: str) -> Array:
    if not op.has(name):
        raise Unsupported("GM101", f"{op.kind} lacks {name}")
    return tensor_data(op.attributes[name], None).reshape(-1)


class _NewNodes:
    """Nodes of version 5. Each way to a leaf is a node of its own, so that none has two."""

    def __init__(self, op: NodeRecord, lists: _Lists, modes: Array, splits: Array) -> None:
        self._op, self._lists = op, lists
        self._modes, self._splits = modes, splits
        self._tracks = _list(op, "nodes_missing_value_tracks_true", int)
        self.leaves: list[Leaf] = []
        self._nodes: list[Leaf | Branch] = []
        self._sets = _member_sets(op)[::-1]

    def made(self) -> list[Leaf | Branch]:
        """All nodes; those of the file have their numbers."""
        count = self._lists.size
        self._nodes = [Leaf(())] * count
        for place in range(count):
            mode = int(self._modes[place])
            feature = self._lists["nodes_featureids"][place]
            true, false = self._child(place, "true"), self._child(place, "false")
            tracks = place < len(self._tracks) and self._tracks[place] == 1
            if mode != _MEMBER:
                name = MODES[mode] if 0 <= mode < len(MODES) else f"mode {mode}"
                value = float(self._splits[place])
                self._nodes[place] = Branch(feature, name, value, tracks, true, false)
                continue
            if not self._sets:
                raise Unsupported("GM105", f"{self._op.kind}: a set of values must have members")
            members = tuple(self._sets.pop())
            self._nodes[place] = Branch(feature, MEMBER, 0.0, tracks, true, false, members)
        return self._nodes

    def _add(self, node: Leaf | Branch) -> int:
        expect_few(len(self._nodes) + 1, "nodes of trees")
        self._nodes.append(node)
        return len(self._nodes) - 1

    def _child(self, place: int, side: str) -> int:
        number = self._lists[f"nodes_{side}nodeids"][place]
        if self._lists[f"nodes_{side}leafs"][place] != 1:
            return number if 0 <= number < self._lists.size else -1
        if not 0 <= number < len(self.leaves):
            raise Unsupported("GM101", f"{self._op.kind}: node {place} ends at leaf {number}")
        return self._add(self.leaves[number])


def _member_sets(op: NodeRecord) -> list[list[float]]:
    """Sets of values in a row, each with a NaN behind it."""
    if not op.has("membership_values"):
        return []
    sets: list[list[float]] = [[]]
    for value in _tensor(op, "membership_values").tolist():
        if value != value:
            sets.append([])
        else:
            sets[-1].append(value)
    return [members for members in sets if members]
