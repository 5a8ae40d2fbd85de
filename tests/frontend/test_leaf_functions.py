"""What is computed of a tree's leaf is in the leaf, and sums of trees are one forest."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.frontend.onnx import leaf_functions
from glowmcu.frontend.onnx.reader import read_onnx
from tests.support.check_model import check_model
from tests.support.onnx_models import Nodes, run_onnxruntime

onnx = pytest.importorskip("onnx", reason="pip install onnx")
helper, REAL = onnx.helper, onnx.TensorProto.FLOAT
ML, ROWS = "ai.onnx.ml", 3


class Model(Nodes):
    """Operators on `x` (3, 2)."""

    def __init__(self, rows: int = ROWS) -> None:
        super().__init__()
        self.rows = rows

    def tree(self, feature: int, *weights: float, x: str = "x") -> str:
        """A tree of three leaves."""
        return self.scores(feature, *((weight,) for weight in weights), x=x)

    def scores(self, feature: int, *rows: tuple[float, ...], x: str = "x") -> str:
        """The same with several targets."""
        targets = len(rows[0])
        return self.add(
            "TreeEnsembleRegressor", x, domain=ML, n_targets=targets,
            nodes_treeids=[0] * 5, nodes_nodeids=[0, 1, 2, 3, 4], nodes_featureids=[feature] * 5,
            nodes_modes=["BRANCH_LEQ", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
            nodes_values=[0.0, 0.0, 1.0, 0.0, 0.0], nodes_truenodeids=[1, 0, 3, 0, 0],
            nodes_falsenodeids=[2, 0, 4, 0, 0], target_treeids=[0] * 3 * targets,
            target_nodeids=[leaf for leaf in (1, 3, 4) for _ in range(targets)],
            target_ids=[*range(targets)] * 3,
            target_weights=[float(weight) for row in rows for weight in row],
        )  # fmt: skip

    def depth(self, leaf: str) -> str:
        """The leaf's number looked up twice, and what comes of both, as in an isolation forest."""
        index = self.add("Cast", leaf, to=onnx.TensorProto.INT64)
        samples = self.add("LabelEncoder", index, domain=ML, keys_int64s=[1, 3, 4],
                           values_floats=[4.0, 1.0, 2.0])  # fmt: skip
        path = self.add("LabelEncoder", index, domain=ML, keys_int64s=[1, 3, 4],
                        values_floats=[1.5, 2.5, 3.5])  # fmt: skip
        column = self.number([-1, 1], "int64")
        samples, path = (self.add("Reshape", value, column) for value in (samples, path))
        many = self.add("Cast", self.add("Greater", samples, self.number([2.0])), to=REAL)
        log = self.add("Log", self.add("Max", samples, self.number([1.0])))
        return self.add("Add", path, self.add("Mul", log, many))

    def data(self, *results: str) -> bytes:
        value = helper.make_tensor_value_info
        outputs = [onnx.ValueInfoProto(name=name) for name in results]
        graph = helper.make_graph(
            self.nodes, "g", [value("x", REAL, [self.rows, 2])], outputs, self.constants
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 3)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        data: bytes = onnx.shape_inference.infer_shapes(model).SerializeToString()
        return data


def kinds(data: bytes) -> list[str]:
    names = [node.op.name for node in read_onnx(data, "m.onnx").nodes]
    return [name for name in names if name != "constant"]


def test_depths_of_leaves_are_summed_by_one_forest() -> None:
    model = Model()
    depths = [model.depth(model.tree(feature, 1, 3, 4)) for feature in (0, 1, 0)]
    total = model.add("Sum", *depths)
    data = model.data(model.add("Neg", total))
    assert kinds(data) == ["tree_ensemble", "neg"]
    check_model(data, oracle=run_onnxruntime)


def test_numbers_of_leaves_may_be_integers_and_flags() -> None:
    model = Model()
    index = model.add("Cast", model.tree(0, 1, 3, 4), to=onnx.TensorProto.INT64)
    above = model.add("Greater", model.tree(1, 1.5, -2, 4), model.number([1.75]))
    data = model.data(model.add("Add", index, model.number([7], "int64")), above)
    assert kinds(data) == ["tree_ensemble", "cast"] * 2
    check_model(data, oracle=run_onnxruntime)


def test_features_are_taken_where_they_are() -> None:
    model = Model()
    turned = model.add("Gather", "x", model.number([1, 0, 1], "int64"), axis=1)
    data = model.data(model.add("Neg", model.tree(2, 1, -3, 4, x=turned)))
    assert kinds(data) == ["tree_ensemble"]
    check_model(data, oracle=run_onnxruntime)


@pytest.mark.parametrize("why", ["two ends", "other numbers", "infinite", "a plain tree"])
def test_other_trees_stay(why: str) -> None:
    model = Model()
    leaf = model.tree(0, 1, 3, 4)
    results = [leaf]
    if why == "two ends":
        results = [model.add("Neg", leaf), model.add("Exp", leaf)]
    elif why == "other numbers":
        column = model.add("Gather", "x", model.number([0], "int64"), axis=1)
        results = [model.add("Add", leaf, column)]
    elif why == "infinite":
        results = [model.add("Log", model.add("Add", leaf, model.number([-1.0])))]
    data = model.data(*results)
    assert len(kinds(data)) == {"two ends": 3, "other numbers": 4, "infinite": 3}.get(why, 1)
    check_model(data, oracle=run_onnxruntime)


def test_sums_of_trees_keep_their_order() -> None:
    """Real numbers are added one by one, as the file does."""
    model = Model()
    trees = [model.tree(0, *(np.float32(10.0) ** power, 1, -1)) for power in (8, 0, -3, 7)]
    total = trees[0]
    for tree in trees[1:]:
        total = model.add("Add", total, tree)
    data = model.data(total)
    assert kinds(data) == ["tree_ensemble"]
    check_model(data, [[np.full((ROWS, 2), -1, np.float32)]], run_onnxruntime)


def test_classes_that_trees_vote_for_are_one_forest() -> None:
    """As in AdaBoost: a weight for the class that a tree finds, and less for the others."""
    model = Model()
    votes = []
    for number, weight in enumerate((0.5, 2.0, 0.75)):
        scores = model.scores(number % 2, (0.2, 0.5, 0.3), (0.6, 0.0, 0.4), (0.1, 0.1, 0.8))
        best = model.add("ArgMax", scores, axis=1)
        is_best = model.add("Equal", best, model.number([[0, 1, 2]], "int64"))
        vote = model.add("Where", is_best, model.number([[1.0]]), model.number([[-0.5]]))
        votes.append(model.add("Mul", vote, model.number([weight])))
    data = model.data(model.add("Neg", model.add("Sum", *votes)))
    assert kinds(data) == ["tree_ensemble", "neg"]
    check_model(data, oracle=run_onnxruntime)


def test_columns_are_no_rows() -> None:
    """Three rows and three targets: an operator across rows is none of each row's leaf."""
    model = Model()
    scores = model.scores(0, (0.2, 0.5, 0.3), (0.6, 0.0, 0.4), (0.1, 0.1, 0.8))
    turned = model.add("Transpose", scores, perm=[1, 0])
    other = model.scores(1, (0.2, 0.5, 0.3), (0.6, 0.0, 0.4), (0.1, 0.1, 0.8))
    rows = model.add("Mul", other, model.number([[1.0], [2.0], [3.0]]))
    best = model.add("ArgMax", model.scores(1, (1, 2, 3), (3, 2, 1), (2, 3, 1)), axis=0)
    data = model.data(turned, rows, best)
    assert {"transpose", "mul", "arg_max"} <= set(kinds(data))
    check_model(data, oracle=run_onnxruntime)


def forests(model: Model) -> list[str]:
    """Trees of one and of three targets."""
    rows = (0.2, 0.5, 0.3), (0.6, 0.0, 0.4), (0.1, 0.1, 0.8)
    return [model.tree(0, 1, 3, 4), model.scores(1, *rows), model.tree(1, -1, 2, 5)]


def test_forests_side_by_side_are_one() -> None:
    model = Model()
    data = model.data(model.add("Concat", *forests(model), axis=1))
    assert kinds(data) == ["tree_ensemble", "reshape"]
    check_model(data, oracle=run_onnxruntime)


@pytest.mark.parametrize("rows", [1, 3])
def test_forests_one_behind_the_other_are_one_for_a_single_row(rows: int) -> None:
    model = Model(rows)
    shape = model.number([1, rows, 1], "int64")
    parts = [model.add("Reshape", model.tree(k % 2, k, 3, 4), shape) for k in range(3)]
    joined = model.add("Concat", *parts, axis=0)
    data = model.data(model.add("ReduceMean", joined, axes=[0], keepdims=0))
    assert kinds(data).count("tree_ensemble") == rows
    check_model(data, oracle=run_onnxruntime)


def test_forests_that_others_read_stay() -> None:
    model = Model()
    parts = forests(model)
    data = model.data(model.add("Concat", *parts, axis=1), parts[0])
    assert kinds(data).count("tree_ensemble") == 3
    check_model(data, oracle=run_onnxruntime)


@pytest.mark.parametrize(("most", "is_known"), [(30, True), (29, False), (14, False)])
def test_no_more_numbers_are_computed_than_is_affordable(
    most: int, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of five nodes three targets, and what becomes of them; another shape costs none."""
    monkeypatch.setattr(leaf_functions, "_MOST_NUMBERS", most)
    model = Model()
    scores = model.scores(0, (0.2, 0.5, 0.3), (0.6, 0.0, 0.4), (0.1, 0.1, 0.8))
    column = model.add("Reshape", scores, model.number([3, 3, 1], "int64"))
    found = kinds(model.data(model.add("Neg", column)))
    assert ("neg" in found) is not is_known


@pytest.mark.parametrize("count", [3, 4])
def test_a_sum_has_no_more_trees_than_is_affordable(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaf_functions, "_MOST_TREES", 3)
    model = Model()
    data = model.data(model.add("Sum", *(model.tree(0, k, 3, 4) for k in range(count))))
    assert kinds(data).count("tree_ensemble") == (1 if count == 3 else 2)
