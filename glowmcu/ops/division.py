"""Division, remainders and powers of two tensors: real numbers, or plain integers that wrap.

An integer divided by 0 gives 0, where C leaves it open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Signature
from glowmcu.ir.quantization_rule import QuantizationRule
from glowmcu.ops.broadcasting import is_plain_integer
from glowmcu.ops.elementwise import Arithmetic
from glowmcu.ops.real import verify_float
from glowmcu.ops.registry import operation


@dataclass(frozen=True)
class PlainArithmetic(Arithmetic):
    """Base: no int8 meaning."""

    def verify(self, signature: Signature) -> None:
        if not is_plain_integer(signature):
            verify_float(signature)
        elif self.clamp is not None:
            raise OperationError("a fused activation on plain integers is not supported")

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return None


def _truncated_quotient(a: Array, b: Array) -> Array:
    quotient = np.floor_divide(a, b)
    # What is not exact and negative was rounded away from zero.
    return np.asarray(quotient + ((quotient < 0) & (quotient * b != a)).astype(quotient.dtype))


@operation("div")
@dataclass(frozen=True)
class Div(PlainArithmetic):
    """a / b; the quotient of integers is cut towards zero."""

    def _plain(self, a: Array, b: Array) -> Array:
        return a / b if a.dtype.kind == "f" else np.where(b == 0, 0, _truncated_quotient(a, b))


@operation("floor_mod")
@dataclass(frozen=True)
class FloorMod(PlainArithmetic):
    """a - floor(a / b) * b: the sign of b."""

    def _plain(self, a: Array, b: Array) -> Array:
        return np.mod(a, b)


@operation("trunc_mod")
@dataclass(frozen=True)
class TruncMod(PlainArithmetic):
    """a - trunc(a / b) * b: the sign of a."""

    def _plain(self, a: Array, b: Array) -> Array:
        return np.fmod(a, b)


@operation("floor_div")
@dataclass(frozen=True)
class FloorDiv(PlainArithmetic):
    """floor(a / b)."""

    def _plain(self, a: Array, b: Array) -> Array:
        return np.floor(a / b) if a.dtype.kind == "f" else np.floor_divide(a, b)


@operation("pow")
@dataclass(frozen=True)
class Pow(PlainArithmetic):
    """a^b, as C's pow; a negative power of an integer is 0, but for those of 1 and -1."""

    def _plain(self, a: Array, b: Array) -> Array:
        if a.dtype.kind == "f":
            return np.power(a, b)
        return np.where(b < 0, _negative_power(a, b), np.power(a, np.maximum(b, 0)))


def _negative_power(a: Array, b: Array) -> Array:
    return np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))
