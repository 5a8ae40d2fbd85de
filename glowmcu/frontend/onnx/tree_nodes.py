"""Nodes of trees as ONNX-ML files list them become those of `tree_ensemble`, all of them `<=`.

Nothing in a file is believed: cycles and references to what is not there are refused. What two
branches lead to (converters of LightGBM write sets of categories so) is there once for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field

import numpy as np

from glowmcu.frontend.graph_builder import expect_few
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.trees import TreeEnsemble

#: What a leaf adds: targets and weights.
Row = tuple[tuple[int, float], ...]
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
#: A feature of a file may be anything; one that a tensor has is smaller.
_MOST_FEATURES = 2**31 - 1
#: Far beyond any tree of a training; a chain of all nodes would be walked for minutes.
_MOST_LEVELS = 4096


@dataclass(frozen=True)
class Leaf:
    """The end of a tree."""

    row: Row


@dataclass(frozen=True)
class Branch:
    """A node whose branches are nodes of a list. `value` is what the feature is compared with by
    `mode`; what is not a number goes where the comparison fails, or to `true` if that `tracks`.
    """

    feature: int
    mode: str
    value: float
    tracks: bool
    true: int
    false: int


@dataclass(frozen=True)
class Forest:
    """Trees of a file: all nodes, and where each tree begins."""

    nodes: Sequence[Leaf | Branch]
    roots: Sequence[int]
    targets: int

    @property
    def rows(self) -> list[Row]:
        """What leaves add."""
        return [node.row for node in self.nodes if isinstance(node, Leaf)]


def rounded(value: float) -> np.float32:
    """A threshold in double as float32, to nearest, as features in double are: one that is the
    threshold in the file's numbers is it here.
    """
    with np.errstate(over="ignore"):
        return np.float32(value)


def rounded_below(value: float) -> np.float32:
    """The largest float32 below the rounded threshold."""
    return np.float32(np.nextafter(rounded(value), np.float32(-np.inf)))


#: Where the number of a node goes that is yet to come: one of two lists, and the place in it.
_Slot = tuple[list[int], int]


@dataclass
class _Arrays:
    """Nodes of `tree_ensemble` in the making."""

    features: list[int] = field(default_factory=list)
    thresholds: list[np.float32] = field(default_factory=list)
    missing_left: list[bool] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    rows: dict[Row, int] = field(default_factory=dict)

    def node(self, feature: int, threshold: np.float32, missing_left: bool, left: int = 0) -> int:
        """A new node; its branches are filled in later."""
        expect_few(len(self.features) + 1, "nodes of trees")
        self.features.append(feature)
        # A zero is at most any zero: bits are compared as integers later.
        self.thresholds.append(threshold + np.float32(0))
        self.missing_left.append(missing_left)
        self.left.append(left)
        self.right.append(0)
        return len(self.features) - 1

    def leaf(self, row: Row) -> int:
        return self.node(-1, np.float32(0), False, self.rows.setdefault(row, len(self.rows)))


def tree_ensemble(forest: Forest, weights_type: type[np.generic] = np.float32) -> TreeEnsemble:
    """The operator. Raises Unsupported for what is no forest."""
    _check_ways(forest)
    arrays = _Arrays()
    roots = []
    for root in forest.roots:
        roots.append(len(arrays.features))
        todo: list[tuple[int, int, list[_Slot]]] = [(0, root, [])]
        while todo:
            level, number, slots = todo.pop()
            if level > _MOST_LEVELS:
                raise Unsupported("GM105", f"a tree of more than {_MOST_LEVELS} levels")
            node, place = forest.nodes[number], len(arrays.features)
            for numbers, slot in slots:
                numbers[slot] = place
            if isinstance(node, Leaf):
                arrays.leaf(node.row)
            else:
                todo += [(level + 1, *item) for item in reversed(_add_branch(arrays, node))]
    entries = [entry for row in arrays.rows for entry in row]
    ends = np.cumsum([0, *map(len, arrays.rows)])
    if not all(math.isfinite(weight) for _, weight in entries):
        raise Unsupported("GM105", "weights of trees must be finite")
    return TreeEnsemble(
        forest.targets, _indices(roots), _indices(arrays.features),
        np.array(arrays.thresholds, np.float32), np.array(arrays.missing_left, np.bool_),
        _indices(arrays.left), _indices(arrays.right), _indices(ends),
        _indices([target for target, _ in entries]),
        np.array([weight for _, weight in entries], weights_type),
    )  # fmt: skip


def _check_ways(forest: Forest) -> None:
    """Raise Unsupported for branches to what is not there, or back to a node on the way to them."""
    done, on_the_way = set[int](), set[int]()
    todo = [(root, False) for root in forest.roots]
    while todo:
        number, is_left = todo.pop()
        if is_left:
            on_the_way.discard(number)
            done.add(number)
            continue
        if not 0 <= number < len(forest.nodes):
            raise Unsupported("GM101", f"a tree goes on at node {number}, which is not there")
        if number in on_the_way:
            raise Unsupported("GM101", f"node {number} of the trees leads back to itself")
        if number in done:
            continue
        on_the_way.add(number)
        todo.append((number, True))
        node = forest.nodes[number]
        if isinstance(node, Branch):
            todo += [(node.true, False), (node.false, False)]


def _indices(numbers: Sequence[int] | Array) -> Array:
    return np.array(numbers, np.int32)


def _add_branch(arrays: _Arrays, node: Branch) -> list[tuple[int, list[_Slot]]]:
    """Its nodes, and which of the file's come behind them, in the order of the places."""
    mode, value, true, false = node.mode, node.value, node.true, node.false
    if mode not in MODES:
        raise Unsupported("GM105", f"nodes that compare by {mode[:40]} are not supported")
    if math.isnan(value) or (value == -math.inf and mode not in ("BRANCH_LEQ", "BRANCH_GT")):
        raise Unsupported("GM105", f"a node compares with {value} by {mode}")
    if not 0 <= node.feature <= _MOST_FEATURES:
        raise Unsupported("GM101", f"a node compares feature {node.feature}")
    if mode in ("BRANCH_EQ", "BRANCH_NEQ"):
        # At most the value and not below it.
        tracks = node.tracks and mode == "BRANCH_EQ"
        if mode == "BRANCH_NEQ":
            true, false = false, true
        first = arrays.node(node.feature, rounded(value), tracks)
        second = arrays.node(node.feature, rounded_below(value), False)
        arrays.left[first] = second
        return [(false, [(arrays.left, second), (arrays.right, first)]),
                (true, [(arrays.right, second)])]  # fmt: skip
    below = mode in ("BRANCH_LT", "BRANCH_GTE")
    threshold = rounded_below(value) if below else rounded(value)
    if mode in ("BRANCH_GT", "BRANCH_GTE"):
        place = arrays.node(node.feature, threshold, not node.tracks)
        return [(false, [(arrays.left, place)]), (true, [(arrays.right, place)])]
    place = arrays.node(node.feature, threshold, node.tracks)
    return [(true, [(arrays.left, place)]), (false, [(arrays.right, place)])]
