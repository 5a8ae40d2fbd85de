"""Trees of two classes: one score tells them apart, or each has its own; onnxruntime's results."""

from __future__ import annotations

from typing import Any

import pytest

from glowmcu.errors import GlowmcuError
from tests.frontend.test_trees import check, labelled
from tests.support.onnx_models import skip_before_onnxruntime_1_24
from tests.support.tree_models import feature_rows, forest, tree_model

BINARY = {
    "probabilities": ({"weights": (0.0, 0.1, 0.05)}, {}),
    "votes": ({"weights": (0.0, 0.1)}, {}),
    "boosted": ({}, {"post_transform": "LOGISTIC", "base_values": [0.25]}),
    "boosted, all positive": ({"weights": (0.0, 0.2, 0.1)}, {"post_transform": "LOGISTIC"}),
    "boosted, as they are": ({}, {}),
    "softmax of one score": ({}, {"post_transform": "SOFTMAX"}),
    "of the second class": ({"targets": (1,)}, {"post_transform": "SOFTMAX"}),
}


@pytest.mark.parametrize(("options", "more"), BINARY.values(), ids=BINARY)
def test_two_classes_are_told_apart_by_one_score(
    options: dict[str, Any], more: dict[str, Any]
) -> None:
    if (options, more) == BINARY["boosted, all positive"]:
        skip_before_onnxruntime_1_24("leaves LOGISTIC out where all weights are positive")
    attributes = labelled(forest(10, 4, 4, **options).attributes("class"), 2, **more)
    check(tree_model("TreeEnsembleClassifier", attributes, 4), feature_rows(5, 24, 4))


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("is_opposite", [True, False], ids=["opposite", "of any size"])
def test_two_classes_with_scores_of_their_own(transform: str, is_opposite: bool) -> None:
    """CatBoost writes opposite ones."""
    made = forest(6, 4, 4, targets=(0, 1))
    attributes = labelled(made.attributes("class"), 2, post_transform=transform)
    # Sums on both sides of 0, few of them above 0.5.
    weights = attributes["class_weights"] = [0.1 * w for w in attributes["class_weights"]]
    if is_opposite:
        weights[::2] = [-weight for weight in weights[1::2]]
    done = check(tree_model("TreeEnsembleClassifier", attributes, 4), feature_rows(5, 24, 4))
    (trees,) = (node for node in done.graph.nodes if node.op.name == "tree_ensemble")
    assert trees.output.type.shape == (1, 1 if is_opposite else 2)


def test_a_class_that_a_leaf_gives_two_weights_has_a_sum_of_its_own() -> None:
    """Opposite in all, but their sum in float32 is another than that of one weight."""
    made = forest(6, 4, 4, targets=(0, 1))
    attributes = labelled(made.attributes("class"), 2)
    weights = attributes["class_weights"]
    weights[::2] = [-weight for weight in weights[1::2]]
    for name, value in (("treeids", None), ("nodeids", None), ("ids", 0), ("weights", 0.0)):
        entries = attributes[f"class_{name}"]
        entries.insert(1, entries[0] if value is None else value)
    done = check(tree_model("TreeEnsembleClassifier", attributes, 4), feature_rows(5, 24, 4))
    (trees,) = (node for node in done.graph.nodes if node.op.name == "tree_ensemble")
    assert trees.output.type.shape == (1, 2)


def test_two_classes_of_which_one_may_get_no_weight_are_refused() -> None:
    made = forest(6, 4, 4, targets=(0, 1), every_target=False)
    attributes = labelled(made.attributes("class"), 2)
    with pytest.raises(GlowmcuError, match="may get no weight of any tree"):
        check(tree_model("TreeEnsembleClassifier", attributes, 4), feature_rows(5, 24, 4))
    based = labelled(forest(6, 4, 4, targets=(0, 1)).attributes("class"), 2, base_values=[0.5, 1])
    with pytest.raises(GlowmcuError, match="base values, and weights for both"):
        check(tree_model("TreeEnsembleClassifier", based, 4), feature_rows(5, 24, 4))
