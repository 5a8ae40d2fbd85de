"""Classical models of the sweep: fitted, written as ONNX, and asked of onnxruntime."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.classical_cases import Case
from benchmarks.classical_data import DATA, Array, Data

#: Where the names in expressions are looked for: importing all of scikit-learn takes seconds.
_MODULES = tuple(
    f"sklearn.{name}"
    for name in (
        "preprocessing", "pipeline", "linear_model", "svm", "naive_bayes", "neighbors", "tree",
        "ensemble", "gaussian_process", "gaussian_process.kernels", "neural_network",
        "discriminant_analysis", "compose", "decomposition", "cluster", "mixture", "impute",
        "feature_selection", "calibration", "multiclass", "multioutput", "model_selection",
        "random_projection", "kernel_approximation", "cross_decomposition", "covariance", "frozen",
        "dummy", "feature_extraction", "feature_extraction.text", "feature_extraction.image",
        "isotonic", "kernel_ridge", "manifold", "semi_supervised",
    )
)  # fmt: skip
_BOOSTED = {"LGBM": "lightgbm", "XGB": "xgboost"}


def fitted(case: Case) -> tuple[Any, Data]:
    """The estimator, seeded and fitted, and its data."""
    data = DATA[case.data]()
    model = eval(case.expression, _names(case.expression, data))
    _seed(model)
    try:
        return model.fit(data.x) if data.y is None else model.fit(data.x, data.y), data
    except TypeError:
        return model.fit(data.x), data


def _names(expression: str, data: Data) -> dict[str, Any]:
    """What the expression is written in."""
    names: dict[str, Any] = {"np": np, "x": data.x, "y": data.y}
    for prefix, package in _BOOSTED.items():
        if expression.startswith(prefix):
            return names | vars(import_module(package))
    if "IterativeImputer" in expression:
        import_module("sklearn.experimental.enable_iterative_imputer")
    used = {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}
    for module in _MODULES:
        missing = used - names.keys()
        if not missing:
            break
        found = vars(import_module(module))
        names |= {name: found[name] for name in missing & found.keys()}
    return names


def _seed(model: Any) -> None:
    seeds = {name: 0 for name in model.get_params() if name.split("__")[-1] == "random_state"}
    model.set_params(**seeds)
    if type(model).__module__.startswith("lightgbm"):
        model.set_params(verbose=-1)


def written(model: Any, case: Case, data: Data) -> bytes:
    """The ONNX file that users get: skl2onnx's or onnxmltools's defaults, and where those fail for
    it, the opsets that the converter asks for.
    """
    module = type(model).__module__.partition(".")[0]
    if module in _BOOSTED.values():
        import onnxmltools
        from onnxmltools.convert.common.data_types import FloatTensorType

        types = [("x", FloatTensorType([None, data.x.shape[1]]))]
        if module == "lightgbm":
            done = onnxmltools.convert_lightgbm(model, initial_types=types, zipmap=False)
        else:
            done = onnxmltools.convert_xgboost(model, initial_types=types)
        return bytes(done.SerializeToString())
    import skl2onnx

    types, options = _types(data), _options(model, case.options)
    with _numbers_for_booleans():
        try:
            done = skl2onnx.to_onnx(model, initial_types=types, options=options)
        except RuntimeError as cause:
            if "target_opset" not in str(cause):
                raise
            opsets = {"": 17, "ai.onnx.ml": 3}
            done = skl2onnx.to_onnx(
                model, initial_types=types, options=options, target_opset=opsets
            )
    return bytes(done.SerializeToString())


def _types(data: Data) -> list[tuple[str, Any]]:
    from skl2onnx.common import data_types

    kinds = {
        "float32": data_types.FloatTensorType, "float64": data_types.DoubleTensorType,
        "int64": data_types.Int64TensorType, "object": data_types.StringTensorType,
    }  # fmt: skip
    if data.columns:
        is_text = [isinstance(value, str) for value in data.x[0]]
        return [
            (name, kinds["object" if text else "float32"]([None, 1]))
            for name, text in zip(data.columns, is_text, strict=True)
        ]
    shape = [1] if data.x.ndim == 1 else [None, *data.x.shape[1:]]
    return [("x", kinds[data.x.dtype.name](shape))]


def _options(model: Any, given: str) -> dict[int, dict[str, Any]] | None:
    while hasattr(model, "steps"):
        model = model.steps[-1][1]
    return {id(model): eval(f"dict({given})")} if given else None


@contextmanager
def _numbers_for_booleans() -> Iterator[None]:
    """As docs/from_scikit_learn.md has it for histogram-based gradient boosting."""
    import skl2onnx.common._container as container

    make_node = container.make_node

    def with_numbers(*names: Any, **attributes: Any) -> Any:
        for key, values in attributes.items():
            if isinstance(values, list) and any(
                isinstance(item, (bool, np.integer)) for item in values
            ):
                attributes[key] = [int(item) for item in values]
        return make_node(*names, **attributes)

    with mock.patch.object(container, "make_node", with_numbers):
        yield


def feeds(data: Data, names: Sequence[str]) -> list[dict[str, Array]]:
    """One row at a time, by input."""
    rows = [data.asked[i : i + 1] for i in range(len(data.asked))]
    if not data.columns:
        return [{names[0]: row} for row in rows]
    return [{name: _column(row, i) for i, name in enumerate(data.columns)} for row in rows]


def _column(row: Array, index: int) -> Array:
    cell = row[0, index]
    return np.array([[cell]], object if isinstance(cell, str) else np.float32)


def answers(file: bytes, data: Data) -> list[list[Array]]:
    """onnxruntime's outputs for each row; dictionaries of scores are rows of them, and sequences as
    many outputs.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    asked = feeds(data, [item.name for item in session.get_inputs()])
    return [[part for found in session.run(None, row) for part in _tensors(found)] for row in asked]


def _tensors(found: Any) -> list[Array]:
    """An output, or what a sequence of them holds."""
    if not isinstance(found, list):
        return [np.asarray(found)]
    if found and isinstance(found[0], dict):
        return [np.array([list(row.values()) for row in found], np.float32)]
    return [np.asarray(item) for item in found]


def own_answers(model: Any, data: Data) -> list[list[Array]]:
    """What the estimator itself says of each row, as outputs; none where it says nothing."""
    found: list[Array] = []
    for name in ("predict", "predict_proba", "decision_function", "transform", "kneighbors"):
        try:
            said = getattr(model, name)(data.asked)
        except (AttributeError, NotImplementedError, TypeError, ValueError):
            continue  # it has none of these, or not for its options
        parts = said if isinstance(said, (tuple, list)) else [said]
        found += [np.asarray(_plain(part)) for part in parts]
        if name == "decision_function" and found[-1].ndim == 1:
            score = found[-1]  # of two classes, which skl2onnx writes in either order
            found += [np.stack(pair, axis=1) for pair in ((-score, score), (score, -score))]
    return [[part[i : i + 1] for part in found] for i in range(len(data.asked))] if found else []


def _plain(found: Any) -> Any:
    return found.toarray() if hasattr(found, "toarray") else found
