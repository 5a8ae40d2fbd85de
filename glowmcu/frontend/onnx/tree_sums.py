"""What the trees of a forest add up to, without what is done to the scores behind them.

Votes stay integers: where every leaf adds one and the same weight to a class, or nothing, the trees
are counted, and a table has the sum of each number of weights, rounded as it would be.
Source: ONNX-ML's definitions, and where they say nothing onnxruntime: trees are added one by one in
float32, in the file's order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.frontend.graph_builder import expect_few
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import
from glowmcu.frontend.onnx.post_transforms import real
from glowmcu.frontend.onnx.spatial import reshaped
from glowmcu.frontend.onnx.tree_nodes import Branch, Forest, Leaf, Row, tree_ensemble
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Add
from glowmcu.ops.gather import Gather
from glowmcu.ops.reduction import ReduceMax, ReduceMin
from glowmcu.ops.trees import FEATURE_TYPES

#: More trees than this are summed as real numbers: the table of sums would grow too large.
_MOST_VOTES = 1024
#: In the place of a weight that a tree does not have for a target: less, or more, than any.
_FARTHEST = float(np.finfo(np.float32).max)


def always_given(forest: Forest) -> set[int]:
    """Targets that every leaf of some tree has a weight for."""
    given: set[int] = set()
    for leaves in _rows_of_trees(forest):
        given |= set.intersection(*({target for target, _ in row} for row in leaves))
    return given


def _rows_of_trees(forest: Forest) -> list[list[Row]]:
    """The rows of each tree's leaves. A damaged tree is reported when it is made."""
    found = []
    for root in forest.roots:
        nodes = [forest.nodes[place] for place in _reached(forest, root)]
        found.append([node.row for node in nodes if isinstance(node, Leaf)] or [()])
    return found


def _reached(forest: Forest, root: int) -> list[int]:
    """The nodes of a tree, as far as there are any."""
    found, todo = dict[int, None](), [root]
    while todo:
        number = todo.pop()
        if number in found or not 0 <= number < len(forest.nodes):
            continue
        found[number] = None
        node = forest.nodes[number]
        if isinstance(node, Branch):
            todo += [node.true, node.false]
    return list(found)


@dataclass(frozen=True)
class Sums:
    """What the trees add up to: real numbers, or votes, with the sum of each number of weights."""

    value: Value
    table: Array | None

    def scores(self, state: Import, op: NodeRecord) -> Value:
        """float32 (N, targets)."""
        if self.table is None:
            return self.value
        table = state.add_constant(self.table, "sums")
        return state.add(op, Gather(0), [table, self.value], ElementType.F32)


def features_of(state: Import, op: NodeRecord) -> Value:
    x = state.value(op, 0)
    if x.type.rank == 1:
        x = reshaped(state, op, x, (1, *x.type.shape))
    if x.type.element not in FEATURE_TYPES:
        raise Unsupported("GM105", f"{op.kind}: expected numbers as features, got {x.type}")
    return x


def aggregated(state: Import, op: NodeRecord, forest: Forest, aggregate: str) -> Sums:
    """The trees' contributions, without base values."""
    x = features_of(state, op)
    if not forest.roots:
        raise Unsupported("GM101", f"{op.kind} has no trees")
    if aggregate in ("MIN", "MAX"):
        return Sums(_extreme(state, op, x, forest, aggregate), None)
    if aggregate not in ("SUM", "AVERAGE"):
        raise Unsupported("GM105", f"{op.kind}: aggregate_function {aggregate[:40]}")
    forest = replace(forest, nodes=[_without_zeros(node) for node in forest.nodes])
    trees, weight = len(forest.roots), _only_weight(forest.rows)
    if weight is not None and trees <= _MOST_VOTES:
        nodes = [Leaf(votes(node.row)) if isinstance(node, Leaf) else node
                 for node in forest.nodes]  # fmt: skip
        ensemble = tree_ensemble(replace(forest, nodes=nodes), np.int32)
        table = np.cumsum(np.full(trees + 1, weight, np.float32), dtype=np.float32)
        table = np.concatenate([np.zeros(1, np.float32), table[:-1]])
        table = table / np.float32(trees) if aggregate == "AVERAGE" else table
        return Sums(state.add(op, ensemble, [x], ElementType.I32), table)
    total = state.add(op, tree_ensemble(forest), [x], ElementType.F32)
    if aggregate == "AVERAGE":
        total = state.add(op, Div(), [total, real(state, trees, "trees")])
    return Sums(total, None)


def _without_zeros(node: Leaf | Branch) -> Leaf | Branch:
    if not isinstance(node, Leaf):
        return node
    return Leaf(tuple(entry for entry in node.row if entry[1] != 0))


def votes(row: Row) -> Row:
    return tuple((target, 1) for target, _ in row)


def _only_weight(rows: Sequence[Row]) -> float | None:
    """The weight of all leaves, which add it to one target or nothing; None if there is none."""
    weights = {weight for row in rows for _, weight in row}
    if len(weights) != 1 or any(len(row) > 1 for row in rows):
        return None
    (weight,) = weights
    return weight if weight > 0 else None


def _extreme(state: Import, op: NodeRecord, x: Value, forest: Forest, aggregate: str) -> Value:
    """Every tree's scores by themselves, then the least or the largest."""
    targets, trees = forest.targets, len(forest.roots)
    each = _scored_apart(forest, _FARTHEST if aggregate == "MIN" else -_FARTHEST)
    _check_given(op, forest)
    scores = state.add(op, tree_ensemble(each), [x], ElementType.F32)
    scores = reshaped(state, op, scores, (x.type.shape[0], trees, targets))
    reduction = ReduceMin((1,), False) if aggregate == "MIN" else ReduceMax((1,), False)
    return state.add(op, reduction, [scores])


def _scored_apart(forest: Forest, farthest: float) -> Forest:
    """Each tree with targets of its own, `farthest` where a leaf gives none. Nodes that trees share
    are there once for each.
    """
    targets = forest.targets
    nodes: list[Leaf | Branch] = []
    roots = []
    for number, root in enumerate(forest.roots):
        reached = _reached(forest, root)
        leaves = sum(isinstance(forest.nodes[place], Leaf) for place in reached)
        expect_few(len(nodes) + len(reached) + leaves * targets, "weights of trees")
        places = {place: len(nodes) + at for at, place in enumerate(reached)}
        roots.append(places.get(root, -1))
        for place in reached:
            node = forest.nodes[place]
            if isinstance(node, Branch):
                ways = [places.get(way, -1) for way in (node.true, node.false)]
                nodes.append(replace(node, true=ways[0], false=ways[1]))
                continue
            given = dict(reversed(node.row))
            row = [(number * targets + k, given.get(k, farthest)) for k in range(targets)]
            nodes.append(Leaf(tuple(row)))
    return Forest(nodes, roots, len(forest.roots) * targets)


def _check_given(op: NodeRecord, forest: Forest) -> None:
    """A target that some run may get no weight for has no extreme one."""
    if len(always_given(forest)) != forest.targets:
        raise Unsupported("GM105", f"{op.kind}: a target may get no weight of any tree")


def with_base(state: Import, op: NodeRecord, scores: Value, base: Array) -> Value:
    if not base.size:
        return scores
    if base.size != scores.type.shape[1]:
        raise Unsupported(
            "GM105", f"{op.kind}: {base.size} base values for {scores.type.shape[1]} scores"
        )
    offset = state.add_constant(base.astype(np.float32).reshape(1, -1), "base_values")
    return state.add(op, Add(), [scores, offset])
