"""Operators with graphs, states or trees in their attributes, by family; see `onnx_cases.py`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from glowmcu.frontend.onnx.container import InputRecord, NodeRecord
from glowmcu.ir.types import element_type_of
from tests.frontend.onnx_damage import Case, c, w, x
from tests.support.onnx_parts import onnx, record

_ML = "ai.onnx.ml"
_F, _I32, _I64, _BOOL = "float32", "int32", "int64", "bool"


def op(kind: str, *operands: Any, out: int = 1, opset: int = 17, **attributes: Any) -> Case:
    results = tuple(f"y{place}" for place in range(out))
    return Case(kind, operands, attributes, results, opset)


def ml(kind: str, *operands: Any, out: int = 1, **attributes: Any) -> Case:
    results = tuple(f"y{place}" for place in range(out))
    return Case(kind, operands, attributes, results, domain=_ML)


def data(values: Any, dtype: str) -> Any:
    return onnx.numpy_helper.from_array(np.array(values, dtype), "data")


def _recurrent(kind: str, gates: int, directions: int, steps: int, **attributes: Any) -> Case:
    states = [x(directions, 2, 3)] * (2 if kind == "LSTM" else 1)
    weights = w(directions, gates * 3, 4), w(directions, gates * 3, 3), w(directions, gates * 6)
    peepholes = [w(directions, 9)] if kind == "LSTM" else []
    lengths = c([2] * 2, _I32) if steps > 1 else None
    return op(kind, x(steps, 2, 4), *weights, lengths, *states, *peepholes,
               out=2 + (kind == "LSTM"), hidden_size=3, **attributes)  # fmt: skip


_TREE = {
    "nodes_treeids": [0, 0, 0, 1, 1, 1], "nodes_nodeids": [0, 1, 2, 0, 1, 2],
    "nodes_featureids": [1, 0, 0, 2, 0, 0],
    "nodes_modes": [b"BRANCH_LEQ", b"LEAF", b"LEAF", b"BRANCH_GT", b"LEAF", b"LEAF"],
    "nodes_truenodeids": [1, 0, 0, 1, 0, 0], "nodes_falsenodeids": [2, 0, 0, 2, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0, -0.5, 0.0, 0.0],
    "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 0],
}  # fmt: skip


def _leaves(prefix: str, targets: list[int], weights: list[float]) -> dict[str, Any]:
    return {
        f"{prefix}_treeids": [0, 0, 1, 1], f"{prefix}_nodeids": [1, 2, 1, 2],
        f"{prefix}_ids": targets, f"{prefix}_weights": weights,
    }  # fmt: skip


_NEW_TREE = {
    "nodes_featureids": [1, 0], "nodes_truenodeids": [0, 1], "nodes_trueleafs": [1, 1],
    "nodes_falsenodeids": [1, 2], "nodes_falseleafs": [0, 1], "leaf_targetids": [0, 1, 1],
    "tree_roots": [0], "n_targets": 2, "post_transform": 2, "aggregate_function": 0,
    "nodes_missing_value_tracks_true": [0, 1],
    "nodes_splits": data([0.5, 2.0], _F), "nodes_modes": data([6, 0], "uint8"),
    "leaf_weights": data([1.0, 0.5, 2.0], _F),
    "membership_values": data([1.0, 3.0, np.nan], _F),
}  # fmt: skip


def _body(inputs: list[Any], outputs: list[str], *nodes: NodeRecord, **data: Any) -> Any:
    """A graph in an attribute; `inputs` are names and shapes."""
    records = [
        InputRecord(name, element_type_of(np.dtype(item.dtype)), item.dtype.upper(), item.shape)
        for name, item in inputs
    ]
    numbered = [replace(node, index=index) for index, node in enumerate(nodes)]
    return record(records, outputs, numbered, **data)


def _node(kind: str, inputs: list[str], outputs: list[str], **attributes: Any) -> NodeRecord:
    return NodeRecord(0, kind, "ai.onnx", "", tuple(inputs), tuple(outputs), attributes)


#: What is carried doubles, and so much is collected a trip; a1 is the graph's around.
_DOUBLED = _body(
    [("i", x(dtype=_I64)), ("go", x(dtype=_BOOL)), ("v", x(2))], ["more", "w", "w"],
    _node("Add", ["v", "v"], ["w"]), _node("Identity", ["go"], ["more"]),
)  # fmt: skip
#: It goes on while the sum is below 9.
_UNTIL = _body(
    [("i", x(dtype=_I64)), ("go", x(dtype=_BOOL)), ("v", x())], ["more", "w"],
    _node("Cast", ["i"], ["n"], to=1), _node("Add", ["v", "n"], ["w"]),
    _node("Less", ["w", "nine"], ["more"]), nine=np.float32(9),
)  # fmt: skip
_RUNNING = _body(
    [("sum", x(2)), ("row", x(2))], ["next", "next"], _node("Add", ["sum", "row"], ["next"])
)
#: Only where all trips are written out is the shape known.
_SHAPING = _body(
    [("shape", x(2, dtype=_I64)), ("row", x(2))], ["next", "turned"],
    _node("Identity", ["shape"], ["next"]), _node("Reshape", ["row", "shape"], ["turned"]),
)  # fmt: skip
_BRANCHES = {
    "then_branch": _body([], ["t"], _node("Add", ["a1", "a1"], ["t"])),
    "else_branch": _body([], ["e"], _node("Neg", ["a1"], ["e"])),
}
_SVM = {
    "support_vectors": [0.5, 1.0, -1.0, 2.0, 0.25, 3.0], "kernel_params": [0.5, 0.25, 3.0],
}  # fmt: skip

STRUCTURED: dict[str, tuple[Case, ...]] = {
    "non_max_suppression": (
        op("NonMaxSuppression", x(1, 5, 4), x(1, 2, 5), c([3]), c([0.5], "float32"),
           c([0.25], "float32"), center_point_box=1),
        op("NonMaxSuppression", x(2, 3, 4), x(2, 1, 3), c(2), center_point_box=0),
    ),
    "control_flow": (
        replace(op("If", x(dtype=_BOOL), x(2), **_BRANCHES), taken=1),
        replace(op("If", c([True], _BOOL), x(2), **_BRANCHES), taken=1),
        op("Loop", c(3), c(True, _BOOL), x(2), out=2, body=_DOUBLED),
        op("Loop", x(dtype=_I64), c(True, _BOOL), x(2), body=_DOUBLED),
        op("Loop", c(30), None, x(2), body=_DOUBLED),
        op("Loop", c(4), x(dtype=_BOOL), x(), body=_UNTIL),
        op("Loop", c(4), None, x(), body=_UNTIL),
        op("Loop", None, c(True, _BOOL), x(), body=_UNTIL),
        op("Loop", c(4), c(True, _BOOL), c(5, _F), body=_UNTIL),
        op("Scan", x(2), x(3, 2), out=2, body=_RUNNING, num_scan_inputs=1),
        op("Scan", x(2), x(2, 3), out=2, body=_RUNNING, num_scan_inputs=1, scan_input_axes=[1],
            scan_input_directions=[1], scan_output_axes=[-1], scan_output_directions=[1]),
        op("Scan", x(2), x(66, 2), out=2, body=_RUNNING, num_scan_inputs=1,
            scan_input_directions=[0], scan_output_axes=[1], scan_output_directions=[1]),
        op("Scan", c([2, 1]), x(33, 2), out=2, body=_SHAPING, num_scan_inputs=1),
    ),
    "feature_encoders": (
        ml("Binarizer", x(2, 3), threshold=0.5), ml("Binarizer", x(2, dtype=_I64)),
        ml("Imputer", x(2, 3), imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=-1.0),
        ml("Imputer", x(2, 3), imputed_value_floats=[1.0], replaced_value_float=float("nan")),
        ml("Imputer", x(2, 3, dtype=_I64), imputed_value_int64s=[7], replaced_value_int64=3),
        ml("OneHotEncoder", x(2), cats_int64s=[3, 5], zeros=1),
        ml("FeatureVectorizer", x(2), x(2, 3, dtype=_I64), inputdimensions=[1, 3]),
        ml("CategoryMapper", x(2, dtype=_I64), cats_int64s=[4, 2], cats_strings=[b"a", b"b"]),
        ml("LabelEncoder", x(2, dtype=_I64), keys_int64s=[3, 5, 3], values_floats=[0.5, 1.5, 2.5],
            default_float=7.5),
        ml("LabelEncoder", x(2), keys_floats=[0.5, 2.0], values_int64s=[4, 9], default_int64=-7),
        ml("LabelEncoder", x(2, dtype=_I32), keys_int64s=[3, 90000], values_int64s=[4, 9]),
        ml("LabelEncoder", x(2, dtype=_I64), keys_int64s=[3, 5], values_strings=[b"a", b"b"]),
        ml("LabelEncoder", x(2), keys_tensor=data([1, 2], "float64"),
            values_tensor=data([5, 6], _I32), default_tensor=data([8], _I32)),
    ),
    "linear_models": (
        ml("LinearClassifier", x(1, 2), out=2, classlabels_ints=[3, 5],
            coefficients=[1.0, 2.0, 3.0, 4.0], intercepts=[0.5, 1.5], post_transform="SOFTMAX"),
        ml("LinearClassifier", x(1, 2), out=2, classlabels_strings=[b"a", b"b"],
            coefficients=[1.0, 2.0, 3.0, 4.0]),
        ml("LinearRegressor", x(1, 2), targets=2, coefficients=[1.0, 2.0, 3.0, 4.0],
            intercepts=[0.5, 1.5], post_transform="NONE"),
        ml("Normalizer", x(2, 3), norm="MAX"), ml("Normalizer", x(2, 3), norm="L1"),
    ),
    "post_transforms": tuple(
        ml("LinearRegressor", x(1, 2), targets=2, coefficients=[1.0, 2.0, 3.0, 4.0],
            post_transform=name)
        for name in ("SOFTMAX_ZERO", "PROBIT", "LOGISTIC")
    ),
    "recurrent": (
        _recurrent("LSTM", 4, 2, 3, direction="bidirectional", layout=0, clip=2.0),
        _recurrent("LSTM", 4, 1, 1, direction="forward", input_forget=1),
        _recurrent("LSTM", 4, 1, 2, input_forget=1),
        op("GRU", x(1, 2, 4), w(1, 9, 4), w(1, 9, 3), None, c([2, 0], _I32)),
        _recurrent("GRU", 3, 1, 3, direction="reverse", linear_before_reset=1),
        _recurrent("GRU", 3, 1, 1, linear_before_reset=0),
        _recurrent("RNN", 1, 2, 2, direction="bidirectional", activations=[b"Relu", b"Tanh"],
                   clip=0.5),
        _recurrent("RNN", 1, 1, 1, activations=[b"LeakyRelu"], activation_alpha=[0.25]),
        _recurrent("RNN", 1, 1, 2, activations=[b"Affine"], activation_alpha=[0.25],
                   activation_beta=[0.5]),
        op("GRU", x(2, 1, 4), x(1, 9, 4), x(1, 9, 3), layout=1),
        op("GRU", x(2, 1, 4), w(1, 9, 4), w(1, 9, 3), None, None, c(np.zeros((1, 1, 3)), _F)),
        op("GRU", x(1, 2, 4), w(1, 9, 4), w(1, 9, 3), linear_before_reset=1, clip=0.75),
        op("LSTM", x(1, 2, 4), x(1, 12, 4), x(1, 12, 3), x(1, 24), x(2, dtype=_I32), out=3),
    ),
    "scikit_learn": (
        ml("Scaler", x(2, 3), offset=[1.0, 2.0, 3.0], scale=[0.5, 0.25, 2.0]),
        ml("ArrayFeatureExtractor", x(2, 3), c([0, 2])), ml("ZipMap", x(2, 3)),
        ml("ArrayFeatureExtractor", x(3), x(1, 2, dtype=_I64)),
    ),
    "support_vectors": (
        ml("SVMRegressor", x(1, 2), coefficients=[1.0, 2.0, 3.0], rho=[0.5], n_supports=3,
            kernel_type="POLY", one_class=0, **_SVM),
        ml("SVMRegressor", x(1, 2), coefficients=[1.0, 2.0], rho=[0.5], n_supports=0),
        ml("SVMClassifier", x(1, 2), out=2, classlabels_ints=[3, 5], vectors_per_class=[2, 1],
            coefficients=[1.0, 2.0, 3.0], rho=[0.5], kernel_type="RBF", **_SVM),
        ml("SVMClassifier", x(1, 2), out=2, classlabels_strings=[b"a", b"b"],
            vectors_per_class=[2, 1], coefficients=[1.0, 2.0, 3.0], rho=[0.5], **_SVM),
        ml("SVMClassifier", x(1, 2), out=2, classlabels_ints=[0, 1, 2],
            vectors_per_class=[1, 1, 1], coefficients=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            rho=[0.5, 1.5, 2.5], prob_a=[-1.0, -2.0, -3.0], prob_b=[0.25, 0.5, 0.75],
            kernel_type="LINEAR", **_SVM),
        ml("SVMClassifier", x(1, 2), out=2, classlabels_strings=[b"a", b"b", b"c", b"d"],
            vectors_per_class=[1, 2, 1, 0], coefficients=[float(n) for n in range(12)],
            rho=[float(n) for n in range(6)], kernel_type="SIGMOID",
            support_vectors=[float(n) for n in range(8)], kernel_params=[0.5, 0.25, 3.0]),
    ),
    "trees": (
        ml("TreeEnsembleRegressor", x(1, 3), n_targets=2, aggregate_function="SUM",
            base_values=[0.5, 1.5], **_TREE,
            **_leaves("target", [0, 1, 1, 0], [1.0, 2.0, 3.0, 4.0])),
        ml("TreeEnsembleRegressor", x(1, 3), n_targets=1, aggregate_function="MIN", **_TREE,
            **_leaves("target", [0, 0, 0, 0], [1.0, 2.0, 3.0, 4.0])),
        ml("TreeEnsembleClassifier", x(1, 3), out=2, classlabels_int64s=[3, 5],
            post_transform="LOGISTIC", **_TREE,
            **_leaves("class", [1, 1, 1, 1], [0.5, 2.0, 3.0, 1.0])),
        ml("TreeEnsembleClassifier", x(1, 3), out=2, classlabels_strings=[b"a", b"b", b"c"],
            post_transform="NONE", base_values=[0.5, 1.5, 2.5], **_TREE,
            **_leaves("class", [0, 1, 2, 1], [0.5, 0.5, 0.5, 0.5])),
        ml("TreeEnsembleClassifier", x(1, 3), out=2, classlabels_int64s=[0, 1, 2], **_TREE,
            **_leaves("class", [0, 1, 2, 1], [0.5, 1.0, 0.5, 2.0])),
        ml("TreeEnsembleClassifier", x(1, 3), out=2, classlabels_int64s=[0, 1],
            post_transform="NONE", base_values=[0.25], **_TREE,
            **_leaves("class", [0, 0, 0, 0], [0.5, -2.0, 3.0, 1.0])),
        ml("TreeEnsembleClassifier", x(1, 3), out=2, classlabels_int64s=[0, 1],
            post_transform="LOGISTIC", class_treeids=[0, 0, 0, 0], class_nodeids=[1, 1, 2, 2],
            class_ids=[0, 1, 0, 1], class_weights=[-0.5, 0.5, 2.0, -2.0], **_TREE),
        ml("TreeEnsembleRegressor", x(1, 3), n_targets=1, base_values=[0.5], target_ids=[0, 0],
            target_treeids=[0, 1], target_nodeids=[1, 1], target_weights=[1.0, 2.0], **_TREE),
        ml("TreeEnsembleRegressor", x(1, 3), n_targets=1, aggregate_function="AVERAGE", **_TREE,
            **_leaves("target", [0, 0, 0, 0], [2.0, 2.0, 2.0, 2.0])),
        ml("TreeEnsemble", x(1, 3), **_NEW_TREE),
    ),
}  # fmt: skip
