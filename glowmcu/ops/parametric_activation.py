"""Activations with parameters and their relatives: selu, celu, softplus, softsign, mish, swish, …

One loop on real numbers and one table on int8 (on int16, too, without a jump), where a chain of
simpler operators would have to be quantized in between.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.real_functions import RealFunction
from glowmcu.ops.registry import operation


def _softplus(x: Array) -> Array:
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


@operation("selu")
@dataclass(frozen=True)
class Selu(RealFunction):
    """gamma * x where x > 0, else gamma * alpha * (exp(x) - 1); `elu` with an alpha too."""

    interpolates: ClassVar[bool] = True
    alpha: float = 1.0
    gamma: float = 1.0

    def _real(self, x: Array) -> Array:
        negative = np.float32(self.alpha) * np.expm1(x)
        return np.asarray(np.float32(self.gamma) * np.where(x > 0, x, negative))


@operation("celu")
@dataclass(frozen=True)
class Celu(RealFunction):
    """x where x > 0, else alpha * (exp(x / alpha) - 1)."""

    interpolates: ClassVar[bool] = True
    alpha: float = 1.0

    def _real(self, x: Array) -> Array:
        alpha = np.float32(self.alpha)
        return np.where(x > 0, x, alpha * np.expm1(x / alpha))


@operation("softplus")
class Softplus(RealFunction):
    """log(1 + exp(x))."""

    interpolates: ClassVar[bool] = True

    def _real(self, x: Array) -> Array:
        return _softplus(x)


@operation("softsign")
class Softsign(RealFunction):
    """x / (1 + |x|)."""

    interpolates: ClassVar[bool] = True

    def _real(self, x: Array) -> Array:
        return np.asarray(x / (1 + np.abs(x)))


@operation("mish")
class Mish(RealFunction):
    """x * tanh(log(1 + exp(x)))."""

    interpolates: ClassVar[bool] = True

    def _real(self, x: Array) -> Array:
        return np.asarray(x * np.tanh(_softplus(x)))


@operation("swish")
@dataclass(frozen=True)
class Swish(RealFunction):
    """x / (1 + exp(-alpha * x))."""

    interpolates: ClassVar[bool] = True
    alpha: float = 1.0

    def _real(self, x: Array) -> Array:
        return np.asarray(x / (1 + np.exp(-np.float32(self.alpha) * x)))


@operation("hard_sigmoid")
@dataclass(frozen=True)
class HardSigmoid(RealFunction):
    """alpha * x + beta within [0, 1]."""

    interpolates: ClassVar[bool] = True
    alpha: float = 0.2
    beta: float = 0.5

    def _real(self, x: Array) -> Array:
        return np.asarray(np.clip(np.float32(self.alpha) * x + np.float32(self.beta), 0, 1))


@operation("thresholded_relu")
@dataclass(frozen=True)
class ThresholdedRelu(RealFunction):
    """x where x > alpha, else 0."""

    alpha: float = 1.0

    def _real(self, x: Array) -> Array:
        return np.where(x > np.float32(self.alpha), x, 0)


@operation("shrink")
@dataclass(frozen=True)
class Shrink(RealFunction):
    """x moved towards 0 by `bias` where |x| > `threshold`, else 0."""

    threshold: float = 0.5
    bias: float = 0.0

    def _real(self, x: Array) -> Array:
        bias, threshold = np.float32(self.bias), np.float32(self.threshold)
        inner = np.where(x > threshold, x - bias, 0)
        return np.asarray(np.where(x < -threshold, x + bias, inner))
