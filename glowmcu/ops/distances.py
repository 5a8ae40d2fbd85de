"""`squared_distances`: of each vector of one list to each of another, in float32.

Not by lengths and products, which would cancel: differences are squared and summed one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import Shape, TensorType
from glowmcu.ops.real import verify_float
from glowmcu.ops.registry import operation


@operation("squared_distances")
class SquaredDistances(Operation):
    """(N, F) and (M, F) to (N, M): the sum of (x - y)^2 along F, in its order."""

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, y = inputs
        if x.rank != 2 or y.rank != 2 or x.shape[1] != y.shape[1]:
            raise OperationError(f"expected two lists of vectors of one length, got {x} and {y}")
        return ((x.shape[0], y.shape[0]),)

    def verify(self, signature: Signature) -> None:
        verify_float(signature)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, y = inputs
        sums = np.zeros(signature.output.shape, np.float32)
        with np.errstate(all="ignore"):
            for feature in range(x.shape[1]):
                difference = x[:, np.newaxis, feature] - y[np.newaxis, :, feature]
                sums += difference * difference
        return (sums,)

    def macs(self, signature: Signature) -> int:
        return signature.output.element_count * signature.inputs[0].shape[1]
