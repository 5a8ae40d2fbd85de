"""Smooth functions of one tensor: logistic, tanh, rsqrt, elu, exp, log, gelu.

On int8 logistic, tanh and rsqrt are fixed point, and rsqrt is on int16. The others are tables that
the reference kernels fill in float32: round(f(scale * (x - zp)) * (1 / out_scale)) + out_zp on
int8, `interpolated_table` on int16. Here exp, log and erf are
rounded to float32 from double, which is what C libraries give but for the last bit of about one
argument in a thousand; a table differs only where such a bit decides how to round to int8.
Source: TensorFlow Lite `reference/integer_ops/{logistic,tanh}.h`, `internal/common.h`.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops import gemmlowp, wide_sigmoid
from glowmcu.ops.activation import UnaryFunction
from glowmcu.ops.broadcasting import expect_representable
from glowmcu.ops.fixed_functions import inverse_sqrt
from glowmcu.ops.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    round_half_away,
    rounding_divide_by_pot,
    saturate,
)
from glowmcu.ops.real import erf
from glowmcu.ops.registry import operation
from glowmcu.ops.wide import expect_symmetric, is_wide

_INPUT_INTEGER_BITS = 4


class _FixedPointFunction(UnaryFunction):
    """A function that gemmlowp computes on Q4.27; it saturates beyond +-15. int16 takes a table."""

    takes_wide: ClassVar[bool] = True

    def verify(self, signature: Signature) -> None:
        if is_wide(signature):
            wide_sigmoid.verify_sigmoid(signature)
        else:
            super().verify(signature)

    def _verify_scales(self, signature: Signature) -> None:
        """Any scale will do: the result's is its own."""

    def _stored(self, x: Array, signature: Signature, rounding: Rounding) -> Array:
        type_ = signature.inputs[0]
        if is_wide(signature):
            return self._wide(x, type_.scale)
        fraction, shift = math.frexp(type_.scale * 2.0 ** (31 - _INPUT_INTEGER_BITS))
        multiplier = round_half_away(fraction * 2**31)
        radius = math.floor(15 * 2.0 ** (31 - _INPUT_INTEGER_BITS) / 2.0**shift)
        offsets = x.astype(np.int64) - type_.zero_point
        inside = np.clip(offsets, 1 - radius, radius - 1) if radius > 1 else 0 * offsets
        raw = multiply_by_quantized_multiplier(inside, multiplier, min(shift, 30), rounding)
        out = np.where(offsets >= radius, 127, self._q0(raw))
        return saturate(np.where(offsets <= -radius, -128, out), -128, 127, dtype=np.int8)

    def _q0(self, raw: Array) -> Array:
        """Stored int8 results of Q4.27 arguments."""
        raise AssertionError(f"{self.name} has no meaning")

    def _wide(self, x: Array, scale: float) -> Array:
        """Stored int16 results of stored int16."""
        raise AssertionError(f"{self.name} has no int16 meaning")


@operation("logistic")
class Logistic(_FixedPointFunction):
    """1 / (1 + exp(-x)); int8 has zero point -128 and is taken to have scale 1/256."""

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule(result=ResultRange.FIXED, fixed=(1 / 256, -128))

    def _real(self, x: Array) -> Array:
        return 1 / (1 + np.exp(-x))

    def _verify_scales(self, signature: Signature) -> None:
        if signature.output.zero_point != -128:
            raise OperationError(f"logistic needs output zero point -128, got {signature.output}")

    def _q0(self, raw: Array) -> Array:
        return rounding_divide_by_pot(gemmlowp.logistic(raw, _INPUT_INTEGER_BITS), 23) - 128

    def _wide(self, x: Array, scale: float) -> Array:
        return wide_sigmoid.logistic(x, scale)


@operation("tanh")
class Tanh(_FixedPointFunction):
    """tanh(x); int8 is taken to have zero point 0 and scale 1/128."""

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule(result=ResultRange.FIXED, fixed=(1 / 128, 0))

    def _real(self, x: Array) -> Array:
        return np.tanh(x)

    def _q0(self, raw: Array) -> Array:
        return rounding_divide_by_pot(gemmlowp.tanh(raw, _INPUT_INTEGER_BITS), 24)

    def _wide(self, x: Array, scale: float) -> Array:
        return wide_sigmoid.tanh(x, scale)


#: Of a fraction that 1/sqrt of a stored value has on its way.
_RSQRT_BITS = 20


@operation("rsqrt")
class Rsqrt(UnaryFunction):
    """1 / sqrt(x); a stored 0 gives the greatest result, and so does what is negative, where the
    oracle stops.
    """

    takes_wide: ClassVar[bool] = True

    def _real(self, x: Array) -> Array:
        return 1 / np.sqrt(x)

    def _verify_scales(self, signature: Signature) -> None:
        if not is_wide(signature):
            return
        expect_symmetric(*signature.inputs, signature.output)
        multiplier, shift = self.out_factor(signature)
        expect_representable(self.name, 1, multiplier * 2.0 ** (shift - 31))
        if shift < _RSQRT_BITS - 31:
            raise OperationError("the output scale is so large that all results are 0")

    def _stored(self, x: Array, signature: Signature, rounding: Rounding) -> Array:
        zero_point = signature.inputs[0].zero_point
        greatest = signature.output.element.limits[1]
        offsets = np.maximum(x.astype(np.int64) - zero_point, 0)
        different, places = np.unique(offsets, return_inverse=True)
        results = np.full(different.shape, greatest, np.int64)
        for i, offset in enumerate(different):
            if offset > 0:
                results[i] = self._of_offset(int(offset), signature, rounding)
        stored = results[places].reshape(x.shape)
        return saturate(stored, *signature.output.element.limits, dtype=x.dtype)

    def out_factor(self, signature: Signature) -> tuple[int, int]:
        """Multiplier and shift from 1/sqrt of a stored value to the output's scale."""
        scale, out = signature.inputs[0].scale, signature.output.scale
        return quantize_multiplier(1.0 / (math.sqrt(scale) * out))

    def _of_offset(self, offset: int, signature: Signature, rounding: Rounding) -> int:
        multiplier, shift = self.out_factor(signature)
        inverse, inverse_shift = inverse_sqrt(offset)
        fixed = multiply_by_quantized_multiplier(
            np.array(1, np.int64), inverse, inverse_shift + _RSQRT_BITS, rounding
        )
        scaled = multiply_by_quantized_multiplier(fixed, multiplier, shift - _RSQRT_BITS, rounding)
        return signature.output.zero_point + int(scaled)


def _f32(value: float | np.float32) -> np.float32:
    """`value` rounded to float32."""
    rounded: np.float32 = np.float32(value)
    return rounded


class _FloatFunction(UnaryFunction):
    """A function that the reference kernels tabulate in float32."""

    interpolates: ClassVar[bool] = True

    def _verify_scales(self, signature: Signature) -> None:
        """Any scales."""

    def _stored(self, x: Array, signature: Signature, rounding: Rounding) -> Array:
        source, out = signature.inputs[0], signature.output
        inverse = _f32(1) / _f32(out.scale)
        table = np.empty(256, np.int8)
        with np.errstate(over="ignore"):
            for stored in range(-128, 128):
                real = _f32(source.scale) * _f32(stored - source.zero_point)
                scaled = _f32(self._single(real, signature)) * inverse
                whole = _round_float32(scaled) + _f32(out.zero_point)
                table[stored + 128] = min(max(_to_int32(whole), -128), 127)
        result: Array = table[x.astype(np.int64) + 128]
        return result


def _round_float32(value: np.float32) -> np.float32:
    """C's roundf."""
    if not np.isfinite(value):
        return value
    return _f32(round_half_away(float(value)))


def _to_int32(value: np.float32) -> int:
    """float32 to int32, saturated; NaN is 0. Armv7-M's vcvt does this, and C leaves it open."""
    if np.isnan(value):
        return 0
    return int(min(max(float(value), INT32_MIN), INT32_MAX))


def _exp32(x: np.float32) -> np.float32:
    try:
        return _f32(math.exp(float(x)))
    except OverflowError:
        return _f32(np.inf)


@operation("elu")
class Elu(_FloatFunction):
    """x where x >= 0, else exp(x) - 1."""

    def _real(self, x: Array) -> Array:
        return np.where(x < 0, np.expm1(x), x)

    def _single(self, x: np.float32, signature: Signature) -> np.float32:
        return _f32(_exp32(x) - _f32(1)) if x < 0 else x


@operation("exp")
class Exp(_FloatFunction):
    """e^x."""

    def _real(self, x: Array) -> Array:
        return np.exp(x)

    def _single(self, x: np.float32, signature: Signature) -> np.float32:
        return _exp32(x)


@operation("log")
class Log(_FloatFunction):
    """Natural logarithm; of stored values what is not positive gives the least result."""

    def _real(self, x: Array) -> Array:
        return np.log(x)

    def _single(self, x: np.float32, signature: Signature) -> np.float32:
        if x > 0:
            return _f32(math.log(float(x)))
        out = signature.output
        return _f32(_f32(out.element.limits[0] - out.zero_point) * _f32(out.scale))


@operation("gelu")
@dataclass(frozen=True)
class Gelu(_FloatFunction):
    """x times the normal distribution function of x; `approximate` takes the tanh formula."""

    approximate: bool = False

    def _real(self, x: Array) -> Array:
        half = np.float32(0.5) * x
        if not self.approximate:
            return np.asarray(half * (1 + erf(x * np.float32(math.sqrt(0.5)))))
        cube = np.float32(0.044715) * x * x * x
        inner = np.float32(math.sqrt(2 / math.pi)) * (x + cube)
        return np.asarray(half * (1 + np.tanh(inner)))

    def _single(self, x: np.float32, signature: Signature) -> np.float32:
        half = _f32(0.5) * x
        if not self.approximate:
            argument = x * _f32(-math.sqrt(0.5))
            return _f32(half * _f32(math.erfc(float(argument))))
        cube = _f32(0.044715) * x * x * x
        argument = _f32(math.sqrt(2 / math.pi)) * (x + cube)
        return _f32(half * (_f32(1) + _f32(math.tanh(float(argument)))))
