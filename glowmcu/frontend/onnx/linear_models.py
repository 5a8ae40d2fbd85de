"""Linear models as skl2onnx writes them: LinearClassifier, LinearRegressor, Normalizer.

Source: ONNX-ML's definitions, and onnxruntime where they say nothing.
"""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.class_labels import class_count, label_of_largest
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.features import real_features
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.onnx.post_transforms import transform_name, transformed
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.ops.activation import Abs
from glowmcu.ops.comparison import Equal, Select
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Maximum
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.normalization import L2Normalization, Softmax
from glowmcu.ops.reduction import ReduceMax, Sum

_DOMAIN = "ai.onnx.ml"
#: In the place of a row's size that is 0: zeros stay zeros.
_LEAST = 1e-30


@importer("LinearClassifier", domain=_DOMAIN)
def import_linear_classifier(state: Import, op: NodeRecord) -> None:
    """The label of the largest score, and the scores."""
    scores = _scores(state, op, class_count(op, "classlabels_ints"))
    label = label_of_largest(state, op, scores, "classlabels_ints")
    state.bind(op, [label, transformed(state, op, scores, transform_name(op))])


@importer("LinearRegressor", domain=_DOMAIN)
def import_linear_regressor(state: Import, op: NodeRecord) -> None:
    """One row of coefficients a target."""
    scores = _scores(state, op, op.integer("targets", 1))
    state.bind(op, [transformed(state, op, scores, transform_name(op))])


def _scores(state: Import, op: NodeRecord, rows: int) -> Value:
    """x * coefficients + intercepts."""
    x = real_features(state, op)
    if x.type.rank != 2:
        raise Unsupported("GM105", f"{op.kind}: expected rows of features, got {x.type}")
    coefficients, width = _numbers(op, "coefficients"), x.type.shape[1]
    if coefficients.size != rows * width:
        raise Unsupported(
            "GM105",
            f"{op.kind}: {coefficients.size} coefficients, expected {rows} rows of {width}; "
            "two classes with one row are not supported",
        )
    weights = state.add_constant(coefficients.reshape(rows, width), "coefficients")
    if not op.has("intercepts"):
        return state.add(op, FullyConnected(), [x, weights, state.builder.add_no_bias(rows)])
    intercepts = _numbers(op, "intercepts")
    if intercepts.size != rows:
        raise Unsupported("GM105", f"{op.kind}: {intercepts.size} intercepts, expected {rows}")
    bias = state.add_constant(intercepts.astype(np.float32), "intercepts")
    return state.add(op, FullyConnected(), [x, weights, bias])


def _numbers(op: NodeRecord, name: str) -> Array:
    return np.array(op.attributes.get(name) or [], np.float32)


@importer("Normalizer", domain=_DOMAIN)
def import_normalizer(state: Import, op: NodeRecord) -> None:
    """Rows by the sum of their sizes (L1), their length (L2) or their largest element, whatever
    its sign (MAX); zeros stay zeros.
    """
    x, norm = real_features(state, op), op.text("norm", "MAX")
    if norm not in ("L1", "L2", "MAX"):
        raise Unsupported("GM105", f"Normalizer: norm is L1, L2 or MAX, got {norm[:40]}")
    made_by = next((node for node in state.builder.nodes if x in node.outputs), None)
    if norm == "L1" and made_by is not None and isinstance(made_by.op, Softmax):
        state.bind(op, [x])  # their sum is 1 already
        return
    if norm == "MAX":
        largest = state.add(op, ReduceMax((x.type.rank - 1,), True), [x])
        zero, one = (state.add_constant(np.array(n, np.float32), "n") for n in (0, 1))
        is_zero = state.add(op, Equal(), [largest, zero], ElementType.BOOL)
        divisor = state.add(op, Select(), [is_zero, one, largest], ElementType.F32)
        state.emit(op, Div(), [x, divisor])
        return
    if norm == "L2":
        state.emit(op, L2Normalization(_LEAST), [x])
        return
    total = state.add(op, Sum((x.type.rank - 1,), True), [state.add(op, Abs(), [x])])
    least = state.add_constant(np.array(_LEAST, np.float32), "least")
    state.emit(op, Div(), [x, state.add(op, Maximum(), [total, least])])
