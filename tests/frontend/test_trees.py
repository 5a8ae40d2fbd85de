"""Trees of ONNX-ML: what onnxruntime gives, in Python, in C, by every way to compute them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.goals import Goal
from glowmcu.pipeline import compile_model
from tests.support.check_model import Array, check_model
from tests.support.onnx_models import run_onnxruntime
from tests.support.tree_models import MODES, feature_rows, forest, tree_model

#: Core and goal of which each takes another variant for most trees.
TARGETS = {
    "code": ("cortex-m4", Goal.SPEED),
    "bytes": ("cortex-m0plus", Goal.SIZE),
    "code on a core without floats": ("cortex-m0plus", Goal.SPEED),
}


def check(data: bytes, rows: Array, target: str = "code", **more: Any) -> Compilation:
    """Every row by itself: Python, lowered graphs and C against onnxruntime."""
    core, goal = TARGETS[target]
    sets = [[row[np.newaxis]] for row in rows]
    options = Options("m", core=core, goal=goal)
    # Scores near 0 are sums of larger ones: what a sum is rounded to depends on those.
    return check_model(data, sets, run_onnxruntime, options, rtol=1e-5, atol=1e-5, **more)


def kernels(compilation: Compilation) -> set[str]:
    names = (selection.kernel_name for selection in compilation.selections.values())
    return {name for name in names if name.startswith("tree_ensemble")}


def labelled(attributes: dict[str, Any], count: int, **more: Any) -> dict[str, Any]:
    return attributes | {"classlabels_int64s": list(range(count))} | more


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", [*MODES, "mixed"])
def test_every_comparison_is_that_of_onnxruntime(mode: str, target: str) -> None:
    modes = MODES if mode == "mixed" else (mode,)
    made = forest(7, 1, 4, modes=modes)
    data = tree_model("TreeEnsembleRegressor", made.attributes("target") | {"n_targets": 1}, 4)
    check(data, feature_rows(1, 24, 4), target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("tracks", [False, True], ids=["fails", "tracks true"])
def test_what_is_not_a_number_goes_where_the_file_says(tracks: bool, target: str) -> None:
    made = forest(9, 2, 3, modes=("BRANCH_LEQ", "BRANCH_GTE", "BRANCH_LT", "BRANCH_GT"),
                  tracks=tracks)  # fmt: skip
    data = tree_model("TreeEnsembleRegressor", made.attributes("target") | {"n_targets": 1}, 3)
    check(data, feature_rows(3, 40, 3, special=True), target)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"])
def test_scores_of_several_classes(transform: str) -> None:
    weights = (0.05, 0.1, 0.0, 0.2) if transform == "PROBIT" else None
    made = forest(4, 3, 4, targets=range(3), weights=weights)
    base = {} if transform == "PROBIT" else {"base_values": [0.5, -0.25, 0.125]}
    attributes = labelled(made.attributes("class"), 3, post_transform=transform, **base)
    rows = feature_rows(4, 12, 4)
    if transform == "PROBIT":
        scores = run_onnxruntime(tree_model("TreeEnsembleClassifier", attributes, 4, 12), [rows])[1]
        rows = rows[np.isfinite(scores).all(axis=1)]
        assert len(rows) > 4
    check(tree_model("TreeEnsembleClassifier", attributes, 4), rows)


@pytest.mark.parametrize("target", TARGETS)
def test_votes_are_counted_as_integers(target: str) -> None:
    made = forest(30, 5, 5, targets=range(4), every_target=False, weights=(1 / 30,))
    attributes = labelled(made.attributes("class"), 4)
    done = check(
        tree_model("TreeEnsembleClassifier", attributes, 5), feature_rows(6, 24, 5), target
    )
    (trees,) = (node for node in done.graph.nodes if node.op.name == "tree_ensemble")
    assert trees.output.type.element.numpy == np.int32


def test_labels_are_the_numbers_of_the_file() -> None:
    made = forest(5, 6, 3, targets=range(3), every_target=False, weights=(0.2,))
    attributes = made.attributes("class") | {"classlabels_int64s": [40, -7, 3]}
    check(tree_model("TreeEnsembleClassifier", attributes, 3), feature_rows(7, 12, 3))


def test_labels_that_are_strings_become_indices_and_labels_of_the_bundle() -> None:
    made = forest(5, 6, 3, targets=range(3), every_target=False, weights=(0.2,))
    attributes = made.attributes("class")
    rows = feature_rows(7, 12, 3)
    numbers = check_model(
        tree_model("TreeEnsembleClassifier", labelled(attributes, 3), 3), [[rows[:1]]]
    )
    named = tree_model(
        "TreeEnsembleClassifier", attributes | {"classlabels_strings": ["a", "b", "c"]}, 3
    )
    done = check_model(named, [[row[np.newaxis]] for row in rows])
    assert done.manifest.labels == ("a", "b", "c")
    assert [o.type for o in done.imported.results] == [o.type for o in numbers.imported.results]
    assert any("label" in note and "index" in note for note in done.notes)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("targets", [1, 3])
def test_trees_are_summed_or_the_extreme_one_counts(aggregate: str, targets: int) -> None:
    made = forest(6, 7, 4, targets=range(targets))
    base = {"base_values": [0.5, 2.0, -1.0][:targets]}
    attributes = made.attributes("target") | base
    attributes |= {"n_targets": targets, "aggregate_function": aggregate}
    check(tree_model("TreeEnsembleRegressor", attributes, 4), feature_rows(8, 12, 4), "bytes")


def test_boosted_trees_of_many_classes_add_to_one_class_each() -> None:
    made = forest(0, 8, 4)
    for number in range(24):
        made.targets = (number % 8,)
        made.tree(number)
    attributes = labelled(made.attributes("class"), 8, post_transform="SOFTMAX")
    for target in TARGETS:
        check(tree_model("TreeEnsembleClassifier", attributes, 4), feature_rows(9, 8, 4), target)


@pytest.mark.parametrize("dtype", ["int64", "int32"])
@pytest.mark.parametrize("target", TARGETS)
def test_whole_features_are_compared_as_integers(dtype: str, target: str) -> None:
    made = forest(8, 9, 3, modes=MODES, targets=range(3), every_target=False, weights=(0.125,))
    attributes = labelled(made.attributes("class"), 3)
    limits = np.iinfo(dtype)
    rows = np.random.default_rng(0).integers(-3, 9, (24, 3)).astype(dtype)
    rows[0], rows[1] = limits.min, limits.max
    check(tree_model("TreeEnsembleClassifier", attributes, 3, dtype=dtype), rows, target)


@pytest.mark.parametrize("target", TARGETS)
def test_several_rows_are_computed_one_after_the_other(target: str) -> None:
    made = forest(5, 10, 3, targets=range(2))
    attributes = made.attributes("target") | {"n_targets": 2}
    data = tree_model("TreeEnsembleRegressor", attributes, 3, rows=5)
    core, goal = TARGETS[target]
    options = Options("m", core=core, goal=goal)
    check_model(data, [[feature_rows(11, 5, 3)]], run_onnxruntime, options, atol=1e-5)


def test_a_tree_of_a_single_leaf() -> None:
    made = forest(1, 12, 2, depth=0)
    data = tree_model("TreeEnsembleRegressor", made.attributes("target") | {"n_targets": 1}, 2)
    for target in TARGETS:
        check(data, feature_rows(13, 3, 2), target)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(0, 6), st.integers(1, 300),
    st.sets(st.sampled_from(MODES), min_size=1), st.booleans(), st.sampled_from(list(TARGETS)),
)  # fmt: skip
def test_random_forests_give_what_onnxruntime_gives(
    seed: int, trees: int, depth: int, features: int, modes: set[str], tracks: bool, target: str
) -> None:
    made = forest(trees, seed, features, depth=depth, modes=sorted(modes), tracks=tracks)
    attributes = made.attributes("target") | {"n_targets": 1}
    rows = feature_rows(seed % 1000, 6, features, special=True)
    check(tree_model("TreeEnsembleRegressor", attributes, features), rows, target)


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(3, 5), st.booleans(),
    st.sampled_from(list(TARGETS)),
)  # fmt: skip
def test_random_classes_are_those_of_onnxruntime_where_sums_are_near_each_other(
    seed: int, trees: int, classes: int, shares: bool, target: str
) -> None:
    weights = (0.1, 0.2, 0.3, 0.0) if shares else (1 / trees,)
    made = forest(
        trees, seed, 3, targets=range(classes), every_target=shares, weights=weights, depth=3
    )
    attributes = labelled(made.attributes("class"), classes)
    rows = feature_rows(seed % 1000, 8, 3)
    check(tree_model("TreeEnsembleClassifier", attributes, 3), rows, target)


def new_attributes() -> dict[str, Any]:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    real, byte = onnx.TensorProto.FLOAT, onnx.TensorProto.UINT8
    tensor = onnx.helper.make_tensor
    return {
        "tree_roots": [0],
        "nodes_modes": tensor("m", byte, (3,), [0, 6, 6]),
        "nodes_featureids": [0, 0, 0],
        "nodes_splits": tensor("s", real, (3,), [11, 232344.0, np.nan]),
        "nodes_truenodeids": [1, 0, 1],
        "nodes_trueleafs": [0, 1, 1],
        "nodes_falsenodeids": [2, 2, 3],
        "nodes_falseleafs": [1, 0, 1],
        "leaf_targetids": [0, 1, 2, 3],
        "leaf_weights": tensor("w", real, (4,), [1, 10, 1000, 100]),
        "membership_values": tensor("v", real, (8,), [1.2, 3.7, 8, 9, np.nan, 12, 7, np.nan]),
        "n_targets": 4,
    }


HOSTILE = {
    "a branch that leads back": ({"nodes_truenodeids": [0, 0, 0]}, "leads back to itself"),
    "a branch to nowhere": ({"nodes_truenodeids": [9, 0, 0]}, "not there"),
    "a feature below 0": ({"nodes_featureids": [-4, 0, 0]}, "feature -4"),
    "a feature that is not there": ({"nodes_featureids": [7, 0, 0]}, "feature 7"),
    "a huge feature": ({"nodes_featureids": [2**40, 0, 0]}, "feature"),
    "an unknown comparison": ({"nodes_modes": ["BRANCH_X", "LEAF", "LEAF"]}, "BRANCH_X"),
    "a threshold that is no number": ({"nodes_values": [float("nan"), 0.0, 0.0]}, "nan"),
    "lists of two lengths": ({"nodes_treeids": [0, 0]}, "nodes_treeids 2"),
    "too few thresholds": ({"nodes_values": [0.0]}, "1 values for 3 nodes"),
    "one number twice": ({"nodes_nodeids": [0, 1, 1]}, "one number"),
    "a weight of no node": ({"target_nodeids": [1, 8]}, "node 8"),
    "a weight of no target": ({"target_ids": [0, 5]}, "target 5"),
    "infinite weights": ({"target_weights": [1.0, float("inf")]}, "finite"),
    "no targets": ({"n_targets": 0}, "n_targets is 0"),
    "an unknown sum": ({"aggregate_function": "MEDIAN"}, "MEDIAN"),
    "an unknown transform": ({"post_transform": "X"}, "post_transform X"),
    "base values of another count": ({"base_values": [1.0, 2.0]}, "2 base values"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "text"), HOSTILE.values(), ids=HOSTILE)
def test_damaged_trees_are_refused_by_one_message(changes: dict[str, Any], text: str) -> None:
    attributes = {
        "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0], "nodes_values": [0.0, 0.0, 0.0], "target_treeids": [0, 0],
        "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0],
        "n_targets": 1,
    }  # fmt: skip
    refuse({**attributes, **changes}, text)


def refuse(attributes: dict[str, Any], text: str) -> None:
    data = tree_model("TreeEnsembleRegressor", attributes, 2)
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.onnx", Options("m"))
    (problem,) = caught.value.problems
    assert problem.code in ("GM101", "GM105", "GM106")
    assert text in problem.message
    assert "node 0" in str(problem.where)


def test_what_two_branches_lead_to_is_there_for_each() -> None:
    """onnxmltools writes LightGBM's sets of categories so."""
    attributes = {
        "nodes_treeids": [0] * 5, "nodes_nodeids": [0, 1, 2, 3, 4],
        "nodes_featureids": [0, 0, 1, 0, 0], "nodes_values": [2.0, 4.0, 0.5, 0.0, 0.0],
        "nodes_modes": ["BRANCH_EQ", "BRANCH_EQ", "BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [2, 2, 3, 0, 0], "nodes_falsenodeids": [1, 4, 4, 0, 0],
        "target_treeids": [0, 0], "target_nodeids": [3, 4], "target_ids": [0, 0],
        "target_weights": [1.0, 2.0], "n_targets": 1,
    }  # fmt: skip
    rows = np.array([[x, y] for x in (1.0, 2.0, 3.0, 4.0) for y in (0.0, 1.0)], np.float32)
    data = tree_model("TreeEnsembleRegressor", attributes, 2)

    def expected(_: bytes, arrays: Sequence[Array]) -> list[Array]:
        """onnxruntime only takes such files where the node behind an equal one is its false one."""
        ((x, y),) = arrays[0]
        return [np.array([[1.0 if x in (2.0, 4.0) and y <= 0.5 else 2.0]], np.float32)]

    check_model(data, [[row[np.newaxis]] for row in rows], expected, Options("m"))


def test_ways_that_double_at_every_other_node_end_in_an_error() -> None:
    """Two nodes below each go on, to the left, at one: it lies behind one of them alone."""
    levels = 40
    count = 3 * levels + 1
    attributes = {
        "nodes_treeids": [0] * count, "nodes_nodeids": list(range(count)),
        "nodes_featureids": [0] * count, "nodes_values": [float(i) for i in range(count)],
        "nodes_modes": ["BRANCH_LEQ"] * (count - 1) + ["LEAF"],
        "nodes_truenodeids": [i + (3 - i % 3 if i % 3 else 1) for i in range(count - 1)] + [0],
        "nodes_falsenodeids": [i + (3 - i % 3 if i % 3 else 2) for i in range(count - 1)] + [0],
        "target_treeids": [0], "target_nodeids": [count - 1], "target_ids": [0],
        "target_weights": [1.0], "n_targets": 1,
    }  # fmt: skip
    with pytest.raises(GlowmcuError, match="GM115"):
        compile_model(tree_model("TreeEnsembleRegressor", attributes, 2), "m.onnx", Options("m"))


def test_a_chain_of_all_nodes_is_refused_before_it_is_walked() -> None:
    count = 20_001
    inner = (count - 1) // 2
    attributes = {
        "nodes_treeids": [0] * count, "nodes_nodeids": list(range(count)),
        "nodes_featureids": [0] * count, "nodes_values": [1.0] * count,
        "nodes_modes": ["BRANCH_LEQ"] * inner + ["LEAF"] * (inner + 1),
        "nodes_truenodeids": [*range(1, inner), count - 1, *[0] * (inner + 1)],
        "nodes_falsenodeids": [*range(inner, 2 * inner), *[0] * (inner + 1)],
        "target_treeids": [0] * (inner + 1), "target_nodeids": list(range(inner, count)),
        "target_ids": [0] * (inner + 1), "target_weights": [1.0] * (inner + 1), "n_targets": 1,
    }  # fmt: skip
    refuse(attributes, "levels")


def test_extremes_of_many_targets_are_refused_before_they_are_made() -> None:
    made = forest(400, 1, 2, depth=6, ends=0.0)
    attributes = made.attributes("target") | {"n_targets": 30_000, "aggregate_function": "MAX"}
    data = tree_model("TreeEnsembleRegressor", attributes, 2)
    with pytest.raises(GlowmcuError, match="GM115"):
        compile_model(data, "m.onnx", Options("m"))


def test_trees_without_nodes_are_refused() -> None:
    refuse({"n_targets": 1}, "0 values for 0 nodes")


def test_sets_of_values_are_asked_as_onnxruntime_does() -> None:
    data = tree_model("TreeEnsemble", new_attributes(), 1, version=5)
    rows = np.array([[1.2], [3.4], [-0.12], [np.nan], [12], [7], [8], [9], [11]], np.float32)
    check(data, rows, "bytes")


@pytest.mark.parametrize("target", TARGETS)
def test_quantized_features_are_compared_as_they_are_stored(target: str) -> None:
    """DEQUANTIZE in front of trees goes, and no result changes."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    helper, types = onnx.helper, onnx.TensorProto
    made = forest(12, 14, 6, targets=range(3), every_target=False, weights=(1 / 12,))
    trees = helper.make_node(
        "TreeEnsembleClassifier", ["real"], ["label", "scores"], domain="ai.onnx.ml",
        **labelled(made.attributes("class"), 3),
    )  # fmt: skip
    nodes = [helper.make_node("DequantizeLinear", ["x", "scale", "zero"], ["real"]), trees]
    constants = [
        helper.make_tensor("scale", types.FLOAT, [], [0.05]),
        helper.make_tensor("zero", types.INT8, [], [-12]),
    ]
    x = helper.make_tensor_value_info("x", types.INT8, [1, 6])
    outputs = [
        helper.make_tensor_value_info("label", types.INT64, None),
        helper.make_tensor_value_info("scores", types.FLOAT, None),
    ]
    graph = helper.make_graph(nodes, "g", [x], outputs, constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    data = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    rows = np.random.default_rng(0).integers(-128, 128, (30, 6)).astype(np.int8)
    done = check(data, rows, target)
    assert not [node for node in done.graph.nodes if node.op.name == "dequantize"]
    assert kernels(done) <= {"tree_ensemble.table", "tree_ensemble.code"}
