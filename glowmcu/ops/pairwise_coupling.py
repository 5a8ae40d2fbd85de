"""`pairwise_coupling`: probabilities of classes from those of each pair of them.

The quadratic problem of Wu, Lin and Weng ("Probability Estimates for Multi-class Classification by
Pairwise Coupling", 2004, second method), a coordinate at a time until no error is above a bound.
Source: onnxruntime's `multiclass_probability`, which stops where this does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.real import verify_float
from glowmcu.ops.registry import operation

#: Rounds at most, and the bound of errors times the number of classes.
MOST_ROUNDS, BOUND = 100, 0.005


@operation("pairwise_coupling")
@dataclass(frozen=True)
class PairwiseCoupling(Operation):
    """(N, pairs) to (N, `classes`), float32. Pairs are (0, 1), (0, 2), …, (1, 2), …; each has the
    probability of its first class, which is neither 0 nor 1. Where all are NaN nothing is known:
    every class is as probable as the others.
    """

    classes: int = 2

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        pairs = self.classes * (self.classes - 1) // 2
        if self.classes < 2 or x.rank != 2 or x.shape[1] != pairs:
            raise OperationError(f"expected {pairs} pairs of {self.classes} classes, got {x}")
        return ((x.shape[0], self.classes),)

    def verify(self, signature: Signature) -> None:
        verify_float(signature)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            found = [_coupled(pairs, self.classes) for pairs in inputs[0]]
        return (np.array(found, np.float32).reshape(signature.output.shape),)

    def macs(self, signature: Signature) -> int:
        return int(signature.output.shape[0]) * MOST_ROUNDS * self.classes * self.classes


def _quadratic(pairs: Array, classes: int) -> Array:
    """Q: the sums of squares on the diagonal, negative products of both probabilities elsewhere."""
    r = np.zeros((classes, classes), np.float32)
    upper = np.triu_indices(classes, 1)
    r[upper] = pairs
    r.T[upper] = np.float32(1) - pairs
    q = -(r.T * r)
    for i in range(classes):
        q[i, i] = np.float32(0)
        for j in range(classes):
            if j != i:
                q[i, i] += r[j, i] * r[j, i]
    return np.asarray(q, np.float32)


def _coupled(pairs: Array, classes: int) -> Array:
    q, one = _quadratic(pairs, classes), np.float32(1)
    p = np.full(classes, one / np.float32(classes), np.float32)
    bound = np.float32(BOUND) / np.float32(classes)
    for _ in range(MOST_ROUNDS):
        qp, total = np.zeros(classes, np.float32), np.float32(0)
        for j in range(classes):
            qp += q[:, j] * p[j]
        for i in range(classes):
            total += p[i] * qp[i]
        if not (np.abs(qp - total) >= bound).any():
            break
        for i in range(classes):
            step = (total - qp[i]) / q[i, i]
            p[i] += step
            scale = one + step
            total = (total + step * (step * q[i, i] + np.float32(2) * qp[i])) / scale / scale
            qp = (qp + step * q[i]) / scale
            p /= scale
    return p
