"""Arithmetic of two tensors: `add`, `sub`, `mul`, `squared_difference`, `maximum`, `prelu`, …

add: out = clamp(requantize(rescale(a) + rescale(b)) + out_zp), rescaled to twice the larger scale.
Source: TensorFlow Lite `reference/integer_ops/{add,mul}.h`, `reference/{sub,prelu}.h`, and the
`Prepare` functions of TensorFlow Lite Micro, which say what is float32 and what is double.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.broadcasting import (
    ElementwiseOperation,
    expect_quantized,
    expect_representable,
    is_plain_integer,
    largest_offset,
    multiplier_below_one,
)
from glowmcu.ops.fixed_point import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rises,
    saturate,
)
from glowmcu.ops.ranges import at_corners, clamped, enumerated, unrestricted
from glowmcu.ops.real import clamp_float, stored_clamp, verify_float
from glowmcu.ops.registry import operation
from glowmcu.ops.wide import expect_symmetric

_QUANTIZED = (ElementType.I8, ElementType.I16)
#: Elements that are computed together.
_AT_ONCE = 1 << 14


@dataclass(frozen=True)
class Scale:
    """A real factor in fixed point: multiplier * 2^(shift - 31)."""

    multiplier: int
    shift: int

    def apply(self, values: Array, rounding: Rounding) -> Array:
        return multiply_by_quantized_multiplier(values, self.multiplier, self.shift, rounding)


@dataclass(frozen=True)
class CommonScale:
    """How two operands come to one scale, and (if there is one) how their sum leaves it."""

    left_shift: int
    a: Scale
    b: Scale
    out: Scale

    def rescale(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, Array]:
        """Both operands without zero point, on the common scale; shapes as they were."""
        a, b = (
            (values.astype(np.int64) - type_.zero_point) << self.left_shift
            for values, type_ in zip(inputs, signature.inputs, strict=True)
        )
        return self.a.apply(a, rounding), self.b.apply(b, rounding)


@dataclass(frozen=True)
class Arithmetic(ElementwiseOperation):
    """`clamp` is the fused activation in stored output units; None leaves the type's full range."""

    operand_count: ClassVar[int] = 2
    clamp: tuple[float, float] | None = None

    def clamp_range(self, signature: Signature) -> tuple[int, int]:
        """Least and greatest stored result."""
        return stored_clamp(self.clamp, signature.output)

    def verify(self, signature: Signature) -> None:
        if signature.output.element.is_float:
            verify_float(signature)
        elif not is_plain_integer(signature):
            expect_quantized((*signature.inputs, signature.output), *_QUANTIZED)
            self._verify_scales(signature)
        elif self.clamp is not None:
            raise OperationError("a fused activation on plain integers is not supported")

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule((0, 1))

    def _verify_scales(self, signature: Signature) -> None:
        """Raise OperationError for scales that fixed point cannot express."""

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        dtype = signature.output.element.numpy
        if signature.output.element.is_float or is_plain_integer(signature):
            with np.errstate(all="ignore"):
                plain = np.asarray(self._plain(*inputs))
            # Integers are modulo their range.
            return (clamp_float(plain, self.clamp) if dtype.kind == "f" else plain.astype(dtype),)
        shape = signature.output.shape
        if signature.output.element_count <= _AT_ONCE or any(x.shape != shape for x in inputs):
            return (self._stored(inputs, signature, rounding),)
        # Some at a time: each takes eight bytes in several arrays on the way.
        flat, results = [x.reshape(-1) for x in inputs], np.empty(shape, dtype)
        for start in range(0, results.size, _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            some = [x[part] for x in flat]
            results.reshape(-1)[part] = self._stored(some, signature, rounding)
        return (results,)

    def _stored(self, inputs: Sequence[Array], signature: Signature, rounding: Rounding) -> Array:
        out = self._quantized(inputs, signature, rounding) + signature.output.zero_point
        element = signature.output.element
        return saturate(out, *self.clamp_range(signature), dtype=element.numpy)

    def ranges_from(
        self, known: Sequence[ValueRange], signature: Signature, rounding: Rounding
    ) -> tuple[ValueRange | None, ...]:
        if is_plain_integer(signature):
            return unrestricted(signature)
        if not self._is_extreme_at_corners(signature, rounding):
            (range_,) = unrestricted(signature)
            assert range_ is not None
            return (clamped(range_, *self.clamp_range(signature)),)
        a, b = known
        corners = [(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        return (at_corners(self, corners, signature, rounding),)

    def _is_extreme_at_corners(self, signature: Signature, rounding: Rounding) -> bool:
        """Whether stored results rise, or fall, with each operand on its own."""
        return False

    def _plain(self, a: Array, b: Array) -> Array:
        """Results on numbers that are what they are stored as."""
        raise AssertionError(f"{self.name} has no meaning without scales")

    def _quantized(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> Array:
        """Results without zero point."""
        raise AssertionError(f"{self.name} has no quantized meaning")


#: Of those below 1, in Q0.31.
_LARGEST_MULTIPLIER = 1.0 - 2.0**-31


class _Sum(Arithmetic):
    """`add` and `sub` on a common scale."""

    def common_scale(self, signature: Signature) -> CommonScale:
        """Constants of the quantized form; OperationError where TensorFlow Lite aborts, but for a
        sum that was always 0 when a converter looked, as that of x - x: any other one is at the end
        of int8 with the largest multiplier that there is.
        """
        a, b = signature.inputs
        left_shift = 15 if signature.output.element is ElementType.I16 else 20
        twice = 2.0 * max(a.scale, b.scale)
        real = twice / (2**left_shift * signature.output.scale)
        if signature.output.element is ElementType.I8:
            real = min(real, _LARGEST_MULTIPLIER)
        return CommonScale(
            left_shift,
            Scale(*multiplier_below_one("the ratio of the scales", a.scale / twice)),
            Scale(*multiplier_below_one("the ratio of the scales", b.scale / twice)),
            Scale(*multiplier_below_one("the output multiplier", real)),
        )

    def _verify_scales(self, signature: Signature) -> None:
        self.common_scale(signature)

    def _is_extreme_at_corners(self, signature: Signature, rounding: Rounding) -> bool:
        # The common scale is twice the larger one, so that each operand is half of int32 at most.
        shift = self.common_scale(signature).left_shift
        return all(largest_offset(type_) << shift < 2**31 for type_ in signature.inputs)

    def _quantized(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> Array:
        scale = self.common_scale(signature)
        a, b = scale.rescale(inputs, signature, rounding)
        return scale.out.apply(self._plain(a, b), rounding)


@operation("add")
class Add(_Sum):
    """a + b."""

    def _plain(self, a: Array, b: Array) -> Array:
        return a + b


@operation("sub")
class Sub(_Sum):
    """a - b. Scales are divided in double as for `add`; some sources of the oracle use float32."""

    def _plain(self, a: Array, b: Array) -> Array:
        return a - b


@operation("mul")
class Mul(Arithmetic):
    """a * b; int16 has zero points 0."""

    def _verify_scales(self, signature: Signature) -> None:
        types = (*signature.inputs, signature.output)
        if types[0].element is ElementType.I16:
            expect_symmetric(*types)
        a, b = signature.inputs
        largest = largest_offset(a) * largest_offset(b)
        expect_representable("mul", largest, a.scale * b.scale / signature.output.scale)

    def _is_extreme_at_corners(self, signature: Signature, rounding: Rounding) -> bool:
        a, b = map(largest_offset, signature.inputs)
        scale = self.scale(signature)
        return bool(rises(a * b, scale.multiplier, scale.shift, rounding))

    def scale(self, signature: Signature) -> Scale:
        """Product to output."""
        a, b = signature.inputs
        return Scale(*quantize_multiplier(a.scale * b.scale / signature.output.scale))

    def _plain(self, a: Array, b: Array) -> Array:
        return a * b

    def _quantized(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> Array:
        a, b = (
            values.astype(np.int64) - type_.zero_point
            for values, type_ in zip(inputs, signature.inputs, strict=True)
        )
        return self.scale(signature).apply(a * b, rounding)


@operation("squared_difference")
class SquaredDifference(Arithmetic):
    """(a - b)^2."""

    def _verify_scales(self, signature: Signature) -> None:
        a, b = signature.inputs
        if signature.output.element is ElementType.I16:
            expect_symmetric(a, b, signature.output)
        self.common_scale(signature)
        largest = (largest_offset(a) * a.scale + largest_offset(b) * b.scale) ** 2
        expect_representable("squared_difference", 1, largest / signature.output.scale)

    def common_scale(self, signature: Signature) -> CommonScale:
        """Constants of the quantized form; the output's divisor is a float32 product."""
        a, b = signature.inputs
        left_shift = 0 if signature.output.element is ElementType.I16 else 7
        twice = 2.0 * max(a.scale, b.scale)
        divisor = float(np.float32(2 ** (2 * left_shift)) * np.float32(signature.output.scale))
        return CommonScale(
            left_shift,
            Scale(*multiplier_below_one("the ratio of the scales", a.scale / twice)),
            Scale(*multiplier_below_one("the ratio of the scales", b.scale / twice)),
            Scale(*quantize_multiplier(twice * twice / divisor)),
        )

    def _plain(self, a: Array, b: Array) -> Array:
        return (a - b) ** 2

    def _quantized(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> Array:
        scale = self.common_scale(signature)
        a, b = scale.rescale(inputs, signature, rounding)
        return scale.out.apply((a - b) ** 2, rounding)


@dataclass(frozen=True)
class _Extremum(ElementwiseOperation):
    """Compares stored values as they are: the scales must be the same for that to mean anything.

    What is not a number as either operand is the result. TensorFlow Lite's `maximum_minimum.h` has
    the second operand instead, whichever of them is none.
    """

    keeps_nan: bool = True

    operand_count: ClassVar[int] = 2

    def _chosen(self, takes_a: Array, a: Array, b: Array) -> tuple[Array, ...]:
        return (np.where(takes_a | (a != a) if self.keeps_nan else takes_a, a, b),)

    def verify(self, signature: Signature) -> None:
        types = (*signature.inputs, signature.output)
        if any(type_.element is not types[0].element for type_ in types):
            got = ", ".join(map(str, types))
            raise OperationError(f"expected one element type for all, got {got}")

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule((0, 1), unified=True)

    def ranges_from(
        self, known: Sequence[ValueRange], signature: Signature, rounding: Rounding
    ) -> tuple[ValueRange | None, ...]:
        corners = [[range_.low for range_ in known], [range_.high for range_ in known]]
        return (at_corners(self, corners, signature, rounding),)


@operation("maximum")
@dataclass(frozen=True)
class Maximum(_Extremum):
    """The larger of two stored values."""

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        a, b = inputs
        return self._chosen(a > b, a, b)


@operation("minimum")
@dataclass(frozen=True)
class Minimum(_Extremum):
    """The smaller of two stored values."""

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        a, b = inputs
        return self._chosen(a < b, a, b)


@operation("prelu")
class Prelu(ElementwiseOperation):
    """x where x >= 0, else x * alpha; operands x and alpha (which broadcasts)."""

    operand_count: ClassVar[int] = 2

    def verify(self, signature: Signature) -> None:
        if signature.output.element.is_float:
            verify_float(signature)
            return
        expect_quantized((*signature.inputs, signature.output), *_QUANTIZED)
        x, alpha = signature.inputs
        expect_representable("prelu", largest_offset(x), x.scale / signature.output.scale)
        largest = largest_offset(x) * largest_offset(alpha)
        expect_representable("prelu", largest, x.scale * alpha.scale / signature.output.scale)

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule((0, 1))

    def ranges_from(
        self, known: Sequence[ValueRange], signature: Signature, rounding: Rounding
    ) -> tuple[ValueRange | None, ...]:
        if not known[1].is_constant.all():
            return unrestricted(signature)
        x, alpha = known
        return (enumerated(self, x, signature, rounding, [alpha.low]),)

    def scales(self, signature: Signature) -> tuple[Scale, Scale]:
        """Factors of x if it is positive, and of x * alpha."""
        x, alpha = signature.inputs
        out: TensorType = signature.output
        positive = Scale(*quantize_multiplier(x.scale / out.scale))
        return positive, Scale(*quantize_multiplier(x.scale * alpha.scale / out.scale))

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        if signature.output.element.is_float:
            with np.errstate(all="ignore"):
                return (np.where(inputs[0] < 0, inputs[0] * inputs[1], inputs[0]),)
        x, alpha = (
            values.astype(np.int64) - type_.zero_point
            for values, type_ in zip(inputs, signature.inputs, strict=True)
        )
        positive, negative = self.scales(signature)
        scaled = np.where(x >= 0, positive.apply(x, rounding), negative.apply(x * alpha, rounding))
        out = signature.output
        stored = saturate(scaled + out.zero_point, *out.element.limits, dtype=out.element.numpy)
        return (stored,)
