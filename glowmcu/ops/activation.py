"""Functions of one int8 tensor made of scaling: relu, clip, leaky_relu, hard_swish, abs, neg.

Each is lowered to a table of its 256 results, so its meaning here is all there is.
Source: TensorFlow Lite Micro `activations_common.cc`, `leaky_relu_common.cc`, `hard_swish.h`,
`elementwise.cc`. Its releases divide scales in double, LiteRT (which has the last word on
RELU_N1_TO_1 and RELU_0_TO_1) in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType
from glowmcu.ops.broadcasting import (
    ElementwiseOperation,
    expect_quantized,
    expect_reach,
    largest_offset,
)
from glowmcu.ops.fixed_point import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_pot,
    saturate,
    wrap_int32,
)
from glowmcu.ops.registry import operation


@dataclass(frozen=True)
class Int8Function(ElementwiseOperation):
    """Base: int8 in, int8 out, both quantized per tensor; the first pass makes it a table."""

    stackable: ClassVar[bool] = False

    def verify(self, signature: Signature) -> None:
        expect_quantized((*signature.inputs, signature.output), ElementType.I8)
        self._verify_scales(signature)

    def _verify_scales(self, signature: Signature) -> None:
        """Raise OperationError for scales that the function does not take."""
        (x,) = signature.inputs
        expect_reach(self.name, largest_offset(x), x.scale / signature.output.scale)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        offsets = inputs[0].astype(np.int64) - signature.inputs[0].zero_point
        out = self._scaled(offsets, signature, rounding) + signature.output.zero_point
        return (saturate(out, *self._limits(signature), dtype=np.int8),)

    def _limits(self, signature: Signature) -> tuple[int, int]:
        return signature.output.element.limits

    def _scaled(self, offsets: Array, signature: Signature, rounding: Rounding) -> Array:
        """Results without zero point, from stored values without zero point."""
        raise AssertionError(f"{self.name} has no meaning")


def _rescale(offsets: Array, factor: float, rounding: Rounding) -> Array:
    multiplier, shift = quantize_multiplier(factor)
    return multiply_by_quantized_multiplier(offsets, multiplier, shift, rounding)


@operation("relu")
@dataclass(frozen=True)
class Relu(Int8Function):
    """Rescale, then clamp in stored output units; `single_precision`: scales divided in float32."""

    clamp: tuple[int, int] = (-128, 127)
    single_precision: bool = False

    def _limits(self, signature: Signature) -> tuple[int, int]:
        return self.clamp

    def _scaled(self, offsets: Array, signature: Signature, rounding: Rounding) -> Array:
        (x,), out = signature.inputs, signature.output
        ratio = np.float32(x.scale) / np.float32(out.scale)
        exact = x.scale / out.scale
        return _rescale(offsets, float(ratio) if self.single_precision else exact, rounding)


@operation("clip")
@dataclass(frozen=True)
class Clip(ElementwiseOperation):
    """Stored values clamped as they are; the scales are expected to be the same."""

    stackable: ClassVar[bool] = False
    clamp: tuple[int, int] = (-128, 127)

    def verify(self, signature: Signature) -> None:
        expect_quantized((*signature.inputs, signature.output), ElementType.I8)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (saturate(inputs[0], *self.clamp, dtype=np.int8),)


@operation("leaky_relu")
@dataclass(frozen=True)
class LeakyRelu(Int8Function):
    """x where x >= 0, else x * alpha; `alpha` is a float32, of any sign."""

    alpha: float = 0.0

    def _verify_scales(self, signature: Signature) -> None:
        (x,) = signature.inputs
        factor = max(1.0, abs(self.alpha)) * x.scale / signature.output.scale
        expect_reach(self.name, largest_offset(x), factor)

    def _scaled(self, offsets: Array, signature: Signature, rounding: Rounding) -> Array:
        scale, out = signature.inputs[0].scale, signature.output.scale
        negative = scale * self.alpha / out
        identity = _rescale(offsets, scale / out, rounding)
        scaled = _rescale(offsets, abs(negative), rounding)
        return np.where(offsets >= 0, identity, scaled if negative >= 0 else -scaled)


@operation("abs")
@dataclass(frozen=True)
class Abs(Int8Function):
    """|x|; not rescaled at all where the scales are the same."""

    def _scaled(self, offsets: Array, signature: Signature, rounding: Rounding) -> Array:
        return _rescale_unless_same(np.abs(offsets), signature, rounding)


def _rescale_unless_same(offsets: Array, signature: Signature, rounding: Rounding) -> Array:
    (x,) = signature.inputs
    if x.scale == signature.output.scale:
        return offsets
    return _rescale(offsets, x.scale / signature.output.scale, rounding)


@operation("neg")
@dataclass(frozen=True)
class Neg(ElementwiseOperation):
    """-x: int32 modulo 2^32, or int8 rescaled as `abs` (LiteRT negates the bytes as they are)."""

    def verify(self, signature: Signature) -> None:
        (x,) = signature.inputs
        if x.element is ElementType.I32 and signature.output.element is ElementType.I32:
            return
        expect_quantized((x, signature.output), ElementType.I8)
        expect_reach(self.name, largest_offset(x), x.scale / signature.output.scale)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        wide = inputs[0].astype(np.int64)
        if signature.output.element is ElementType.I32:
            return (wrap_int32(-wide).astype(np.int32),)
        offsets = signature.inputs[0].zero_point - wide
        out = _rescale_unless_same(offsets, signature, rounding) + signature.output.zero_point
        return (saturate(out, -128, 127, dtype=np.int8),)


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
@dataclass(frozen=True)
class HardSwish(Int8Function):
    """x * relu6(x + 3) / 6 in 16-bit fixed point."""

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
