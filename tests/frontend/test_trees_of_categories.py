"""Sets of categories in trees: a file asks value by value, and all that hold lead to one node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.onnx import tree_nodes
from glowmcu.frontend.onnx.joined_trees import join_trees
from glowmcu.ir.equality import same_graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array, OperationError
from glowmcu.ir.text import parse_graph, print_graph
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.registry import load_operations
from glowmcu.ops.trees import TreeEnsemble
from glowmcu.pipeline import reference_graph
from tests.frontend.graph_damage import Made
from tests.support.check_model import check_model
from tests.support.onnx_models import run_onnxruntime
from tests.support.set_trees import CATEGORIES, FEATURES, set_trees, walked
from tests.support.tree_models import tree_model


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


def test_a_set_is_one_node_and_equal_ones_are_there_once() -> None:
    attributes = set_trees(40, 3, 1, pool=range(4), most=2).attributes()
    op = ensemble(attributes, FEATURES)
    assert op.features.size == 40 * (2**4 - 1)
    asking = op.sets[op.features >= 0]
    assert (asking >= 0).sum() == 40 * 2
    sets = np.split(op.members, op.set_starts[1:-1])
    assert len(sets) == len({item.tobytes() for item in sets}) == 4 + 6
    assert sorted(set(asking)) == list(range(-1, len(sets)))


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


@pytest.mark.parametrize("pool", [range(10), range(-5, 60), (0, 1, 2, 3, 1e9, 0.5, 70000)])
def test_onnxruntime_says_the_same_of_sets(pool: Sequence[float]) -> None:
    attributes = set_trees(6, 5, 3, pool=pool, most=5).attributes()
    data = tree_model("TreeEnsembleRegressor", attributes, FEATURES)
    values = np.array([*pool, -1, 3.5, 1e9, 2e9, np.nan, np.inf, -np.inf, 1e-40], np.float32)
    draw = np.random.default_rng(0)
    found = [[row[np.newaxis]] for row in draw.choice(values, (40, FEATURES))]
    check_model(data, found, run_onnxruntime, Options("m"))


def member_model(members: Sequence[float], true: tuple[int, int] = (0, 1)) -> dict[str, Any]:
    """A set that leads to a leaf or a node (0 or 1 behind its number), as version 5 has it."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    tensor = onnx.numpy_helper.from_array
    return {
        "nodes_featureids": [0, 0], "nodes_truenodeids": [true[0], 1],
        "nodes_trueleafs": [true[1], 1],
        "nodes_falsenodeids": [1, 2], "nodes_falseleafs": [0, 1], "leaf_targetids": [0, 0, 0],
        "tree_roots": [0], "n_targets": 1, "post_transform": 0, "aggregate_function": 1,
        "nodes_splits": tensor(np.array([0, 4], np.float32), "splits"),
        "nodes_modes": tensor(np.array([6, 0], np.uint8), "modes"),
        "leaf_weights": tensor(np.array([1, 2, 3], np.float32), "weights"),
        "membership_values": tensor(np.array([*members, np.nan], np.float32), "members"),
    }  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_members_of_version_5_are_one_set(dtype: str) -> None:
    data = tree_model("TreeEnsemble", member_model([5, 3, 7, 3, 12]), 1, version=5, dtype=dtype)
    (op,) = [n.op for n in reference_graph(data, "m").nodes if isinstance(n.op, TreeEnsemble)]
    assert op.members.tolist() == [3, 5, 7, 12]
    found = [[np.array([[number]], dtype)] for number in range(14)]
    check_model(data, found, run_onnxruntime, Options("m"))


def test_a_set_may_lead_to_a_node() -> None:
    data = tree_model("TreeEnsemble", member_model([3, 5], (1, 0)), 1, version=5)
    found = [[np.array([[number]], np.float32)] for number in (3, 4, 5, 6, 3.5)]

    def expected(_: bytes, arrays: Sequence[Array]) -> list[Array]:
        return [np.where(arrays[0] <= 4, np.float32(2), np.float32(3))]

    check_model(data, found, expected, Options("m"))


def test_a_mode_of_sets_without_any_is_refused() -> None:
    attributes = set_trees(1, 2, 1).attributes()
    attributes["nodes_modes"][0] = "BRANCH_MEMBER"
    with pytest.raises(GlowmcuError, match="BRANCH_MEMBER are not supported"):
        ensemble(attributes, FEATURES)


def test_a_chain_that_is_entered_at_each_node_is_not_walked_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As many sets as nodes, of as many values."""
    count = 40
    chain = list(range(count, 2 * count))
    attributes = {
        "nodes_treeids": [0] * (2 * count + 2), "nodes_nodeids": list(range(2 * count + 2)),
        "nodes_featureids": [1] * count + [0] * (count + 2),
        "nodes_values": [float(i) for i in range(2 * count + 2)],
        "nodes_modes": ["BRANCH_LEQ"] * count + ["BRANCH_EQ"] * count + ["LEAF"] * 2,
        "nodes_truenodeids": chain + [2 * count] * count + [0, 0],
        "nodes_falsenodeids": [*range(1, count), 2 * count, *chain[1:], 2 * count + 1, 0, 0],
        "target_treeids": [0, 0], "target_nodeids": [2 * count, 2 * count + 1],
        "target_ids": [0, 0], "target_weights": [1.0, 2.0], "n_targets": 1,
    }  # fmt: skip
    asked = count * (count + 1) // 2
    assert ensemble(attributes, 2).members.size == asked
    monkeypatch.setattr(tree_nodes, "_MOST_VALUES", asked - 1)
    with pytest.raises(GlowmcuError, match="ask for more than"):
        ensemble(attributes, 2)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "none that asks": ({"sets": []}, "no node that asks"),
    "too few": ({"sets": [0]}, "for each node"),
    "no sets": ({"set_starts": [0], "members": np.zeros(0, np.float32)}, "for each node"),
    "another set": ({"sets": [1, -1, -1]}, "none of the 1 sets"),
    "beyond the members": ({"set_starts": [0, 3]}, "parts of the 2 members"),
    "an empty set": ({"set_starts": [0, 0, 2]}, "parts of the 2 members"),
    "descending": ({"members": np.array([2, 1], np.float32)}, "ascending"),
    "twice": ({"members": np.array([2, 2], np.float32)}, "ascending"),
    "not a number": ({"members": np.array([1, np.nan], np.float32)}, "ascending"),
    "below all": ({"members": np.array([-np.inf, 2], np.float32)}, "ascending"),
    "double": ({"members": np.array([1, 2], np.float64)}, "list of float32"),
}


NONE = np.zeros(0, np.float32)


def small(**changes: Any) -> TreeEnsemble:
    """One set, {1, 2}, that leads to one of two leaves."""
    fields: dict[str, Any] = {
        "targets": 1, "roots": [0], "features": [0, -1, -1], "left": [1, 0, 1],
        "thresholds": np.zeros(3, np.float32), "missing_left": np.zeros(3, np.bool_),
        "right": [2, 0, 0], "row_starts": [0, 1, 2], "row_targets": [0, 0],
        "weights": np.array([1, 2], np.float32), "sets": [0, -1, -1], "set_starts": [0, 2],
        "members": np.array([1, 2], np.float32),
    }  # fmt: skip
    fields |= changes
    lists = {name: np.array(item, np.int32) for name, item in fields.items() if type(item) is list}
    return TreeEnsemble(**(fields | lists))


@pytest.mark.parametrize(("changes", "said"), WRONG.values(), ids=WRONG)
def test_what_is_no_set_is_refused(changes: dict[str, Any], said: str) -> None:
    made = Made()
    x = made.input(1, 1)
    small().infer([x.type])
    with pytest.raises(OperationError, match=said):
        small(**changes).infer([x.type])


def test_text_has_sets_and_forests_side_by_side_keep_theirs() -> None:
    made = Made()
    x = made.input(4, 1)
    forests = [made.op(small(), x), made.op(small(sets=[], set_starts=[], members=NONE), x)]
    forests += [made.op(small(members=np.array([3, 9], np.float32)), x)]
    graph = made.done(made.op(Concatenation(1), *forests))
    joined = join_trees(graph)
    (node,) = (node for node in joined.nodes if node.op.name == "tree_ensemble")
    assert node.op.sets[node.op.features >= 0].tolist() == [0, -1, 1]
    again = parse_graph(print_graph(joined), load_operations())
    assert same_graph(again, joined)
    for values in ([0, 1, 2, 3], [1.5, 9, np.nan, -1]):
        given = [np.array(values, np.float32).reshape(4, 1)]
        want = run_graph(graph, given)[0]
        assert run_graph(joined, given)[0].tobytes() == want.tobytes()
