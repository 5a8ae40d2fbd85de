"""Normalizations by what surrounds a number: mean and variance of a row, neighbours.

Layer, instance, group and RMS normalization are a reshape, `mean_variance_normalization` and a
multiplication and addition of constants. On integers the variance is never a tensor, which 8 bits
could not hold: it is an exact sum of 64 bits inside of the operator (`integer_moments.py`).
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.integer_moments import RowScale, normalized, row_scale
from glowmcu.ops.normalization import AlongLastAxis
from glowmcu.ops.real import verify_float
from glowmcu.ops.registry import operation


@operation("mean_variance_normalization")
@dataclass(frozen=True)
class MeanVarianceNormalization(AlongLastAxis):
    """(x - mean) / sqrt(mean((x - mean)^2) + epsilon) along the last axis; `center` off: mean 0.

    int8 or int16 (zero point 0) to int8 or int16, within 0.6 steps of the result.
    """

    epsilon: float = 1e-5
    center: bool = True

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule()

    def _verify_stored(self, signature: Signature) -> None:
        self.row_scale(signature)

    def row_scale(self, signature: Signature) -> RowScale:
        """Constants of the integer form."""
        return row_scale(self.epsilon, signature.inputs[0], signature.output)

    def _stored(self, x: Array, signature: Signature, rounding: Rounding) -> Array:
        zero_point = signature.inputs[0].zero_point
        scale = self.row_scale(signature)
        return normalized(x, zero_point, self.center, scale, signature.output)

    def _real(self, x: Array) -> Array:
        offsets = x - x.mean(-1, keepdims=True) if self.center else x
        variance = (offsets * offsets).mean(-1, keepdims=True)
        return np.asarray(offsets / np.sqrt(variance + np.float32(self.epsilon)))


@operation("local_response_normalization")
@dataclass(frozen=True)
class LocalResponseNormalization(AlongLastAxis):
    """x / (bias + alpha * sum(x^2))^beta, over `before` to `after` neighbours on the last axis.

    float32 only.
    """

    before: int = 0
    after: int = 0
    alpha: float = 1.0
    beta: float = 0.5
    bias: float = 1.0

    def verify(self, signature: Signature) -> None:
        verify_float(signature)
        if min(self.before, self.after) < 0:
            raise OperationError(f"a window from {-self.before} to {self.after} is none")

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        """Neighbours are read after results are written."""
        return ()

    def _real(self, x: Array) -> Array:
        depth = x.shape[-1]
        sums = np.zeros_like(x)
        squares = x * x
        for shift in range(-min(self.before, depth), min(self.after, depth) + 1):
            low, high = max(0, -shift), min(depth, depth - shift)
            sums[..., low:high] += squares[..., low + shift : high + shift]
        return np.asarray(x / np.power(self.bias + self.alpha * sums, self.beta))
