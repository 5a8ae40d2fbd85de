"""Operators that reduce whole axes: `mean`, `sum`, `reduce_max`, `reduce_min`, `reduce_prod`,
`reduce_sum_absolute`, `reduce_sum_square`, `reduce_all` and `reduce_any`.

sum:  out = clamp(requantize(sum(x) - n * x_zp) + out_zp), n elements to each result
mean: the same, with 1/n inside the multiplier, which keeps its 31 bits as far as shifts allow.
Of real numbers the exact result, rounded once; plain int32 and int64 wrap.
Source: TensorFlow Lite `reference/reduce.h` (`QuantizedMeanOrSum`, `ReduceGeneric`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.broadcasting import expect_quantized, largest_offset
from glowmcu.ops.fixed_point import Requantization, quantize_multiplier, rises, saturate
from glowmcu.ops.ranges import at_extremes, unrestricted
from glowmcu.ops.registry import operation


@dataclass(frozen=True)
class Reduction(Operation):
    """Base: `axes` are reduced, and stay with length 1 if `keep_dims`."""

    axes: tuple[int, ...] = ()
    keep_dims: bool = False

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        if not all(0 <= axis < x.rank for axis in self.axes):
            raise OperationError(f"axes {self.axes} are not all in {x.shape}")
        if any(size == 0 and axis not in self.axes for axis, size in enumerate(x.shape)):
            raise OperationError(f"nothing to reduce in {x.shape}")
        if 0 in x.shape and not is_plain(x):
            what = "only f32, and i32 and i64 without scale, have a result of nothing"
            raise OperationError(f"nothing to reduce in {x}: {what}")
        sizes = [1 if axis in self.axes else size for axis, size in enumerate(x.shape)]
        kept = [axis for axis in range(x.rank) if self.keep_dims or axis not in self.axes]
        return (tuple(sizes[axis] for axis in kept),)

    def reduced_count(self, x: TensorType) -> int:
        """Elements that go into one result."""
        return math.prod(x.shape[axis] for axis in self.axes)


_WRAPPING = (ElementType.I32, ElementType.I64)


def is_plain(x: TensorType) -> bool:
    """Real numbers, or integers that mean themselves."""
    return x.element.is_float or (x.element in _WRAPPING and x.quantization is None)


class PlainReduction(Reduction):
    """Base of the reductions that compute on real numbers, and on plain int32 and int64."""

    def verify(self, signature: Signature) -> None:
        x, out = signature.inputs[0], signature.output
        if not is_plain(x) or not is_plain(out) or x.element is not out.element:
            raise OperationError(f"expected f32, or i32 or i64 without scale; got {x} to {out}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        wide = inputs[0].astype(np.float64 if inputs[0].dtype == np.float32 else inputs[0].dtype)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            result = self._reduced(wide, self.reduced_count(signature.inputs[0]))
            stored = np.asarray(result).astype(inputs[0].dtype)
        return (stored.reshape(signature.output.shape),)

    def _reduced(self, x: Array, count: int) -> Array:
        """`x`, widened, along `axes`; `count` elements go into one result."""
        raise AssertionError(f"{self.name} reduces nothing")


class _Summation(PlainReduction):
    """Base of the reductions that add and rescale."""

    def verify(self, signature: Signature) -> None:
        types = signature.inputs[0], signature.output
        if is_plain(types[0]):
            super().verify(signature)
            return
        expect_quantized(types, ElementType.I8, ElementType.I16)

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule()

    def requantization(self, signature: Signature) -> Requantization:
        """Sum to output scale."""
        raise AssertionError(f"{type(self).__name__} has no scale")

    def ranges_from(
        self, known: Sequence[ValueRange], signature: Signature, rounding: Rounding
    ) -> tuple[ValueRange | None, ...]:
        x = signature.inputs[0]
        if is_plain(x):
            return unrestricted(signature)
        most, scale = self.reduced_count(x) * largest_offset(x), self.requantization(signature)
        if not rises(most, scale.multipliers, scale.shifts, rounding).all():
            return unrestricted(signature)
        return at_extremes(self, known, signature, rounding)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, out = signature.inputs[0], signature.output
        if is_plain(x):
            return super().evaluate(inputs, signature, rounding)
        sums = inputs[0].sum(self.axes, np.int64)
        accumulators = np.asarray(sums - self.reduced_count(x) * x.zero_point)
        scaled = self.requantization(signature).apply(accumulators, rounding)
        stored = saturate(scaled + out.zero_point, *out.element.limits, dtype=out.element.numpy)
        return (stored.reshape(out.shape),)


def _one_pair(multiplier: int, shift: int) -> Requantization:
    return Requantization(np.array([multiplier], np.int32), np.array([shift], np.int32))


@operation("sum")
class Sum(_Summation):
    """The sum of all elements along `axes`."""

    def requantization(self, signature: Signature) -> Requantization:
        return _one_pair(*quantize_multiplier(signature.inputs[0].scale / signature.output.scale))

    def _reduced(self, x: Array, count: int) -> Array:
        return np.asarray(x.sum(self.axes, dtype=x.dtype))


@operation("mean")
class Mean(_Summation):
    """The mean of all elements along `axes`."""

    def verify(self, signature: Signature) -> None:
        super().verify(signature)
        x = signature.inputs[0]
        if x.element in _WRAPPING:
            raise OperationError(f"a mean of plain integers is not supported, got {x}")

    def requantization(self, signature: Signature) -> Requantization:
        x = signature.inputs[0]
        count = self.reduced_count(x)
        multiplier, shift = quantize_multiplier(x.scale / signature.output.scale)
        # 2^gain <= n: the division by n loses at most one bit of the multiplier.
        gain = min(count.bit_length() - 1, 32, 31 + shift)
        return _one_pair((multiplier << gain) // count, shift - gain)

    def _reduced(self, x: Array, count: int) -> Array:
        return np.asarray(x.sum(self.axes) / count)


@operation("reduce_prod")
class ReduceProd(PlainReduction):
    """The product of all elements along `axes`."""

    def _reduced(self, x: Array, count: int) -> Array:
        return np.asarray(x.prod(self.axes, dtype=x.dtype))


@operation("reduce_sum_absolute")
class ReduceSumAbsolute(PlainReduction):
    """The sum of |x| along `axes`."""

    def _reduced(self, x: Array, count: int) -> Array:
        return np.asarray(np.abs(x).sum(self.axes, dtype=x.dtype))


@operation("reduce_sum_square")
class ReduceSumSquare(PlainReduction):
    """The sum of x * x along `axes`."""

    def _reduced(self, x: Array, count: int) -> Array:
        return np.asarray((x * x).sum(self.axes, dtype=x.dtype))


class _Extreme(Reduction):
    """Base of the reductions that pick an element, of any type."""

    def verify(self, signature: Signature) -> None:
        x, out = signature.inputs[0], signature.output
        if x.element is not out.element or x.quantization != out.quantization:
            raise OperationError(f"expected a result quantized as {x}, got {out}")

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule(result=ResultRange.SAME)

    def ranges_from(
        self, known: Sequence[ValueRange], signature: Signature, rounding: Rounding
    ) -> tuple[ValueRange | None, ...]:
        return at_extremes(self, known, signature, rounding)


@operation("reduce_max")
class ReduceMax(_Extreme):
    """The largest element along `axes`."""

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (_extreme(np.max, inputs[0], self.axes, signature.output.shape, -math.inf),)


@operation("reduce_min")
class ReduceMin(_Extreme):
    """The smallest element along `axes`."""

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (_extreme(np.min, inputs[0], self.axes, signature.output.shape, math.inf),)


def _extreme(
    function: Callable[..., Array], x: Array, axes: Shape, shape: Shape, beyond: float
) -> Array:
    """`function` along the axes, as `shape`; of nothing `beyond`, or the type's own limit there."""
    if x.size:
        return np.asarray(function(x, axis=axes)).reshape(shape)
    if x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        beyond = limits.min if beyond < 0 else limits.max
    return np.full(shape, beyond, x.dtype)


class _Logical(Reduction):
    """Base of the reductions of bools."""

    def verify(self, signature: Signature) -> None:
        for type_ in (signature.inputs[0], signature.output):
            if type_.element is not ElementType.BOOL:
                raise OperationError(f"expected bools, got {type_}")


@operation("reduce_all")
class ReduceAll(_Logical):
    """Whether all elements along `axes` are true."""

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (np.asarray(inputs[0].all(self.axes)).reshape(signature.output.shape),)


@operation("reduce_any")
class ReduceAny(_Logical):
    """Whether any element along `axes` is true."""

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (np.asarray(inputs[0].any(self.axes)).reshape(signature.output.shape),)
