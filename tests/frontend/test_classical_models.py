"""Support vector machines and what prepares features, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model
from tests.support.check_model import Array, check_model
from tests.support.onnx_models import run_onnxruntime

Draw = np.random.default_rng


def ml_model(
    kind: str,
    attributes: dict[str, Any],
    inputs: list[tuple[str, tuple[int, ...]]],
    outputs: list[str],
    version: int = 3,
) -> bytes:
    """One operator of ONNX-ML; types by numpy's names."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    helper = onnx.helper

    def value(name: str, dtype: str, shape: Any) -> Any:
        element = onnx.TensorProto.STRING
        if dtype != "str":
            element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return helper.make_tensor_value_info(name, element, shape)

    names = [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(len(outputs))]
    node = helper.make_node(kind, *names, domain="ai.onnx.ml", **attributes)
    pairs = zip(names[0], inputs, strict=True)
    graph = helper.make_graph(
        [node], "g", [value(name, dtype, shape) for name, (dtype, shape) in pairs],
        [value(name, dtype, None) for name, dtype in zip(names[1], outputs, strict=True)],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    data: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return data


def check(data: bytes, sets: list[list[Array]]) -> Compilation:
    return check_model(data, sets, run_onnxruntime, Options("m"), rtol=1e-5, atol=1e-5)


def rows(count: int, features: int) -> list[list[Array]]:
    return [[row[np.newaxis]] for row in Draw(3).normal(size=(count, features)).astype(np.float32)]


KERNELS = {
    "linear": ("LINEAR", [0.0, 0.0, 0.0]),
    "radial": ("RBF", [0.3, 0.0, 0.0]),
    "square": ("POLY", [0.4, 0.5, 2.0]),
    "cube": ("POLY", [0.4, 0.5, 3.0]),
    "fifth power": ("POLY", [0.2, 0.1, 5.0]),
    "sigmoid": ("SIGMOID", [0.2, -0.3, 0.0]),
}


def machine(classes: int, kernel: str, features: int = 4, sizes: Any = None) -> dict[str, Any]:
    """Attributes of a classifier with random vectors."""
    name, parameters = KERNELS[kernel]
    draw, sizes = Draw(classes), sizes or [3 + k for k in range(classes)]
    pairs, count = classes * (classes - 1) // 2, sum(sizes)
    return {
        "kernel_type": name, "kernel_params": parameters, "vectors_per_class": sizes,
        "support_vectors": draw.normal(size=count * features).tolist(),
        "coefficients": draw.normal(size=(classes - 1) * count).tolist(),
        "rho": draw.normal(size=pairs).tolist(), "classlabels_ints": list(range(classes)),
    }  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_classes_by_votes_of_pairs_and_their_scores(classes: int, kernel: str) -> None:
    data = ml_model(
        "SVMClassifier", machine(classes, kernel), [("float32", (1, 4))], ["int64", "float32"]
    )
    check(data, rows(12, 4))


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_probabilities_by_coupling_of_pairs(classes: int) -> None:
    attributes, pairs = machine(classes, "radial"), classes * (classes - 1) // 2
    attributes["prob_a"] = (-1 - Draw(0).random(pairs)).tolist()
    attributes["prob_b"] = Draw(1).normal(0, 0.1, pairs).tolist()
    data = ml_model("SVMClassifier", attributes, [("float32", (1, 4))], ["int64", "float32"])
    unknown = [[np.array([[1.0, np.nan, 0.0, 0.0]], np.float32)]]
    check(data, [*rows(12, 4), *unknown])


@pytest.mark.parametrize("one_class", [0, 1], ids=["value", "one class"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_regression_and_one_class(kernel: str, one_class: int) -> None:
    name, parameters = KERNELS[kernel]
    draw = Draw(4)
    attributes = {
        "kernel_type": name, "kernel_params": parameters, "n_supports": 7, "one_class": one_class,
        "support_vectors": draw.normal(size=28).tolist(), "rho": [0.1],
        "coefficients": draw.normal(size=7).tolist(),
    }  # fmt: skip
    data = ml_model("SVMRegressor", attributes, [("float32", (1, 4))], ["float32"])
    check(data, rows(12, 4))


def test_a_class_without_vectors_only_loses_by_what_the_others_say() -> None:
    attributes = machine(5, "radial", sizes=[2, 0, 3, 1, 2])
    data = ml_model("SVMClassifier", attributes, [("float32", (1, 4))], ["int64", "float32"])
    check(data, rows(6, 4))


DAMAGED = {
    "coefficients": ({"coefficients": [1.0]}, "1 coefficients"),
    "vectors": ({"support_vectors": [1.0]}, "numbers of support vectors"),
    "counts": ({"vectors_per_class": [1]}, "1 counts of support vectors for 3 classes"),
    "negative counts": ({"vectors_per_class": [-3, 4, 5]}, "counts of support vectors"),
    "offsets": ({"rho": [1.0]}, "1 rho"),
    "kernel": ({"kernel_type": "COSINE"}, "COSINE"),
    "parameters": ({"kernel_params": [1.0]}, "1 kernel_params"),
    "probabilities": ({"prob_a": [1.0], "prob_b": [1.0]}, "1 prob_a"),
}


@pytest.mark.parametrize(("changes", "text"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_machines_are_refused(changes: dict[str, Any], text: str) -> None:
    attributes = machine(3, "radial") | changes
    data = ml_model("SVMClassifier", attributes, [("float32", (1, 4))], ["int64", "float32"])
    with pytest.raises(GlowmcuError, match=text) as caught:
        compile_model(data, "m.onnx", Options("m"))
    assert caught.value.problems[0].code in ("GM101", "GM105")


MISSING = [np.array([[np.nan, 1.0, 2.0]], np.float32), np.array([[5.0, np.nan, 0.0]], np.float32)]
PREPARED: dict[str, tuple[str, dict[str, Any], str, list[Array]]] = {
    "above a threshold": ("Binarizer", {"threshold": 0.5}, "float32", [
        np.array([[0.5, 0.6, -1.0]], np.float32)]),
    "missing, a value each": ("Imputer", {
        "imputed_value_floats": [7.0, 8.0, 9.0], "replaced_value_float": float("nan")}, "float32",
        MISSING),
    "missing, one value": ("Imputer", {
        "imputed_value_floats": [7.0], "replaced_value_float": 5.0}, "float32", MISSING),
    "missing, whole": ("Imputer", {
        "imputed_value_int64s": [7], "replaced_value_int64": -1}, "int64",
        [np.array([[-1, 3, 4]])]),
    "categories": ("OneHotEncoder", {"cats_int64s": [3, 1, -4]}, "int64",
        [np.array([[1, 3, -4]]), np.array([[2, 1, 0]])]),
    "categories of floats": ("OneHotEncoder", {"cats_int64s": [3, 1]}, "float32",
        [np.array([[1.0, 3.0, 2.0]], np.float32)]),
    "largest": ("Normalizer", {"norm": "MAX"}, "float32", [
        np.array([[1.0, -4.0, 2.0]], np.float32), np.array([[-1.0, -2.0, -4.0]], np.float32),
        np.array([[-1.0, 0.0, -2.0]], np.float32), np.zeros((1, 3), np.float32)]),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "attributes", "dtype", "sets"), PREPARED.values(), ids=PREPARED)
def test_features_are_prepared(
    kind: str, attributes: dict[str, Any], dtype: str, sets: list[Array]
) -> None:
    out = "float32" if kind == "OneHotEncoder" else dtype
    data = ml_model(kind, attributes, [(dtype, (1, 3))], [out], version=1)
    check(data, [[array] for array in sets])


WHOLE = [np.array([[1, 5, -3]]), np.array([[-100, 2**40, 4]]), np.array([[-(2**62), 0, 6]])]
REAL = [np.array([[1.0, 5.5, -3.0]], np.float32)]
ENCODED: dict[str, tuple[dict[str, Any], str, str, list[Array]]] = {
    "near numbers": ({"keys_int64s": [5, -3, 6], "values_floats": [0.5, 1.5, 2.5],
        "default_float": -7.0}, "int64", "float32", WHOLE),
    "far numbers": ({"keys_int64s": [2**40, 1, -(2**62)], "values_int64s": [9, 8, 7],
        "default_int64": 3}, "int64", "int64", WHOLE),
    "without a default": ({"keys_int64s": [5], "values_int64s": [9]}, "int64", "int64", WHOLE),
    "real keys": ({"keys_floats": [1.0, 5.5], "values_int64s": [9, 8]}, "float32", "int64", REAL),
    "reals to reals": ({"keys_floats": [1.0, 5.5], "values_floats": [9.0, 8.0]}, "float32",
        "float32", REAL),
}  # fmt: skip


@pytest.mark.parametrize(("attributes", "dtype", "out", "sets"), ENCODED.values(), ids=ENCODED)
def test_labels_are_encoded(
    attributes: dict[str, Any], dtype: str, out: str, sets: list[Array]
) -> None:
    data = ml_model("LabelEncoder", attributes, [(dtype, (1, 3))], [out], version=2)
    check(data, [[array] for array in sets])


NAMED = {
    "LabelEncoder": {"keys_int64s": [4, 7, 1], "values_strings": ["a", "b", "c"]},
    "CategoryMapper": {"cats_int64s": [4, 7, 1], "cats_strings": ["a", "b", "c"]},
}


@pytest.mark.parametrize("kind", NAMED)
def test_names_at_the_end_are_indices_and_labels_of_the_bundle(kind: str) -> None:
    version = 2 if kind == "LabelEncoder" else 1
    data = ml_model(kind, NAMED[kind], [("int64", (1, 4))], ["str"], version)
    done = check_model(
        data,
        [[np.array([[7, 1, 4, 5]])]],
        lambda _, arrays: [np.array([[1, 2, 0, -1]])],
        Options("m"),
    )
    assert done.manifest.labels == ("a", "b", "c")
    assert any("index of the class" in note for note in done.notes)


def test_strings_that_are_features_are_refused_of_what_is_no_encoder() -> None:
    kind = "CategoryMapper"
    data = ml_model(kind, NAMED[kind], [("str", (1, 3))], ["int64"], version=2)
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.onnx", Options("m"))
    assert {problem.code for problem in caught.value.problems} == {"GM105"}


def test_features_side_by_side() -> None:
    inputs = [("float32", (1, 2)), ("float32", (1, 3))]
    attributes = {"inputdimensions": [2, 3]}
    data = ml_model("FeatureVectorizer", attributes, inputs, ["float32"], version=1)
    arrays = [np.array([[1.0, 2.0]], np.float32), np.array([[3.0, 4.0, 5.0]], np.float32)]
    check(data, [arrays])
