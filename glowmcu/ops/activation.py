"""Functions of one tensor made of scaling: relu, clip, leaky_relu, hard_swish, abs, neg.

On int8 each is lowered to a table of its 256 results, so its meaning here is all there is.
Source: TensorFlow Lite Micro `activations_common.cc`, `leaky_relu_common.cc`, `hard_swish.h`,
`elementwise.cc`. Its releases divide scales in double, LiteRT (which has the last word on
RELU_N1_TO_1 and RELU_0_TO_1) in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.broadcasting import (
    ElementwiseOperation,
    expect_quantized,
    expect_representable,
    is_plain_integer,
    largest_offset,
)
from glowmcu.ops.fixed_point import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    round_half_away,
    rounding_divide_by_pot,
    saturate,
)
from glowmcu.ops.interpolated_table import HIGH, LOW, function_table, look_up
from glowmcu.ops.real import FLOAT_MAX, stored_clamp, verify_float
from glowmcu.ops.registry import operation
from glowmcu.ops.wide import expect_symmetric, is_wide

#: At how many stored values an interpolation is compared with its function: four between entries.
_BETWEEN = 32
#: An eighth of a step that int8 would have for the same range.
_MOST_STEPS_OFF = 32


class UnaryFunction(ElementwiseOperation):
    """Base: float32 to float32; int8 to int8, both quantized per tensor, which becomes a table.

    With `takes_integers` also any plain integer type to itself, modulo its range; with `takes_wide`
    or `interpolates` also quantized int16 to int16, the latter by a table of 513 values.
    """

    takes_integers: ClassVar[bool] = False
    takes_wide: ClassVar[bool] = False
    interpolates: ClassVar[bool] = False

    def verify(self, signature: Signature) -> None:
        if signature.output.element.is_float:
            verify_float(signature)
        elif not (self.takes_integers and is_plain_integer(signature)):
            wide = (ElementType.I16,) if self.takes_wide or self.interpolates else ()
            expect_quantized((*signature.inputs, signature.output), ElementType.I8, *wide)
            if self.interpolates and is_wide(signature):
                expect_symmetric(*signature.inputs, signature.output)
            else:
                self._verify_scales(signature)

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule()

    def _verify_scales(self, signature: Signature) -> None:
        """Raise OperationError for scales that the function does not take."""
        (x,) = signature.inputs
        expect_representable(self.name, largest_offset(x), x.scale / signature.output.scale)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        element = signature.output.element
        if element.is_float or is_plain_integer(signature):
            with np.errstate(all="ignore"):
                return (np.asarray(self._real(inputs[0]), element.numpy),)
        if self.interpolates and is_wide(signature):
            at = inputs[0].astype(np.int64)
            return (look_up(self.wide_table(signature), at).astype(np.int16),)
        return (self._stored(inputs[0], signature, rounding),)

    def wide_table(self, signature: Signature) -> Array:
        """int16[513]: results of int16, which are linear in between."""
        return _wide_table(self, signature)

    def verify_accuracy(self, signature: Signature) -> None:
        if not self.interpolates or not is_wide(signature):
            return
        between = np.arange(LOW, HIGH + 1, _BETWEEN)
        (x,), out = signature.inputs, signature.output
        with np.errstate(all="ignore"):
            real = self._real((between * x.scale).astype(np.float32)) / out.scale
        steps = np.clip(np.nan_to_num(real, nan=np.inf), LOW, HIGH)
        table = self.wide_table(signature)
        # Where results begin to saturate, beyond what was seen, lines meet the limit too early.
        ends = np.isin(table, (LOW, HIGH))
        inside = ~(ends[:-1] | ends[1:])[256 + (between >> 7)]
        farthest = np.abs(look_up(table, between) - steps)[inside].max(initial=0)
        if farthest > _MOST_STEPS_OFF:
            raise OperationError(f"a table of 16 bits would be {farthest:.0f} steps off in places")

    def _single(self, x: np.float32, signature: Signature) -> np.float32:
        """The function in float32, for tables of stored results."""
        result: np.float32 = np.float32(self._real(np.array([x], np.float32))[0])
        return result

    def _real(self, x: Array) -> Array:
        """Results on float32, or on plain integers."""
        raise AssertionError(f"{self.name} has no float meaning")

    def _stored(self, x: Array, signature: Signature, rounding: Rounding) -> Array:
        """Stored results of stored int8, or int16."""
        offsets = x.astype(np.int64) - signature.inputs[0].zero_point
        out = self._scaled(offsets, signature, rounding) + signature.output.zero_point
        dtype = signature.output.element.numpy
        return saturate(out, *self.clamp_range(signature), dtype=dtype)

    def clamp_range(self, signature: Signature) -> tuple[int, int]:
        """Least and greatest stored result."""
        return signature.output.element.limits

    def _scaled(self, offsets: Array, signature: Signature, rounding: Rounding) -> Array:
        """Results without zero point, from stored values without zero point."""
        raise AssertionError(f"{self.name} has no int8 meaning")


@lru_cache(maxsize=64)
def _wide_table(op: UnaryFunction, signature: Signature) -> Array:
    (x,), out = signature.inputs, signature.output
    table = function_table(lambda real: op._single(real, signature), x, out)
    table.flags.writeable = False
    return table


def _rescale(offsets: Array, factor: float, rounding: Rounding) -> Array:
    multiplier, shift = quantize_multiplier(factor)
    return multiply_by_quantized_multiplier(offsets, multiplier, shift, rounding)


def quantize_bound(real: float, type_: TensorType) -> int:
    """zero_point + round(real / scale), computed in float32 as TensorFlow Lite does."""
    quotient = np.float32(real) / np.float32(type_.scale)
    return type_.zero_point + round_half_away(float(quotient))


@operation("relu")
@dataclass(frozen=True)
class Relu(UnaryFunction):
    """Rescale, then clamp: in stored output units, in real numbers for float32.

    `single_precision`: scales divided in float32.
    """

    takes_wide: ClassVar[bool] = True
    clamp: tuple[float, float] = (-128, 127)
    single_precision: bool = False

    def _real(self, x: Array) -> Array:
        low, high = self.clamp
        if low > -FLOAT_MAX:
            x = np.where(x < np.float32(low), np.float32(low), x)
        return np.where(x > np.float32(high), np.float32(high), x) if high < FLOAT_MAX else x

    def clamp_range(self, signature: Signature) -> tuple[int, int]:
        return stored_clamp(self.clamp, signature.output)

    def factor(self, signature: Signature) -> float:
        """Input to output scale."""
        (x,), out = signature.inputs, signature.output
        ratio = np.float32(x.scale) / np.float32(out.scale)
        return float(ratio) if self.single_precision else x.scale / out.scale

    def _scaled(self, offsets: Array, signature: Signature, rounding: Rounding) -> Array:
        return _rescale(offsets, self.factor(signature), rounding)


@operation("clip")
@dataclass(frozen=True)
class Clip(ElementwiseOperation):
    """Stored values clamped as they are; the scales are expected to be the same."""

    stackable: ClassVar[bool] = False
    clamp: tuple[int, int] = (-128, 127)

    def verify(self, signature: Signature) -> None:
        types = (*signature.inputs, signature.output)
        expect_quantized(types, ElementType.I8, ElementType.I16)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (saturate(inputs[0], *self.clamp, dtype=inputs[0].dtype),)


@operation("leaky_relu")
@dataclass(frozen=True)
class LeakyRelu(UnaryFunction):
    """x where x >= 0, else x * alpha; `alpha` is a float32, of any sign."""

    takes_wide: ClassVar[bool] = True
    alpha: float = 0.0

    def _real(self, x: Array) -> Array:
        return np.where(x < 0, np.float32(self.alpha) * x, x)

    def _verify_scales(self, signature: Signature) -> None:
        (x,) = signature.inputs
        factor = max(1.0, abs(self.alpha)) * x.scale / signature.output.scale
        expect_representable(self.name, largest_offset(x), factor)

    def _scaled(self, offsets: Array, signature: Signature, rounding: Rounding) -> Array:
        scale, out = signature.inputs[0].scale, signature.output.scale
        negative = scale * self.alpha / out
        identity = _rescale(offsets, scale / out, rounding)
        scaled = _rescale(offsets, abs(negative), rounding)
        return np.where(offsets >= 0, identity, scaled if negative >= 0 else -scaled)


@operation("abs")
class Abs(UnaryFunction):
    """|x|; not rescaled at all where the scales are the same."""

    takes_integers: ClassVar[bool] = True
    takes_wide: ClassVar[bool] = True

    def _real(self, x: Array) -> Array:
        return np.abs(x)

    def _scaled(self, offsets: Array, signature: Signature, rounding: Rounding) -> Array:
        return _rescale_unless_same(np.abs(offsets), signature, rounding)


def _rescale_unless_same(offsets: Array, signature: Signature, rounding: Rounding) -> Array:
    (x,) = signature.inputs
    if x.scale == signature.output.scale:
        return offsets
    return _rescale(offsets, x.scale / signature.output.scale, rounding)


@operation("neg")
class Neg(UnaryFunction):
    """-x; stored values are rescaled as by `abs` (LiteRT negates them as they are)."""

    takes_integers: ClassVar[bool] = True
    takes_wide: ClassVar[bool] = True

    def _real(self, x: Array) -> Array:
        return np.negative(x)

    def _scaled(self, offsets: Array, signature: Signature, rounding: Rounding) -> Array:
        return _rescale_unless_same(-offsets, signature, rounding)


_HIRES_BITS = 7
_INT16_LIMITS = (-(2**15), 2**15 - 1)


def _int16_multiplier(real: float) -> tuple[int, int]:
    """A factor as multiplier * 2^(exponent - 15): `DownScaleInt32ToInt16Multiplier`."""
    multiplier, exponent = quantize_multiplier(real)
    return min((multiplier + 2**15) >> 16, 2**15 - 1), exponent


def _int16_high_mul(a: Array, b: int) -> Array:
    """round(a * b / 2^15), halves up."""
    return (a * b + 2**14) >> 15


@operation("hard_swish")
class HardSwish(UnaryFunction):
    """x * relu6(x + 3) / 6; int8 in 16-bit fixed point."""

    interpolates: ClassVar[bool] = True

    def _real(self, x: Array) -> Array:
        return np.asarray(x * np.clip(x + np.float32(3), 0, 6) * np.float32(1 / 6))

    def _verify_scales(self, signature: Signature) -> None:
        _, exponent = self._output_multiplier(signature)
        if not -15 <= exponent <= 0:
            raise OperationError(
                f"hard_swish needs an output scale of 1/128 to 128 times the input's, got "
                f"{signature.inputs[0].scale:.6g} and {signature.output.scale:.6g}"
            )

    def _output_multiplier(self, signature: Signature) -> tuple[int, int]:
        hires = np.float32(1 / 128) * np.float32(signature.inputs[0].scale)
        return _int16_multiplier(float(hires / np.float32(signature.output.scale)))

    def _scaled(self, offsets: Array, signature: Signature, rounding: Rounding) -> Array:
        hires = offsets << _HIRES_BITS
        multiplier, exponent = self._output_multiplier(signature)
        preshift = _int16_high_mul(hires, multiplier)
        product = self._reluish(hires, signature) * preshift
        # Rounds towards zero, unlike everything else here.
        high = np.sign(product) * (np.abs(product) >> 15)
        return rounding_divide_by_pot(high, -exponent)

    def _reluish(self, hires: Array, signature: Signature) -> Array:
        """relu6(x + 3) / 6 in Q0.15."""
        scale = np.float32(1 / 128) * np.float32(signature.inputs[0].scale)
        reluish_scale = np.float32(3) / np.float32(32768)
        multiplier, exponent = _int16_multiplier(float(scale / reluish_scale))
        value = hires
        if exponent > 0:
            value = np.clip(value << min(exponent - 1, 31), *_INT16_LIMITS)
        value = _int16_high_mul(value, multiplier)
        if exponent > 0:
            value = np.clip(value << 1, *_INT16_LIMITS)
        elif exponent < 0:
            value = rounding_divide_by_pot(value, min(-exponent, 31))
        return (value + 2**15) >> 1
