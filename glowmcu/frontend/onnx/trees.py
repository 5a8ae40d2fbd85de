"""TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor.

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
from glowmcu.frontend.onnx.class_labels import bind_label, class_count, label_of_largest
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.onnx.post_transforms import real, transform_name, transformed
from glowmcu.frontend.onnx.spatial import reshaped
from glowmcu.frontend.onnx.tree_attributes import (
    AGGREGATES,
    TRANSFORMS,
    choice,
    new_forest,
    numbers,
    old_forest,
)
from glowmcu.frontend.onnx.tree_nodes import Branch, Forest, Leaf, tree_ensemble
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.activation import Neg
from glowmcu.ops.cast import Cast
from glowmcu.ops.comparison import Greater, Select
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Add, Sub
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.reduction import ReduceMax, ReduceMin
from glowmcu.ops.trees import FEATURE_TYPES

_DOMAIN, _LABELS = "ai.onnx.ml", "classlabels_int64s"
#: More trees than this are summed as real numbers: the table of sums would grow too large.
_MOST_VOTES = 1024
#: In the place of a weight that a tree does not have for a target: less, or more, than any.
_FARTHEST = float(np.finfo(np.float32).max)


@importer("TreeEnsembleRegressor", domain=_DOMAIN)
def import_regressor(state: Import, op: NodeRecord) -> None:
    """Scores of the targets: sums, means, least or largest ones over the trees."""
    targets = _positive(op, "n_targets", 1)
    aggregate = op.text("aggregate_function", "SUM")
    forest = _first_weights(old_forest(op, "target", targets))
    scores, base = _aggregated(state, op, forest, aggregate).scores(state, op), _base(op, forest)
    scores = _with_base(state, op, scores, base)
    if base.any() and targets > 1 and len(_always_given(forest)) < targets:
        scores = _where_given(state, op, forest, scores)
    _bind_scores(state, op, scores, transform_name(op))


def _first_weights(forest: Forest) -> Forest:
    """Of a single target the first of a leaf's weights counts: skl2onnx writes a leaf's number once
    for each class.
    """
    if forest.targets > 1:
        return forest
    nodes = [Leaf(node.row[:1]) if isinstance(node, Leaf) else node for node in forest.nodes]
    return replace(forest, nodes=nodes)


def _base(op: NodeRecord, forest: Forest) -> Array:
    """Base values; none for those of several targets that no leaf has a weight for."""
    base = numbers(op, "base_values")
    if forest.targets == 1 or base.size != forest.targets:
        return base
    given = {target for row in forest.rows for target, _ in row}
    return np.where(np.isin(np.arange(base.size), sorted(given)), base, 0).astype(base.dtype)


def _where_given(state: Import, op: NodeRecord, forest: Forest, scores: Value) -> Value:
    """0, and no base value, where no leaf has a weight for one of several targets."""
    nodes = [Leaf(_votes(node.row)) if isinstance(node, Leaf) else node for node in forest.nodes]
    counting = tree_ensemble(replace(forest, nodes=nodes), np.int32)
    count = state.add(op, counting, [_features(state, op)], ElementType.I32)
    zero = state.add_constant(np.array(0, np.int32), "zero")
    is_given = state.add(op, Greater(), [count, zero], ElementType.BOOL)
    return state.add(op, Select(), [is_given, scores, real(state, 0.0, "none")], ElementType.F32)


@importer("TreeEnsemble", domain=_DOMAIN)
def import_tree_ensemble(state: Import, op: NodeRecord) -> None:
    """Scores of the targets, as version 5 writes trees."""
    _positive(op, "n_targets", 1)
    aggregate = choice(op, "aggregate_function", AGGREGATES, 1)
    scores = _aggregated(state, op, new_forest(op), aggregate).scores(state, op)
    _bind_scores(state, op, scores, choice(op, "post_transform", TRANSFORMS, 0))


def _positive(op: NodeRecord, name: str, default: int) -> int:
    value = op.integer(name, default)
    if not 1 <= value < 2**15:
        raise Unsupported("GM105", f"{op.kind}: {name} is {value}")
    return value


def _bind_scores(state: Import, op: NodeRecord, scores: Value, transform: str) -> None:
    """A single score is only transformed by PROBIT."""
    if scores.type.shape[1] == 1 and transform != "PROBIT":
        transform = "NONE"
    state.bind(op, [transformed(state, op, scores, transform)])


@importer("TreeEnsembleClassifier", domain=_DOMAIN)
def import_classifier(state: Import, op: NodeRecord) -> None:
    """The label of the largest score, and the scores."""
    classes = class_count(op, _LABELS)
    if classes < 2:
        raise Unsupported("GM105", f"{op.kind}: one label; two or more are expected")
    forest = old_forest(op, "class", classes)
    base, transform = numbers(op, "base_values"), transform_name(op)
    used = {target for row in forest.rows for target, _ in row}
    if classes == 2:
        label, scores = _of_two(state, op, forest, base, transform, used)
    else:
        label, scores = _of_many(state, op, forest, base, transform)
    state.bind(op, [label, scores])


def _of_many(
    state: Import, op: NodeRecord, forest: Forest, base: Array, transform: str
) -> tuple[Value, Value]:
    """Label and scores."""
    if not base.size and not _always_scored(forest):
        raise Unsupported(
            "GM105", f"{op.kind}: some leaves give no weight to a class, others a negative one; "
            "which class has the largest score is not defined",
        )  # fmt: skip
    sums = _aggregated(state, op, forest, "SUM")
    scores = _with_base(state, op, sums.scores(state, op), base)
    # The first of the largest is where it is of the votes: their sums grow with them.
    compared = scores if base.size else sums.value
    label = label_of_largest(state, op, compared, _LABELS)
    return label, transformed(state, op, scores, transform)


def _of_two(
    state: Import,
    op: NodeRecord,
    forest: Forest,
    base: Array,
    transform: str,
    used: set[int],
) -> tuple[Value, Value]:
    """Two classes are told apart by one score, as scikit-learn, LightGBM and XGBoost have it."""
    if len(used) != 1 or base.size > 1 or (used == {1} and base.size):
        raise Unsupported(
            "GM105", f"{op.kind}: two classes with weights for both, or more than one base value, "
            "are not supported", "convert the model with a current skl2onnx or onnxmltools",
        )  # fmt: skip
    (only,) = used
    if only == 0 and transform == "PROBIT":
        raise Unsupported("GM105", f"{op.kind}: post_transform PROBIT of one score of two classes")
    nodes = [Leaf(_one_target(node.row)) if isinstance(node, Leaf) else node
             for node in forest.nodes]  # fmt: skip
    single = replace(forest, nodes=nodes, targets=1)
    score = _aggregated(state, op, single, "SUM").scores(state, op)
    score = _with_base(state, op, score, base)
    is_positive = all(weight >= 0 for row in forest.rows for _, weight in row)
    border = real(state, 0.5 if is_positive else 0.0, "border")
    is_second = state.add(op, Greater(), [score, border], ElementType.BOOL)
    index = state.add(op, Cast(), [is_second], ElementType.I32)
    index = reshaped(state, op, index, score.type.shape[:1])
    label = bind_label(state, op, index, _LABELS)
    if only == 1:
        zeros = state.add_constant(np.zeros(score.type.shape, np.float32), "zeros")
        both = state.add(op, Concatenation(1), [zeros, score])
        return label, transformed(state, op, both, transform)
    if transform == "LOGISTIC" or not is_positive:
        first = state.add(op, Neg(), [score])
    else:
        first = state.add(op, Sub(), [real(state, 1.0, "one"), score])
    both = state.add(op, Concatenation(1), [first, score])
    return label, transformed(state, op, both, transform if transform == "LOGISTIC" else "NONE")


def _one_target(row: tuple[tuple[int, float], ...]) -> tuple[tuple[int, float], ...]:
    return tuple((0, weight) for _, weight in row)


def _always_scored(forest: Forest) -> bool:
    """Whether the largest score is one that a leaf gave, whatever the leaves are."""
    if all(
        all(weight >= 0 for _, weight in row) and any(weight > 0 for _, weight in row)
        for row in forest.rows
    ):
        return True
    return len(_always_given(forest)) == forest.targets


def _always_given(forest: Forest) -> set[int]:
    """Targets that every leaf of some tree has a weight for."""
    given: set[int] = set()
    for leaves in _rows_of_trees(forest):
        given |= set.intersection(*({target for target, _ in row} for row in leaves))
    return given


def _rows_of_trees(forest: Forest) -> list[list[tuple[tuple[int, float], ...]]]:
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
class _Sums:
    """What the trees add up to: real numbers, or votes, with the sum of each number of weights."""

    value: Value
    table: Array | None

    def scores(self, state: Import, op: NodeRecord) -> Value:
        """float32 (N, targets)."""
        if self.table is None:
            return self.value
        table = state.add_constant(self.table, "sums")
        return state.add(op, Gather(0), [table, self.value], ElementType.F32)


def _features(state: Import, op: NodeRecord) -> Value:
    x = state.value(op, 0)
    if x.type.rank == 1:
        x = reshaped(state, op, x, (1, *x.type.shape))
    if x.type.element not in FEATURE_TYPES:
        raise Unsupported("GM105", f"{op.kind}: expected numbers as features, got {x.type}")
    return x


def _aggregated(state: Import, op: NodeRecord, forest: Forest, aggregate: str) -> _Sums:
    """The trees' contributions, without base values."""
    x = _features(state, op)
    if not forest.roots:
        raise Unsupported("GM101", f"{op.kind} has no trees")
    if aggregate in ("MIN", "MAX"):
        return _Sums(_extreme(state, op, x, forest, aggregate), None)
    if aggregate not in ("SUM", "AVERAGE"):
        raise Unsupported("GM105", f"{op.kind}: aggregate_function {aggregate[:40]}")
    forest = replace(forest, nodes=[_without_zeros(node) for node in forest.nodes])
    trees, weight = len(forest.roots), _only_weight(forest.rows)
    if weight is not None and trees <= _MOST_VOTES:
        nodes = [Leaf(_votes(node.row)) if isinstance(node, Leaf) else node
                 for node in forest.nodes]  # fmt: skip
        ensemble = tree_ensemble(replace(forest, nodes=nodes), np.int32)
        table = np.cumsum(np.full(trees + 1, weight, np.float32), dtype=np.float32)
        table = np.concatenate([np.zeros(1, np.float32), table[:-1]])
        table = table / np.float32(trees) if aggregate == "AVERAGE" else table
        return _Sums(state.add(op, ensemble, [x], ElementType.I32), table)
    total = state.add(op, tree_ensemble(forest), [x], ElementType.F32)
    if aggregate == "AVERAGE":
        total = state.add(op, Div(), [total, real(state, trees, "trees")])
    return _Sums(total, None)


def _without_zeros(node: Leaf | Branch) -> Leaf | Branch:
    if not isinstance(node, Leaf):
        return node
    return Leaf(tuple(entry for entry in node.row if entry[1] != 0))


def _votes(row: tuple[tuple[int, float], ...]) -> tuple[tuple[int, float], ...]:
    return tuple((target, 1) for target, _ in row)


def _only_weight(rows: Sequence[tuple[tuple[int, float], ...]]) -> float | None:
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
    if len(_always_given(forest)) != forest.targets:
        raise Unsupported("GM105", f"{op.kind}: a target may get no weight of any tree")


def _with_base(state: Import, op: NodeRecord, scores: Value, base: Array) -> Value:
    if not base.size:
        return scores
    if base.size != scores.type.shape[1]:
        raise Unsupported(
            "GM105", f"{op.kind}: {base.size} base values for {scores.type.shape[1]} scores"
        )
    offset = state.add_constant(base.astype(np.float32).reshape(1, -1), "base_values")
    return state.add(op, Add(), [scores, offset])
