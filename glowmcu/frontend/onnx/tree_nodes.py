"""Nodes of trees as ONNX-ML files list them become those of `tree_ensemble`: `<=`, and sets.

Nothing in a file is believed: cycles and references to what is not there are refused. Nodes that
ask value by value and lead to one node (converters of LightGBM and XGBoost write sets of categories
so) become one that asks for a set. What else several branches lead to stays one node where
`laid_out` can have it so.
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
from glowmcu.ops.trees import MOST_NODES, TreeEnsemble, laid_out

#: What a leaf adds: targets and weights.
Row = tuple[tuple[int, float], ...]
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
MEMBER = "BRANCH_MEMBER"
_EQUALS = ("BRANCH_EQ", "BRANCH_NEQ", MEMBER)
#: Of all that nodes ask: a chain that is entered at each of its nodes is as many sets.
_MOST_VALUES = 2**20
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
    `mode`, `members` are of MEMBER; what is not a number goes where the comparison fails, or to
    `true` if that `tracks`.
    """

    feature: int
    mode: str
    value: float
    tracks: bool
    true: int
    false: int
    members: tuple[float, ...] = ()


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


@dataclass
class _Nodes:
    """Nodes in any order, with branches by their numbers in the file; a leaf has its row `left`."""

    features: list[int] = field(default_factory=list)
    thresholds: list[np.float32] = field(default_factory=list)
    missing_left: list[bool] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    rows: dict[Row, int] = field(default_factory=dict)
    sets: dict[tuple[np.float32, ...], int] = field(default_factory=dict)
    values: int = 0

    def compare(
        self, feature: int, threshold: np.float32, missing_left: bool, left: int, right: int,
        asked: int = -1,
    ) -> None:  # fmt: skip
        """One more node."""
        expect_few(len(self.features) + 1, "nodes of trees")
        self.features.append(feature)
        # A zero is at most any zero: bits are compared as integers later.
        self.thresholds.append(threshold + np.float32(0))
        self.missing_left.append(missing_left)
        self.left.append(left)
        self.right.append(right)
        self.asked.append(asked)

    def ask(
        self, feature: int, members: set[np.float32], missing_left: bool, left: int, right: int
    ) -> None:
        """One that asks for a set."""
        asked = self.sets.setdefault(tuple(sorted(members)), len(self.sets))
        self.compare(feature, np.float32(0), missing_left, left, right, asked)

    def leaf(self, row: Row) -> None:
        """One that gives a row."""
        self.compare(-1, np.float32(0), False, self.rows.setdefault(row, len(self.rows)), 0)


def tree_ensemble(forest: Forest, weights_type: type[np.generic] = np.float32) -> TreeEnsemble:
    """The operator. Raises Unsupported for what is no forest."""
    _check_ways(forest)
    nodes = _Nodes()
    places: dict[int, int] = {}
    todo = list(forest.roots)
    while todo:
        number = todo.pop()
        if number in places:
            continue
        places[number] = len(nodes.features)
        node = forest.nodes[number]
        if isinstance(node, Leaf):
            nodes.leaf(node.row)
        else:
            todo += _add_branch(nodes, forest, node)
    inner = np.array(nodes.features) >= 0
    left, right = (
        np.array(
            [places[way] if is_inner else way for way, is_inner in zip(ways, inner, strict=True)]
        )
        for ways in (nodes.left, nodes.right)
    )
    found = laid_out([places[root] for root in forest.roots], inner, left, right)
    if found is None:
        raise Unsupported("GM115", f"its trees have more than {MOST_NODES} nodes, written out")
    if found.levels > _MOST_LEVELS:
        raise Unsupported("GM105", f"a tree of more than {_MOST_LEVELS} levels")
    entries = [entry for row in nodes.rows for entry in row]
    ends = np.cumsum([0, *map(len, nodes.rows)])
    if not all(math.isfinite(weight) for _, weight in entries):
        raise Unsupported("GM105", "weights of trees must be finite")
    order = found.order
    return TreeEnsemble(
        forest.targets, _indices(found.roots), _indices(nodes.features)[order],
        np.array(nodes.thresholds, np.float32)[order],
        np.array(nodes.missing_left, np.bool_)[order],
        _indices(found.left), _indices(found.right), _indices(ends),
        _indices([target for target, _ in entries]),
        np.array([weight for _, weight in entries], weights_type), **_sets(nodes, order),
    )  # fmt: skip


def _sets(nodes: _Nodes, order: Array) -> dict[str, Array]:
    """Fields of what nodes ask for, if any does."""
    if not nodes.sets:
        return {}
    return {
        "sets": _indices(nodes.asked)[order],
        "set_starts": _indices(np.cumsum([0, *map(len, nodes.sets)])),
        "members": np.array([member for key in nodes.sets for member in key], np.float32),
    }


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


def _add_branch(nodes: _Nodes, forest: Forest, node: Branch) -> tuple[int, int]:
    """Its nodes here; which of the file's come behind them."""
    mode, value, true, false = node.mode, node.value, node.true, node.false
    _check_branch(node)
    if mode in _EQUALS:
        return _add_set(nodes, forest, node)
    below = mode in ("BRANCH_LT", "BRANCH_GTE")
    threshold = rounded_below(value) if below else rounded(value)
    if mode in ("BRANCH_GT", "BRANCH_GTE"):
        nodes.compare(node.feature, threshold, not node.tracks, false, true)
    else:
        nodes.compare(node.feature, threshold, node.tracks, true, false)
    return true, false


def _check_branch(node: Branch) -> None:
    mode = node.mode
    if mode not in MODES and not node.members:
        raise Unsupported("GM105", f"nodes that compare by {mode[:40]} are not supported")
    for value in node.members or (node.value,):
        is_least = rounded(value) == -math.inf if mode in _EQUALS else value == -math.inf
        if math.isnan(value) or (is_least and mode not in ("BRANCH_LEQ", "BRANCH_GT")):
            raise Unsupported("GM105", f"a node compares with {value} by {mode}")
    if not 0 <= node.feature <= _MOST_FEATURES:
        raise Unsupported("GM101", f"a node compares feature {node.feature}")


def _add_set(nodes: _Nodes, forest: Forest, first: Branch) -> tuple[int, int]:
    """Whether a feature is one of some values, which a file may ask one by one."""
    members: set[np.float32] = set()
    node: Leaf | Branch = first
    tracks, (same, other) = False, _equal_and_other(first)
    while isinstance(node, Branch) and node.feature == first.feature:
        if node.mode not in _EQUALS or _equal_and_other(node)[0] != same:
            break
        _check_branch(node)
        values = node.members or (node.value,)
        nodes.values += len(values)
        if nodes.values > _MOST_VALUES:
            raise Unsupported("GM115", f"its trees ask for more than {_MOST_VALUES} values")
        # A zero is any zero.
        members.update(rounded(value) + np.float32(0) for value in values)
        # What is not a number goes where all of them lead: to the same end if any says so.
        tracks |= node.tracks and node.mode != "BRANCH_NEQ"
        other = _equal_and_other(node)[1]
        node = forest.nodes[other]
    nodes.ask(first.feature, members, tracks, same, other)
    return same, other


def _equal_and_other(node: Branch) -> tuple[int, int]:
    """Where a node leads if its feature has the value, and if not."""
    return (node.false, node.true) if node.mode == "BRANCH_NEQ" else (node.true, node.false)
