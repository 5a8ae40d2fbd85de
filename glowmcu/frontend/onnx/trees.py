"""TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor.

Source: ONNX-ML's definitions, and where they say nothing onnxruntime.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

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
from glowmcu.frontend.onnx.tree_nodes import Forest, Leaf, Row, tree_ensemble
from glowmcu.frontend.onnx.tree_sums import aggregated, always_given, features_of, votes, with_base
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.ops.activation import Neg
from glowmcu.ops.cast import Cast
from glowmcu.ops.comparison import Greater, Select
from glowmcu.ops.elementwise import Sub
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.slicing import Slice

_DOMAIN, _LABELS = "ai.onnx.ml", "classlabels_int64s"


@importer("TreeEnsembleRegressor", domain=_DOMAIN)
def import_regressor(state: Import, op: NodeRecord) -> None:
    """Scores of the targets: sums, means, least or largest ones over the trees."""
    targets = _positive(op, "n_targets", 1)
    aggregate = op.text("aggregate_function", "SUM")
    forest = _first_weights(old_forest(op, "target", targets))
    scores, base = aggregated(state, op, forest, aggregate).scores(state, op), _base(op, forest)
    scores = with_base(state, op, scores, base)
    if base.any() and targets > 1 and len(always_given(forest)) < targets:
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
    nodes = [Leaf(votes(node.row)) if isinstance(node, Leaf) else node for node in forest.nodes]
    counting = tree_ensemble(replace(forest, nodes=nodes), np.int32)
    count = state.add(op, counting, [features_of(state, op)], ElementType.I32)
    zero = state.add_constant(np.array(0, np.int32), "zero")
    is_given = state.add(op, Greater(), [count, zero], ElementType.BOOL)
    return state.add(op, Select(), [is_given, scores, real(state, 0.0, "none")], ElementType.F32)


@importer("TreeEnsemble", domain=_DOMAIN)
def import_tree_ensemble(state: Import, op: NodeRecord) -> None:
    """Scores of the targets, as version 5 writes trees."""
    _positive(op, "n_targets", 1)
    aggregate = choice(op, "aggregate_function", AGGREGATES, 1)
    scores = aggregated(state, op, new_forest(op), aggregate).scores(state, op)
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
    sums = aggregated(state, op, forest, "SUM")
    scores = with_base(state, op, sums.scores(state, op), base)
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
    """Two classes are told apart by one score, as scikit-learn, LightGBM and XGBoost have it, or
    both have scores, as CatBoost writes them.
    """
    if used == {0, 1}:
        return _of_both(state, op, forest, base, transform)
    if len(used) != 1 or base.size > 1 or (used == {1} and base.size):
        raise Unsupported("GM105", f"{op.kind}: {base.size} base values for one score")
    (only,) = used
    if only == 0 and transform == "PROBIT":
        raise Unsupported("GM105", f"{op.kind}: post_transform PROBIT of one score of two classes")
    score = aggregated(state, op, _of_target(forest, only), "SUM").scores(state, op)
    score = with_base(state, op, score, base)
    is_positive = all(weight >= 0 for row in forest.rows for _, weight in row)
    label = _label_by_score(state, op, score, 0.5 if is_positive else 0.0)
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


def _of_both(
    state: Import, op: NodeRecord, forest: Forest, base: Array, transform: str
) -> tuple[Value, Value]:
    """Both classes have scores. onnxruntime has the second class where its score is above 0, even
    if the first one's is larger; of opposite scores, as CatBoost's are, that is the larger one.
    """
    if base.size:
        raise Unsupported("GM105", f"{op.kind}: base values, and weights for both of two classes")
    if len(always_given(forest)) < 2:
        raise Unsupported("GM105", f"{op.kind}: one of two classes may get no weight of any tree")
    if all(_is_opposite(row) for row in forest.rows):
        second = aggregated(state, op, _of_target(forest, 1), "SUM").scores(state, op)
        first = state.add(op, Neg(), [second])
        scores = state.add(op, Concatenation(1), [first, second])
    else:
        scores = aggregated(state, op, forest, "SUM").scores(state, op)
        samples = scores.type.shape[0]
        second = state.add(op, Slice((0, 1), (samples, 1), (1, 1)), [scores])
    label = _label_by_score(state, op, second, 0.0)
    return label, transformed(state, op, scores, transform)


def _label_by_score(state: Import, op: NodeRecord, score: Value, border: float) -> Value:
    """The second class's label where `score` (N, 1) is above `border`, else the first one's."""
    least = real(state, border, "border")
    is_second = state.add(op, Greater(), [score, least], ElementType.BOOL)
    index = state.add(op, Cast(), [is_second], ElementType.I32)
    return bind_label(state, op, reshaped(state, op, index, score.type.shape[:1]), _LABELS)


def _of_target(forest: Forest, target: int) -> Forest:
    """The weights for one target, which becomes the only one."""
    nodes = [
        Leaf(tuple((0, weight) for given, weight in node.row if given == target))
        if isinstance(node, Leaf) else node
        for node in forest.nodes
    ]  # fmt: skip
    return replace(forest, nodes=nodes, targets=1)


def _is_opposite(row: Row) -> bool:
    """Whether a leaf adds opposite weights to the two classes, or nothing."""
    if sorted(target for target, _ in row) != [0, 1]:
        return not row
    (_, one), (_, other) = row
    return one == -other


def _always_scored(forest: Forest) -> bool:
    """Whether the largest score is one that a leaf gave, whatever the leaves are."""
    if all(
        all(weight >= 0 for _, weight in row) and any(weight > 0 for _, weight in row)
        for row in forest.rows
    ):
        return True
    return len(always_given(forest)) == forest.targets
