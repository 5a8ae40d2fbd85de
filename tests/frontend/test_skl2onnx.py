"""Perceptrons of scikit-learn as skl2onnx writes them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model
from tests.quant.networks import draw
from tests.support.check_model import check_model
from tests.support.onnx_models import run_onnxruntime

FEATURES = draw(0, 200, 6)
CLASSES = (FEATURES[:, 0] * FEATURES[:, 1] > 0).astype(int) + (FEATURES[:, 2] > 1)


def converted(model: Any, **options: bool) -> bytes:
    skl2onnx = pytest.importorskip("skl2onnx", reason="pip install skl2onnx")
    chosen = {id(model): options} if options else None
    opsets = {"": 17, "ai.onnx.ml": 3}
    made = skl2onnx.to_onnx(model, FEATURES[:1], options=chosen, target_opset=opsets)
    data: bytes = made.SerializeToString()
    return data


def network(kind: str, targets: Any, **options: Any) -> Any:
    """A perceptron that has seen the features a few times."""
    networks = pytest.importorskip("sklearn.neural_network", reason="pip install scikit-learn")
    model = getattr(networks, kind)(hidden_layer_sizes=(8, 6), max_iter=20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has not converged, and need not
        return model.set_params(**options).fit(FEATURES, targets)


def check(data: bytes) -> None:
    """One row of features at a time: the file leaves their number open."""
    options = Options("m")
    rows = [[row[np.newaxis]] for row in FEATURES[:4]]
    check_model(data, inputs=rows, oracle=run_onnxruntime, options=options)


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic"])
def test_classifiers_give_classes_and_probabilities(activation: str) -> None:
    model = network("MLPClassifier", CLASSES * 10, activation=activation)
    check(converted(model, zipmap=False))


def test_classifiers_of_two_classes_give_classes_and_probabilities() -> None:
    check(converted(network("MLPClassifier", CLASSES > 0), zipmap=False))


def test_regression_on_scaled_features() -> None:
    preprocessing = pytest.importorskip("sklearn.preprocessing", reason="pip install scikit-learn")
    pipeline = pytest.importorskip("sklearn.pipeline", reason="pip install scikit-learn")
    scaler = preprocessing.StandardScaler().fit(FEATURES * 3 + 1)
    model = network("MLPRegressor", FEATURES[:, 3])
    check(converted(pipeline.make_pipeline(scaler, model)))


def test_a_dictionary_of_probabilities_is_the_scores_and_said_so() -> None:
    model = network("MLPClassifier", CLASSES)
    with_map = compile_model(converted(model), "m.onnx", Options("m"))
    tensor = compile_model(converted(model, zipmap=False), "m.onnx", Options("m"))
    types = [[value.type for value in done.imported.results] for done in (with_map, tensor)]
    assert types[0] == types[1]
    assert any("dictionary" in note for note in with_map.notes)


def linear(kind: str, targets: Any, **options: Any) -> Any:
    models = pytest.importorskip("sklearn.linear_model", reason="pip install scikit-learn")
    if not hasattr(models, kind):
        models = pytest.importorskip("sklearn.svm", reason="pip install scikit-learn")
    return getattr(models, kind)(**options).fit(FEATURES, targets)


LINEAR_CLASSIFIERS = {
    "logistic regression": ("LogisticRegression", {}),
    "a vector machine": ("LinearSVC", {}),
    "ridge": ("RidgeClassifier", {}),
    "hinge loss": ("SGDClassifier", {"random_state": 0}),
    "a perceptron of one layer": ("Perceptron", {"random_state": 0}),
}


@pytest.mark.parametrize("classes", [3, 2], ids=["three classes", "two classes"])
@pytest.mark.parametrize(("kind", "options"), LINEAR_CLASSIFIERS.values(), ids=LINEAR_CLASSIFIERS)
def test_linear_classifiers(kind: str, options: dict[str, Any], classes: int) -> None:
    """docs/from_scikit_learn.md promised them, and LinearClassifier was not known."""
    targets = CLASSES * 10 + 5 if classes == 3 else CLASSES > 0
    plain = {} if kind == "LinearSVC" else {"zipmap": False}
    check(converted(linear(kind, targets, **options), **plain))


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("kind", ["LinearRegression", "Ridge", "Lasso"])
def test_linear_regression(kind: str, targets: int) -> None:
    wanted = FEATURES[:, 3] * 2 + 1 if targets == 1 else FEATURES[:, 3:] * 2 + 1
    check(converted(linear(kind, wanted)))


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_rows_are_normalized_and_zeros_stay(norm: str) -> None:
    preprocessing = pytest.importorskip("sklearn.preprocessing", reason="pip install scikit-learn")
    data = converted(preprocessing.Normalizer(norm).fit(FEATURES))
    rows = [[row[np.newaxis]] for row in (*FEATURES[:3], np.zeros(6, np.float32))]
    check_model(data, inputs=rows, oracle=run_onnxruntime, options=Options("m"))


def test_labels_that_are_strings_are_indices_and_labels_of_the_bundle() -> None:
    names = np.array(["low", "middle", "high"])[CLASSES]
    data = converted(linear("LogisticRegression", names), zipmap=False)
    done = check_model(data, [[FEATURES[:1]]], options=Options("m"))
    assert done.manifest.labels == ("high", "low", "middle")
    assert any("index of the class" in note for note in done.notes)


REFUSED = {
    "too few rows": (
        {"coefficients": [1.0, 2.0], "classlabels_ints": [0, 1]}, "expected 2 rows of 2",
    ),
    "intercepts": (
        {"coefficients": [1.0] * 4, "intercepts": [1.0], "classlabels_ints": [0, 1]},
        "1 intercepts, expected 2",
    ),
    "an unknown transform": (
        {"coefficients": [1.0] * 4, "classlabels_ints": [0, 1], "post_transform": "CUBE"},
        "post_transform CUBE is none of NONE, LOGISTIC, SOFTMAX",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("attributes", "text"), REFUSED.values(), ids=REFUSED)
def test_other_classifiers_are_refused(attributes: dict[str, Any], text: str) -> None:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    helper, real = onnx.helper, onnx.TensorProto.FLOAT
    kind = "LinearClassifier"
    node = helper.make_node(kind, ["x"], ["label", "y"], domain="ai.onnx.ml", **attributes)
    y = helper.make_tensor_value_info("y", real, [1, 2])
    x = helper.make_tensor_value_info("x", real, [1, 2])
    graph = helper.make_graph([node], "g", [x], [y])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    data = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    with pytest.raises(GlowmcuError, match=text) as caught:
        compile_model(data, "m.onnx", Options("m"))
    assert caught.value.problems[0].code == "GM105"


ENSEMBLES: dict[str, tuple[str, dict[str, Any]]] = {
    "votes": ("RandomForestClassifier", {"n_estimators": 10}),
    "shares of leaves": ("ExtraTreesClassifier", {"n_estimators": 10, "max_depth": 3}),
    "means": ("RandomForestRegressor", {"n_estimators": 5, "max_depth": 4}),
    "boosted": ("GradientBoostingClassifier", {"n_estimators": 5}),
    "boosted regression": ("GradientBoostingRegressor", {"n_estimators": 5}),
    "bagged": ("BaggingClassifier", {"n_estimators": 3}),
    "weighted": ("AdaBoostClassifier", {"n_estimators": 3}),
}


@pytest.mark.parametrize("classes", [3, 2], ids=["three classes", "two classes"])
@pytest.mark.parametrize(("kind", "options"), ENSEMBLES.values(), ids=ENSEMBLES)
def test_forests_and_boosted_trees(kind: str, options: dict[str, Any], classes: int) -> None:
    ensemble = pytest.importorskip("sklearn.ensemble", reason="pip install scikit-learn")
    model = getattr(ensemble, kind)(random_state=0, **options)
    targets: Any = CLASSES if classes == 3 else (CLASSES > 0).astype(int)
    if kind.endswith("Regressor"):
        targets = FEATURES[:, 3] + targets
        check(converted(model.fit(FEATURES, targets)))
        return
    check(converted(model.fit(FEATURES, targets), zipmap=False))


@pytest.mark.parametrize("kind", ["DecisionTreeClassifier", "DecisionTreeRegressor"])
def test_single_trees(kind: str) -> None:
    trees = pytest.importorskip("sklearn.tree", reason="pip install scikit-learn")
    model = getattr(trees, kind)(max_depth=4, random_state=0)
    if kind.endswith("Regressor"):
        check(converted(model.fit(FEATURES, FEATURES[:, :2])))
    else:
        check(converted(model.fit(FEATURES, CLASSES), zipmap=False))


@pytest.mark.parametrize("kind", ["LogisticRegression", "LinearSVC", "StandardScaler",
                                  "MaxAbsScaler", "Normalizer"])  # fmt: skip
def test_features_may_be_integers(kind: str) -> None:
    """Of an integer array skl2onnx makes int64 inputs, which these operators take."""
    skl2onnx = pytest.importorskip("skl2onnx", reason="pip install skl2onnx")
    features = np.rint(FEATURES * 10).astype(np.int64)
    for module in ("linear_model", "svm", "preprocessing"):
        found = pytest.importorskip(f"sklearn.{module}", reason="pip install scikit-learn")
        if hasattr(found, kind):
            model = getattr(found, kind)().fit(features, CLASSES)
    options = {id(model): {"zipmap": False}} if hasattr(model, "predict_proba") else None
    opsets = {"": 17, "ai.onnx.ml": 3}
    made = skl2onnx.to_onnx(model, features[:1], options=options, target_opset=opsets)
    data: bytes = made.SerializeToString()
    check_model(data, [[row[np.newaxis]] for row in features[:4]], run_onnxruntime, Options("m"))
