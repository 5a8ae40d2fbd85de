"""Perceptrons of scikit-learn as skl2onnx writes them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from tests.quant.networks import draw
from tests.support.check_model import check_model
from tests.support.onnx_models import run_onnxruntime

FEATURES = draw(0, 200, 6)
CLASSES = (FEATURES[:, 0] * FEATURES[:, 1] > 0).astype(int) + (FEATURES[:, 2] > 1)


def converted(model: Any, **options: bool) -> bytes:
    skl2onnx = pytest.importorskip("skl2onnx", reason="pip install skl2onnx")
    chosen = {id(model): options} if options else None
    data: bytes = skl2onnx.to_onnx(model, FEATURES[:1], options=chosen).SerializeToString()
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


def test_a_dictionary_of_probabilities_is_refused_with_the_way_out() -> None:
    with pytest.raises(GlowmcuError) as caught:
        check(converted(network("MLPClassifier", CLASSES)))
    (problem,) = caught.value.problems
    assert problem.code == "GM105"
    assert "'zipmap': False" in problem.hint
