"""SVMClassifier and SVMRegressor: kernels of features and support vectors, then weighted sums.

Source: ONNX-ML's definitions, and where they say nothing onnxruntime's `svmclassifier.cc`.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from glowmcu.frontend.onnx.class_labels import bind_label, class_count, label_of_largest
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.features import real_features
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.onnx.post_transforms import real, transform_name, transformed
from glowmcu.frontend.onnx.spatial import reshaped
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.activation import Neg
from glowmcu.ops.cast import Cast
from glowmcu.ops.comparison import Greater, LogicalNot, Select
from glowmcu.ops.distances import SquaredDistances
from glowmcu.ops.elementwise import Add, Maximum, Minimum, Mul
from glowmcu.ops.gather import Gather
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.pairwise_coupling import PairwiseCoupling
from glowmcu.ops.real_functions import Power, Square
from glowmcu.ops.slicing import Slice
from glowmcu.ops.transcendental import Exp, Logistic, Tanh

_DOMAIN = "ai.onnx.ml"
_KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")
#: Up to as many classes the sums of pairs are one matrix, with zeros for the others' vectors.
_FEW_CLASSES = 3
#: Each pair of classes is a score, and a vote for one of both.
_MOST_CLASSES = 128
#: What probabilities of pairs are kept away from 0 and 1 by.
_LEAST = 1e-7


@dataclass(frozen=True)
class _Machine:
    """Attributes that both operators have."""

    kernel: str
    gamma: float
    coef0: float
    degree: float
    vectors: Array


@importer("SVMRegressor", domain=_DOMAIN)
def import_svm_regressor(state: Import, op: NodeRecord) -> None:
    """A value, or with `one_class` whether it is above 0: 1 or -1."""
    x, count = _features(state, op), op.integer("n_supports", 0)
    coefficients, rho = _numbers(op, "coefficients"), _numbers(op, "rho")
    if rho.size < 1:
        raise Unsupported("GM101", f"{op.kind} lacks rho")
    machine = _machine(op, x, count) if count > 0 else None
    count = count if machine is not None else x.type.shape[1]
    _expect(op, "coefficients", coefficients, count)
    rows = coefficients.reshape(1, count)
    if machine is None:
        score = _weighted(state, op, x, rows, rho[:1])
    elif machine.kernel == "LINEAR":
        score = _weighted(state, op, x, _collapsed(rows, machine), rho[:1])
    else:
        score = _weighted(state, op, _kernels(state, op, x, machine), rows, rho[:1])
    if op.flag("one_class"):
        above = state.add(op, Greater(), [score, real(state, 0.0, "zero")], ElementType.BOOL)
        ones = [real(state, 1.0, "one"), real(state, -1.0, "minus_one")]
        score = state.add(op, Select(), [above, *ones], ElementType.F32)
    state.bind(op, [score])


@importer("SVMClassifier", domain=_DOMAIN)
def import_svm_classifier(state: Import, op: NodeRecord) -> None:
    """The label that most pairs of classes vote for, and their scores, or probabilities."""
    classes, transform = class_count(op, "classlabels_ints"), transform_name(op)
    sizes = op.integers("vectors_per_class") or ()
    if len(sizes) != classes or classes < 2 or any(size < 0 for size in sizes) or not sum(sizes):
        raise Unsupported(
            "GM105", f"{op.kind}: {len(sizes)} counts of support vectors for {classes} classes; "
            "without vectors it is a LinearClassifier",
        )  # fmt: skip
    if classes > _MOST_CLASSES:
        raise Unsupported("GM105", f"{op.kind}: {classes} classes; {_MOST_CLASSES} are taken")
    x = _features(state, op)
    scores = _pair_scores(state, op, x, _machine(op, x, sum(sizes)), sizes)
    label = _winner(state, op, scores, classes)
    if op.has("prob_a") and len(_numbers(op, "prob_a")):
        scores = _probabilities(state, op, scores, classes)
    elif classes == 2:
        if transform != "NONE":
            raise Unsupported("GM105", f"{op.kind}: post_transform {transform} of two classes")
        negative = state.add(op, Neg(), [scores])
        scores = state.add(op, Concatenation(1), [negative, scores])
    state.bind(op, [label, transformed(state, op, scores, transform)])


def _features(state: Import, op: NodeRecord) -> Value:
    x = real_features(state, op)
    if x.type.rank == 1:
        x = reshaped(state, op, x, (1, *x.type.shape))
    if x.type.rank != 2:
        raise Unsupported("GM105", f"{op.kind}: expected rows of features, got {x.type}")
    return x


def _numbers(op: NodeRecord, name: str) -> Array:
    return np.array(op.attributes.get(name) or [], np.float32)


def _expect(op: NodeRecord, name: str, numbers: Array, count: int) -> None:
    if numbers.size != count:
        raise Unsupported("GM101", f"{op.kind}: {numbers.size} {name}, expected {count}")


def _machine(op: NodeRecord, x: Value, count: int) -> _Machine:
    kernel, vectors = op.text("kernel_type", "LINEAR"), _numbers(op, "support_vectors")
    if kernel not in _KERNELS:
        known = ", ".join(_KERNELS)
        raise Unsupported("GM105", f"{op.kind}: kernel_type {kernel[:40]} is none of {known}")
    _expect(op, "numbers of support vectors", vectors, count * x.type.shape[1])
    parameters = _numbers(op, "kernel_params")
    if parameters.size not in (0, 3):
        raise Unsupported("GM101", f"{op.kind}: {parameters.size} kernel_params, expected 3")
    gamma, coef0, degree = map(float, parameters if parameters.size else np.zeros(3, np.float32))
    return _Machine(kernel, gamma, coef0, degree, vectors.reshape(count, -1))


def _kernels(state: Import, op: NodeRecord, x: Value, machine: _Machine) -> Value:
    """(N, vectors)."""
    vectors = machine.vectors
    if machine.kernel == "RBF":
        others = state.add_constant(vectors, "support_vectors")
        distances = state.add(op, SquaredDistances(), [x, others])
        scaled = state.add(op, Mul(), [distances, real(state, -machine.gamma, "gamma")])
        return state.add(op, Exp(), [scaled])
    scale = np.float32(1 if machine.kernel == "LINEAR" else machine.gamma)
    offset = 0.0 if machine.kernel == "LINEAR" else machine.coef0
    offsets = np.full(len(vectors), offset, np.float32)
    products = _weighted(state, op, x, vectors * scale, offsets)
    if machine.kernel == "SIGMOID":
        return state.add(op, Tanh(), [products])
    if machine.kernel == "LINEAR" or machine.degree == 1:
        return products
    if machine.degree not in (2, 3):
        return state.add(op, Power(machine.degree), [products])
    square = state.add(op, Square(), [products])
    return square if machine.degree == 2 else state.add(op, Mul(), [square, products])


def _weighted(state: Import, op: NodeRecord, x: Value, weights: Array, offsets: Array) -> Value:
    with np.errstate(over="ignore"):
        rows = state.add_constant(weights.astype(np.float32), "coefficients")
    bias = state.add_constant(offsets.astype(np.float32), "rho")
    return state.add(op, FullyConnected(), [x, rows, bias])


def _collapsed(rows: Array, machine: _Machine) -> Array:
    """Sums of products with the features themselves: of a linear kernel no vectors are left."""
    with np.errstate(all="ignore"):
        return np.asarray(rows.astype(np.float64) @ machine.vectors.astype(np.float64))


def _pair_scores(
    state: Import, op: NodeRecord, x: Value, machine: _Machine, sizes: tuple[int, ...]
) -> Value:
    """(N, pairs): above 0 for the first class of the pair."""
    classes, vectors = len(sizes), sum(sizes)
    coefficients, rho = _numbers(op, "coefficients"), _numbers(op, "rho")
    _expect(op, "coefficients", coefficients, (classes - 1) * vectors)
    _expect(op, "rho", rho, classes * (classes - 1) // 2)
    pairs = list(combinations(range(classes), 2))
    rows, ends = coefficients.reshape(classes - 1, vectors), np.cumsum([0, *sizes])
    is_collapsed = machine.kernel == "LINEAR" and len(pairs) <= vectors
    kernels = x if is_collapsed else _kernels(state, op, x, machine)
    if is_collapsed or classes <= _FEW_CLASSES:
        weights = np.zeros((len(pairs), vectors), np.float32)
        for number, (i, j) in enumerate(pairs):
            weights[number, ends[i] : ends[i + 1]] = rows[j - 1, ends[i] : ends[i + 1]]
            weights[number, ends[j] : ends[j + 1]] = rows[i, ends[j] : ends[j + 1]]
        weights = _collapsed(weights, machine) if is_collapsed else weights
        return _weighted(state, op, kernels, weights, rho)
    parts = []
    for k, size in enumerate(sizes):
        begin = (0, int(ends[k]))
        part = state.add(op, Slice(begin, (kernels.type.shape[0], size), (1, 1)), [kernels])
        block = rows[:, ends[k] : ends[k + 1]]
        parts.append(_weighted(state, op, part, block, np.zeros(classes - 1)))
    joined = state.add(op, Concatenation(1), parts)
    first = [i * (classes - 1) + j - 1 for i, j in pairs]
    second = [j * (classes - 1) + i for i, j in pairs]
    sides = [
        state.add(op, Gather(1), [joined, state.add_constant(np.array(places, np.int32), "pairs")])
        for places in (first, second)
    ]
    offsets = state.add_constant(rho.reshape(1, -1), "rho")
    return state.add(op, Add(), [state.add(op, Add(), sides), offsets])


def _winner(state: Import, op: NodeRecord, scores: Value, classes: int) -> Value:
    """Label (N,) of the class with most votes, the first of several."""
    zero = real(state, 0.0, "zero")
    is_first = state.add(op, Greater(), [scores, zero], ElementType.BOOL)
    if classes == 2:
        is_second = state.add(op, LogicalNot(), [is_first])
        index = state.add(op, Cast(), [is_second], ElementType.I32)
        index = reshaped(state, op, index, scores.type.shape[:1])
        return bind_label(state, op, index, "classlabels_ints")
    ballots = state.add(op, Cast(), [is_first], ElementType.F32)
    pairs = list(combinations(range(classes), 2))
    weights, offsets = np.zeros((classes, len(pairs)), np.float32), np.zeros(classes, np.float32)
    for number, (i, j) in enumerate(pairs):
        weights[i, number], weights[j, number] = 1, -1
        offsets[j] += 1
    votes = _weighted(state, op, ballots, weights, offsets)
    return label_of_largest(state, op, votes, "classlabels_ints")


def _probabilities(state: Import, op: NodeRecord, scores: Value, classes: int) -> Value:
    """Platt's sigmoid of each pair, and what all pairs together come to."""
    count = scores.type.shape[1]
    a, b = _numbers(op, "prob_a"), _numbers(op, "prob_b")
    _expect(op, "prob_a", a, count)
    _expect(op, "prob_b", b, count)
    slope = state.add_constant(-a.reshape(1, -1), "prob_a")
    offset = state.add_constant(-b.reshape(1, -1), "prob_b")
    x = state.add(op, Add(), [state.add(op, Mul(), [scores, slope]), offset])
    share = state.add(op, Logistic(), [x])
    low = state.add(op, Maximum(), [share, real(state, _LEAST, "least")])
    inside = state.add(op, Minimum(), [low, real(state, 1 - _LEAST, "most")])
    return state.add(op, PairwiseCoupling(classes), [inside])
