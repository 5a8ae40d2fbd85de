"""Trees as files may list them: thresholds in double, nodes that trees share, lists of anything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.onnx.tree_nodes import rounded, rounded_below
from glowmcu.pipeline import compile_model
from tests.support.check_model import Array, check_model
from tests.support.onnx_models import run_onnxruntime
from tests.support.tree_models import tree_model

STUMP: dict[str, Any] = {
    "nodes_treeids": [0] * 3, "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0] * 3,
    "nodes_values": [0.5, 0.0, 0.0], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0], "target_treeids": [0, 0],
    "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0], "n_targets": 1,
}  # fmt: skip


def tensor(values: list[float], dtype: str) -> Any:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    return onnx.numpy_helper.from_array(np.array(values, dtype), "values")


def stumps_of_version_5(**changed: Any) -> dict[str, Any]:
    return {
        "n_targets": 1, "tree_roots": [0], "nodes_featureids": [0],
        "nodes_splits": tensor([0.5], "float32"), "nodes_modes": tensor([0], "uint8"),
        "nodes_truenodeids": [0], "nodes_trueleafs": [1], "nodes_falsenodeids": [1],
        "nodes_falseleafs": [1], "leaf_targetids": [0, 0],
        "leaf_weights": tensor([-1.0, -2.0], "float32"), **changed,
    }  # fmt: skip


def refuse(attributes: dict[str, Any], code: str, text: str) -> None:
    data = tree_model("TreeEnsembleRegressor", attributes, 2)
    with pytest.raises(GlowmcuError, match=text) as caught:
        compile_model(data, "m.onnx", Options("m"))
    assert caught.value.problems[0].code == code


@pytest.mark.parametrize("value", [0.1, -0.1, 0.7, -0.7, 0.5, 1e300, -1e300, 1e-300])
def test_a_threshold_in_double_is_rounded_as_features_are(value: float) -> None:
    with np.errstate(over="ignore"):
        feature = np.array([value]).astype(np.float32)[0]
    assert rounded(value) == feature
    assert rounded_below(value) <= feature
    assert value == -1e300 or rounded_below(value) < feature


@pytest.mark.parametrize(
    "mode", ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE", "BRANCH_EQ", "BRANCH_NEQ"]
)
def test_features_that_are_a_threshold_in_double_are_it_in_float32(mode: str) -> None:
    attributes = {name: value for name, value in STUMP.items() if name != "nodes_values"}
    rows = np.array([[0.1], [0.7], [1.2], [0.3]], np.float32)

    def in_double(data: bytes, sets: Any) -> list[Array]:
        return run_onnxruntime(data, [np.round(array.astype(np.float64), 6) for array in sets])

    for value in (0.1, 0.7, 1.2):
        more = {
            "nodes_modes": [mode, "LEAF", "LEAF"],
            "nodes_values_as_tensor": tensor([value, 0.0, 0.0], "float64"),
        }
        data = tree_model("TreeEnsembleRegressor", attributes | more, 1, dtype="float64")
        check_model(data, [[row[np.newaxis]] for row in rows], in_double, Options("m"))


@pytest.mark.parametrize("aggregate", range(4), ids=["average", "sum", "min", "max"])
def test_trees_that_begin_at_one_node_count_twice(aggregate: int) -> None:
    attributes = stumps_of_version_5(tree_roots=[0, 0], aggregate_function=aggregate)
    data = tree_model("TreeEnsemble", attributes, 1, version=5)
    check_model(data, [[np.full((1, 1), x, np.float32)] for x in (0.2, 0.7)], run_onnxruntime)


def test_a_leaf_with_many_weights_is_read_in_one_go() -> None:
    count = 200_000
    many = {
        "target_treeids": [0] * count, "target_nodeids": [1] * count, "target_ids": [0] * count,
        "target_weights": [1.0] * count, "nodes_truenodeids": [7, 0, 0],
    }  # fmt: skip
    refuse(STUMP | many, "GM101", "node -1, which is not there")


def test_more_weights_than_flash_holds_are_refused() -> None:
    count = 2**20 + 1
    many = {
        "target_treeids": [0] * count, "target_nodeids": [1] * count, "target_ids": [0] * count,
        "target_weights": [1.0] * count,
    }  # fmt: skip
    refuse(STUMP | many, "GM115", "1048577 weights of trees")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nodes_featureids", [0.5] * 3),
        ("nodes_treeids", 3),
        ("nodes_truenodeids", ["a"] * 3),
        ("nodes_modes", [1, 2, 3]),
        ("target_ids", [0.5, 0.5]),
        ("nodes_missing_value_tracks_true", ["a"]),
    ],
)
def test_a_list_of_another_kind_is_named(name: str, value: Any) -> None:
    refuse(STUMP | {name: value}, "GM101", f"attribute {name} has the wrong type")


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE"])
@pytest.mark.parametrize("ids", [[0, 0], [0, 1], [1, 1]], ids=["never", "sometimes", "one alone"])
def test_a_base_value_is_added_where_a_leaf_gives_a_weight(ids: list[int], aggregate: str) -> None:
    """XGBoost's files for several targets name the first one in all leaves."""
    attributes = STUMP | {
        "target_ids": ids, "n_targets": 3, "base_values": [10.0, 20.0, 30.0],
        "aggregate_function": aggregate,
    }  # fmt: skip
    rows = [[np.array([[value, 0]], np.float32)] for value in (0.0, 1.0)]
    check_model(tree_model("TreeEnsembleRegressor", attributes, 2), rows, run_onnxruntime)


@pytest.mark.parametrize("targets", [1, 2], ids=["the first alone", "their sum"])
def test_several_weights_of_a_leaf_for_one_target(targets: int) -> None:
    """skl2onnx writes the leaf that a row reaches so (`decision_leaf`)."""
    attributes = STUMP | {
        "target_treeids": [0] * 5, "target_nodeids": [1, 1, 2, 2, 2], "n_targets": targets,
        "target_ids": [0, 0, 0, 0, targets - 1], "target_weights": [1.0, 4.0, 2.0, 5.0, 7.0],
    }  # fmt: skip
    rows = [[np.array([[value, 0]], np.float32)] for value in (0.0, 1.0)]
    check_model(tree_model("TreeEnsembleRegressor", attributes, 2), rows, run_onnxruntime)
