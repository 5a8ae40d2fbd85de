"""Division, remainders and powers of two tensors: real numbers, or plain integers that wrap.

An integer divided by 0 gives 0, where C leaves it open. Quotients of int8 and int16 tensors are
quantized as TensorFlow Lite's are. Source: `kernels/internal/reference/div.h`. It leaves two things
open: dividing by 0, which is dividing by one half here, and shifts of 31 bits and more, whose
results are 0 here and arbitrary there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule
from glowmcu.ops.broadcasting import is_plain_integer
from glowmcu.ops.elementwise import Arithmetic, Scale
from glowmcu.ops.fixed_functions import count_leading_zeros, reciprocal
from glowmcu.ops.fixed_point import (
    INT32_MAX,
    Int64Array,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)
from glowmcu.ops.real import verify_float
from glowmcu.ops.registry import operation
from glowmcu.ops.wide import expect_symmetric, is_wide

#: A scale of quotients has an exponent that leaves room for all shifts in int32.
_MOST_SHIFTS = 30


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
class Div(PlainArithmetic):
    """a / b; the quotient of plain integers is cut towards zero."""

    def verify(self, signature: Signature) -> None:
        if signature.output.quantization is None:
            super().verify(signature)
        else:
            Arithmetic.verify(self, signature)

    def _verify_scales(self, signature: Signature) -> None:
        if is_wide(signature):
            expect_symmetric(*signature.inputs, signature.output)
        self.scale(signature)

    def scale(self, signature: Signature) -> Scale:
        """Of stored quotients. LiteRT alone has them on int16, and divides scales in float32."""
        a, b = signature.inputs
        if is_wide(signature):
            divisor = np.float32(b.scale) * np.float32(signature.output.scale)
            factor = float(np.float32(a.scale) / divisor) if divisor > 0 else math.inf
        else:
            factor = a.scale / (b.scale * signature.output.scale)
        if not factor < 2.0**_MOST_SHIFTS:
            raise OperationError("the output scale is so small that quotients leave int32")
        return Scale(*quantize_multiplier(factor))

    def _plain(self, a: Array, b: Array) -> Array:
        return a / b if a.dtype.kind == "f" else np.where(b == 0, 0, _truncated_quotient(a, b))

    def _quantized(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> Array:
        a, b = (
            x.astype(np.int64) - type_.zero_point
            for x, type_ in zip(inputs, signature.inputs, strict=True)
        )
        a, b = np.where(b < 0, -a, a), np.abs(b)
        inverse, bits = reciprocal(np.maximum(b, 1), 31)
        inverse, bits = np.where(b == 0, INT32_MAX, inverse), np.where(b == 0, -1, bits)
        headroom = _headroom(a)
        scale = self.scale(signature)
        shift = scale.shift - bits - headroom
        quotient = multiply_by_quantized_multiplier(a, inverse, headroom, rounding)
        # What would not be shifted to the right has 29 bits at least: half of it is beyond the
        # result's type, too, and leaves room for the zero point.
        scaled = multiply_by_quantized_multiplier(
            quotient, scale.multiplier, np.clip(shift, -31, -1), rounding
        )
        return np.where(shift < -31, 0, scaled)


def _headroom(x: Array) -> Int64Array:
    """By how many bits an int32 can be shifted to the left, 31 for 0 and -1."""
    return count_leading_zeros(2 * np.where(x < 0, -1 - x, x) + 1)


@operation("floor_mod")
class FloorMod(PlainArithmetic):
    """a - floor(a / b) * b: the sign of b."""

    def _plain(self, a: Array, b: Array) -> Array:
        return np.mod(a, b)


@operation("trunc_mod")
class TruncMod(PlainArithmetic):
    """a - trunc(a / b) * b: the sign of a."""

    def _plain(self, a: Array, b: Array) -> Array:
        return np.fmod(a, b)


@operation("floor_div")
class FloorDiv(PlainArithmetic):
    """floor(a / b)."""

    def _plain(self, a: Array, b: Array) -> Array:
        return np.floor(a / b) if a.dtype.kind == "f" else np.floor_divide(a, b)


@operation("pow")
class Pow(PlainArithmetic):
    """a^b, as C's pow; a negative power of an integer is 0, but for those of 1 and -1."""

    def _plain(self, a: Array, b: Array) -> Array:
        if a.dtype.kind == "f":
            return np.power(a, b)
        return np.where(b < 0, _negative_power(a, b), np.power(a, np.maximum(b, 0)))


def _negative_power(a: Array, b: Array) -> Array:
    return np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))
