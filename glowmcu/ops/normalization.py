"""Normalizations along the last axis: `softmax`, `log_softmax`, `l2_normalization`.

On int8 all three depend on differences or sums of stored integers alone, in the fixed point of
gemmlowp. On float32 sums are those of float32 numbers, rounded once at the end.
Source: TensorFlow Lite `reference/{softmax,log_softmax}.h`,
`reference/integer_ops/l2normalization.h`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops import wide_softmax
from glowmcu.ops.fixed_functions import inverse_sqrt, log_of_at_least_one, reciprocal
from glowmcu.ops.fixed_point import (
    INT32_MIN,
    Int64Array,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_pot,
    saturate,
)
from glowmcu.ops.gemmlowp import exp_on_negative_values, multiply
from glowmcu.ops.ranges import at_extremes, unrestricted
from glowmcu.ops.real import verify_float
from glowmcu.ops.registry import operation

#: Differences to a row's maximum are Q5.26, sums of their exponentials Q12.19.
_DIFFERENCE_BITS = 5
_SUM_BITS = 12
#: What neighbours are apart by in 2^-26 where they would be by 1 or less: also the inverse of it is
#: below 1.
_LEAST_DIFFERENCE = 1.25
#: Most exponentials of at most 1 whose sum stays inside Q12.19.
_LARGEST_SOFTMAX_DEPTH = (1 << _SUM_BITS) - 1
#: Scale and zero point of probabilities of 8 and of 16 bits.
_BYTES, _HALVES = (1 / 256, -128), (1 / 65536, -32768)
_LARGEST_L2_DEPTH = (2**31 - 1) // 255**2


@dataclass(frozen=True)
class DifferenceScale:
    """From a difference of stored values to Q5.26. `count` differences, 0 to count - 1, matter."""

    multiplier: int
    shift: int
    radius: int

    @property
    def count(self) -> int:
        return min(self.radius, 255) + 1

    def rescaled(self, rounding: Rounding) -> Int64Array:
        """-d in Q5.26 for d = 0 to count - 1."""
        differences = -np.arange(self.count, dtype=np.int64)
        return multiply_by_quantized_multiplier(differences, self.multiplier, self.shift, rounding)

    def exponentials(self, rounding: Rounding) -> Int64Array:
        """exp(-d) in Q0.31 for d = 0 to 255; 0 for the differences that do not matter."""
        found = np.zeros(256, np.int64)
        found[: self.count] = exp_on_negative_values(self.rescaled(rounding), _DIFFERENCE_BITS)
        return found


def difference_scale(beta: float, x: TensorType, rounding: Rounding) -> DifferenceScale:
    """`PreprocessSoftmaxScaling`, `CalculateInputRadius`; OperationError unless beta is positive.

    Converters give a tensor that was always 0 a scale of 8e-9. The kernels of TensorFlow Lite take
    none below 2^-26, where all elements are alike already: smaller ones are computed as that.
    """
    if not beta * x.scale > 0.0:
        raise OperationError(f"beta {beta} is no positive number")
    largest = float(2**31 - 1 if rounding is Rounding.DOUBLE else 2**30 - 1)
    real = min(beta * x.scale * 2**26, largest)
    if real <= 1.0:
        real = _LEAST_DIFFERENCE
    multiplier, shift = quantize_multiplier(real)
    return DifferenceScale(multiplier, shift, math.floor(31 * 2**26 / 2**shift))


def _sums(exponentials: Array) -> Int64Array:
    total: Int64Array = rounding_divide_by_pot(exponentials, _SUM_BITS).sum(-1, keepdims=True)
    return total


def _differences(x: Array) -> Int64Array:
    """Row maximum minus each element."""
    wide = x.astype(np.int64)
    below: Int64Array = wide.max(axis=-1, keepdims=True) - wide
    return below


class AlongLastAxis(Operation):
    """A result of the input's shape, each row on its own."""

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        if x.rank < 1 or x.shape[-1] < 1:
            raise OperationError(f"expected a last axis of at least one element, got {x}")
        return (x.shape,)

    def verify(self, signature: Signature) -> None:
        if signature.output.element.is_float:
            verify_float(signature)
        else:
            self._verify_stored(signature)

    def _verify_stored(self, signature: Signature) -> None:
        """Raise OperationError for int8 operands that do not fit."""

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        if not signature.output.element.is_float:
            return (self._stored(inputs[0], signature, rounding),)
        with np.errstate(all="ignore"):
            return (self._real(inputs[0].astype(np.float64)).astype(np.float32),)

    def _real(self, x: Array) -> Array:
        """Results on real numbers."""
        raise AssertionError(f"{self.name} has no float meaning")

    def _stored(self, x: Array, signature: Signature, rounding: Rounding) -> Array:
        """Stored results of stored int8."""
        raise AssertionError(f"{self.name} has no int8 meaning")

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        """A row is read as a whole before its first result is written."""
        return (0,) if signature.output.element is signature.inputs[0].element else ()


def _require_input(x: TensorType, depth: int) -> None:
    if x.element is not ElementType.I8 or x.quantization is None:
        raise OperationError(f"expected quantized i8, got {x}")
    if x.shape[-1] > depth:
        raise OperationError(f"a last axis of {x.shape[-1]} exceeds {depth}: the sum may overflow")


def _require_output(out: TensorType, element: ElementType, scale: float, zero_point: int) -> None:
    near = out.quantization is not None and math.isclose(out.scale, scale, rel_tol=1e-3)
    if out.element is not element or not near or out.zero_point != zero_point:
        raise OperationError(
            f"the result must be {element.value} with scale {scale} and zero point {zero_point}, "
            f"got {out}"
        )


@operation("softmax")
@dataclass(frozen=True)
class Softmax(AlongLastAxis):
    """exp(beta * x) / sum(exp(beta * x)).

    int8 to int8 with scale 1/256 or int16 with scale 1/65536; int16 to int16 with scale 1/32768.
    """

    beta: float = 1.0

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule(result=ResultRange.FIXED, fixed=_BYTES, finer=_HALVES)

    def _real(self, x: Array) -> Array:
        exponentials = np.exp(np.float32(self.beta) * (x - x.max(-1, keepdims=True)))
        return np.asarray(exponentials / exponentials.sum(-1, keepdims=True))

    def ranges_from(
        self, known: Sequence[ValueRange], signature: Signature, rounding: Rounding
    ) -> tuple[ValueRange | None, ...]:
        """Any probability, but that of a single class is always the same."""
        if signature.output.shape[-1] > 1:
            return unrestricted(signature)
        return at_extremes(self, known, signature, rounding)

    def _verify_stored(self, signature: Signature) -> None:
        x, out = signature.inputs[0], signature.output
        if x.element is ElementType.I16:
            wide_softmax.verify_softmax(self.beta, signature)
            return
        _require_input(x, _LARGEST_SOFTMAX_DEPTH)
        if out.element is ElementType.I16:
            _require_output(out, ElementType.I16, *_HALVES)
        else:
            _require_output(out, ElementType.I8, *_BYTES)
        for rounding in Rounding:
            self.difference_scale(signature, rounding)

    def difference_scale(self, signature: Signature, rounding: Rounding) -> DifferenceScale:
        """How differences to the maximum become Q5.26."""
        return difference_scale(self.beta, signature.inputs[0], rounding)

    def _stored(self, x: Array, signature: Signature, rounding: Rounding) -> Array:
        if x.dtype == np.int16:
            return wide_softmax.softmax(x, self.beta, signature.inputs[0], rounding)
        table = self.difference_scale(signature, rounding).exponentials(rounding)
        exponentials = table[_differences(x)]
        element = signature.output.element
        scale, bits = reciprocal(_sums(exponentials), _SUM_BITS)
        # Past 31 the reference stops; the quotient is below half a step there, so 0.
        exponent = bits + 31 - 8 * element.size_bytes
        ratios = rounding_divide_by_pot(multiply(exponentials, scale), exponent)
        lowest, highest = element.limits
        return saturate(ratios + lowest, lowest, highest, dtype=element.numpy)


@operation("log_softmax")
class LogSoftmax(AlongLastAxis):
    """x - max - log(sum(exp(x - max))); int8 with scale 1/16 and zero point 127."""

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule(result=ResultRange.FIXED, fixed=(1 / 16, 127))

    def _real(self, x: Array) -> Array:
        below = x - x.max(-1, keepdims=True)
        return np.asarray(below - np.log(np.exp(below).sum(-1, keepdims=True)))

    def _verify_stored(self, signature: Signature) -> None:
        _require_input(signature.inputs[0], _LARGEST_SOFTMAX_DEPTH)
        _require_output(signature.output, ElementType.I8, 1 / 16, 127)
        for rounding in Rounding:
            if self.difference_scale(signature, rounding).shift > 30:
                raise OperationError(f"an input scale of {signature.inputs[0].scale} is too large")

    def difference_scale(self, signature: Signature, rounding: Rounding) -> DifferenceScale:
        """How differences to the maximum become Q5.26."""
        return difference_scale(1.0, signature.inputs[0], rounding)

    def reverse_scale(self, signature: Signature, rounding: Rounding) -> tuple[int, int]:
        """Multiplier and shift from Q5.26 back to differences of stored values."""
        scale = self.difference_scale(signature, rounding)
        return quantize_multiplier(2.0 ** (31 - scale.shift) / scale.multiplier)

    def _stored(self, x: Array, signature: Signature, rounding: Rounding) -> Array:
        scale = self.difference_scale(signature, rounding)
        below = _differences(x)
        log_sum = log_of_at_least_one(
            _sums(scale.exponentials(rounding)[below]), _SUM_BITS, _DIFFERENCE_BITS
        )
        reverse = self.reverse_scale(signature, rounding)
        # Differences beyond this would leave Q5.26 once the logarithm is taken off.
        least = multiply_by_quantized_multiplier(log_sum + INT32_MIN, *reverse, rounding)
        least = np.maximum(-scale.radius - 1, least)
        rescaled = multiply_by_quantized_multiplier(-below, scale.multiplier, scale.shift, rounding)
        logs = rounding_divide_by_pot(rescaled - log_sum, 22) + 127
        return saturate(np.where(-below > least, logs, -128), -128, 127, dtype=np.int8)


@operation("l2_normalization")
@dataclass(frozen=True)
class L2Normalization(AlongLastAxis):
    """x / max(sqrt(sum(x^2)), epsilon); int8 with scale 1/128 and zero point 0."""

    epsilon: float = 1e-6

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule(result=ResultRange.FIXED, fixed=(1 / 128, 0))

    def _real(self, x: Array) -> Array:
        lengths = np.sqrt((x * x).sum(-1, keepdims=True))
        return np.asarray(x / np.maximum(lengths, np.float32(self.epsilon)))

    def _verify_stored(self, signature: Signature) -> None:
        _require_input(signature.inputs[0], _LARGEST_L2_DEPTH)
        _require_output(signature.output, ElementType.I8, 1 / 128, 0)

    def _stored(self, x: Array, signature: Signature, rounding: Rounding) -> Array:
        offsets = x.astype(np.int64) - signature.inputs[0].zero_point
        squares = (offsets * offsets).sum(axis=-1)
        factors = np.array([inverse_sqrt(int(total)) for total in squares.reshape(-1)])
        multipliers = factors[:, 0].reshape(*squares.shape, 1)
        shifts = factors[:, 1].reshape(*squares.shape, 1) + 7
        scaled = multiply_by_quantized_multiplier(offsets, multipliers, shifts, rounding)
        return saturate(scaled, -128, 127, dtype=np.int8)
