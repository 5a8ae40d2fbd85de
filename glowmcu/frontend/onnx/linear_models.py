"""Linear models as skl2onnx writes them: LinearClassifier, LinearRegressor, Normalizer.

Source: ONNX-ML's definitions, and onnxruntime where they say nothing.
"""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array, Operation
from glowmcu.ir.types import ElementType
from glowmcu.ops.activation import Abs
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Maximum
from glowmcu.ops.gather import Gather
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.normalization import L2Normalization, Softmax
from glowmcu.ops.reduction import Sum
from glowmcu.ops.scan import ArgMax
from glowmcu.ops.transcendental import Logistic

_DOMAIN = "ai.onnx.ml"
#: What becomes of scores; PROBIT and SOFTMAX_ZERO are nobody's default.
_TRANSFORMS: dict[str, Operation | None] = {
    "NONE": None,
    "LOGISTIC": Logistic(),
    "SOFTMAX": Softmax(),
}
#: In the place of a row's size that is 0: zeros stay zeros.
_LEAST = 1e-30


@importer("LinearClassifier", domain=_DOMAIN)
def import_linear_classifier(state: Import, op: NodeRecord) -> None:
    """The label of the largest score, and the scores."""
    labels = op.integers("classlabels_ints")
    if labels is None:
        raise Unsupported(
            "GM105", "LinearClassifier: its labels are strings, which are no tensor",
            "train on numbers of classes, as scikit-learn's LabelEncoder makes them",
        )  # fmt: skip
    scores = _scores(state, op, len(labels))
    number = state.add(op, ArgMax(1), [scores], ElementType.I32)
    table = state.add_constant(np.array(labels, np.int64), "labels")
    label = state.add(op, Gather(0), [table, number], ElementType.I64, name=op.outputs[0])
    state.bind(op, [label, _transformed(state, op, scores)])


@importer("LinearRegressor", domain=_DOMAIN)
def import_linear_regressor(state: Import, op: NodeRecord) -> None:
    """One row of coefficients a target."""
    scores = _scores(state, op, op.integer("targets", 1))
    state.bind(op, [_transformed(state, op, scores)])


def _scores(state: Import, op: NodeRecord, rows: int) -> Value:
    """x * coefficients + intercepts, of float32 features."""
    x = state.value(op, 0)
    if x.type.element is not ElementType.F32 or x.type.rank != 2:
        raise Unsupported("GM105", f"{op.kind}: expected rows of float32, got {x.type}")
    coefficients, width = _numbers(op, "coefficients"), x.type.shape[1]
    if coefficients.size != rows * width:
        raise Unsupported(
            "GM105",
            f"{op.kind}: {coefficients.size} coefficients, expected {rows} rows of {width}; "
            "two classes with one row are not supported",
        )
    intercepts = _numbers(op, "intercepts") if op.has("intercepts") else np.zeros(rows)
    if intercepts.size != rows:
        raise Unsupported("GM105", f"{op.kind}: {intercepts.size} intercepts, expected {rows}")
    weights = state.add_constant(coefficients.reshape(rows, width), "coefficients")
    bias = state.add_constant(intercepts.astype(np.float32), "intercepts")
    return state.add(op, FullyConnected(), [x, weights, bias])


def _numbers(op: NodeRecord, name: str) -> Array:
    return np.array(op.attributes.get(name) or [], np.float32)


def _transformed(state: Import, op: NodeRecord, scores: Value) -> Value:
    name = op.text("post_transform", "NONE")
    if name not in _TRANSFORMS:
        raise Unsupported(
            "GM105", f"{op.kind}: post_transform {name} is none of {', '.join(_TRANSFORMS)}"
        )
    operation = _TRANSFORMS[name]
    return scores if operation is None else state.add(op, operation, [scores])


@importer("Normalizer", domain=_DOMAIN)
def import_normalizer(state: Import, op: NodeRecord) -> None:
    """Rows by the sum of their sizes (L1) or their length (L2); zeros stay zeros."""
    x, norm = state.value(op, 0), op.text("norm", "MAX")
    if norm not in ("L1", "L2"):
        raise Unsupported("GM105", f"Normalizer: norm is L1 or L2, got {norm}")
    if x.type.element is not ElementType.F32:
        raise Unsupported("GM105", f"Normalizer: expected float32, got {x.type}")
    made_by = next((node for node in state.builder.nodes if x in node.outputs), None)
    if norm == "L1" and made_by is not None and isinstance(made_by.op, Softmax):
        state.bind(op, [x])  # their sum is 1 already
        return
    if norm == "L2":
        state.emit(op, L2Normalization(_LEAST), [x])
        return
    total = state.add(op, Sum((x.type.rank - 1,), True), [state.add(op, Abs(), [x])])
    least = state.add_constant(np.array(_LEAST, np.float32), "least")
    state.emit(op, Div(), [x, state.add(op, Maximum(), [total, least])])
