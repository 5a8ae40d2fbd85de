"""Operators that walk along one axis: `arg_max`, `arg_min`, `cumsum` and `top_k`.

Source: TensorFlow Lite `reference/{arg_min_max,cumsum}.h`, TFLM `micro/kernels/cumsum.cc`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange
from glowmcu.ir.types import ElementType, Quantization, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.broadcasting import expect_quantized, largest_offset
from glowmcu.ops.fixed_point import (
    INT32_MAX,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    saturate,
    wrap_int32,
)
from glowmcu.ops.quantization import Requantize
from glowmcu.ops.reduction import is_plain
from glowmcu.ops.registry import operation


def _check_axis(axis: int, x: TensorType) -> None:
    if not 0 <= axis < x.rank:
        raise OperationError(f"axis {axis} is not in {x.shape}")


@dataclass(frozen=True)
class ArgExtreme(Operation):
    """Base: the position along `axis` of an extreme element, of any type: of several equal ones the
    first, or with `last` the last.
    """

    chooses = True

    axis: int = 0
    last: bool = False

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        _check_axis(self.axis, x)
        if x.shape[self.axis] == 0:
            raise OperationError(f"axis {self.axis} of {x.shape} has no elements")
        return ((*x.shape[: self.axis], *x.shape[self.axis + 1 :]),)

    def verify(self, signature: Signature) -> None:
        if signature.output.element not in (ElementType.I32, ElementType.I64):
            raise OperationError(f"expected an i32 or i64 result, got {signature.output}")

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule()

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x = np.flip(inputs[0], self.axis) if self.last else inputs[0]
        found = self._find(x)
        found = x.shape[self.axis] - 1 - found if self.last else found
        return (np.asarray(found, signature.output.element.numpy),)

    def _find(self, x: Array) -> Array:
        """Positions of the first extreme elements."""
        raise AssertionError(f"{self.name} finds nothing")


@operation("arg_max")
class ArgMax(ArgExtreme):
    """Where the largest element is."""

    def _find(self, x: Array) -> Array:
        return np.asarray(x.argmax(self.axis))


@operation("arg_min")
class ArgMin(ArgExtreme):
    """Where the smallest element is."""

    def _find(self, x: Array) -> Array:
        return np.asarray(x.argmin(self.axis))


def has_plain_sums(x: TensorType) -> bool:
    """Whether numbers of the type are added as they are: real ones, and integers without a zero
    point that have room for sums.
    """
    return is_plain(x) or (x.element is ElementType.I32 and x.zero_point == 0)


#: Fraction bits of the running sum: its inputs are shifted by 20 and halved.
CUMSUM_FRACTION_BITS = 19
#: Of exact sums.
_TOTAL_FRACTION_BITS = 8


@operation("cumsum")
@dataclass(frozen=True)
class CumSum(Operation):
    """Running sums along `axis`: of the elements up to here, without this one if `exclusive`, from
    the end if `reverse`.

    As in TFLM the sum of int8 starts at -x_zp (not at 0) and is an int32 with 19 fraction bits that
    wraps: exact for 16 elements of any value, for more where the sums stay below 4096 steps. Those
    that are `exact` start at 0 and are, of int8 and int16. Real numbers are added one by one in
    float32; plain int32 and int64 wrap, as does int32 of one scale without a zero point.
    """

    axis: int = 0
    exclusive: bool = False
    reverse: bool = False
    exact: bool = False

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        _check_axis(self.axis, inputs[0])
        return (inputs[0].shape,)

    def verify(self, signature: Signature) -> None:
        x, out = signature.inputs[0], signature.output
        if has_plain_sums(x) and has_plain_sums(out) and x.with_shape(out.shape) == out:
            return
        if self.exact:
            self._verify_exact(x, out)
            return
        for type_ in (x, out):
            if type_.element is not ElementType.I8 or type_.quantization is None:
                raise OperationError(f"expected quantized i8, got {type_}")
        if self.real_scale(signature) >= 1.0:
            raise OperationError(
                f"the scale of {signature.inputs[0]} must be less than 2^19 times the result's"
            )

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        return (0,)

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        """None where the int8 form has another zero and wraps, see above."""
        return QuantizationRule() if self.exact else None

    def total_type(self, x: TensorType) -> TensorType:
        """Of the exact sums of stored numbers, with bits of a fraction where there is room: a
        change of scale would round small numbers twice.
        """
        room = INT32_MAX // max(x.shape[self.axis] * largest_offset(x), 1)
        bits = min(room.bit_length() - 1, _TOTAL_FRACTION_BITS)
        if bits < 0:
            raise OperationError(f"sums of {x} leave int32")
        return TensorType(x.shape, ElementType.I32, Quantization((x.scale / 2**bits,), (0,)))

    def _verify_exact(self, x: TensorType, out: TensorType) -> None:
        expect_quantized((x, out), ElementType.I8, ElementType.I16)
        total = self.total_type(x)
        for source, result in ((x, total), (total, out)):
            Requantize().verify(Signature((source,), (result,)))

    def real_scale(self, signature: Signature) -> float:
        """Running sum to output scale."""
        scale = 2.0 * signature.inputs[0].scale
        return scale / (float(2 ** (CUMSUM_FRACTION_BITS + 1)) * signature.output.scale)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, out = signature.inputs[0], signature.output
        if has_plain_sums(x):
            return (self._sums(inputs[0]),)
        if self.exact:
            total = self.total_type(x)
            offsets = Requantize().evaluate(inputs, Signature((x,), (total,)), rounding)
            sums = self._sums(offsets[0])
            return Requantize().evaluate((sums,), Signature((total,), (out,)), rounding)
        sums = self._sums(inputs[0].astype(np.int64) - x.zero_point) - x.zero_point
        wrapped = wrap_int32(sums << CUMSUM_FRACTION_BITS)
        multiplier, shift = quantize_multiplier(self.real_scale(signature))
        scaled = multiply_by_quantized_multiplier(wrapped, multiplier, shift, rounding)
        return (saturate(scaled + out.zero_point, *out.element.limits, dtype=np.int8),)

    def _sums(self, x: Array) -> Array:
        ordered = np.flip(x, self.axis) if self.reverse else x
        if self.exclusive:
            begin = np.zeros_like(ordered.take([0], self.axis))
            kept = ordered.take(range(ordered.shape[self.axis] - 1), self.axis)
            ordered = np.concatenate([begin, kept], self.axis)
        sums = np.cumsum(ordered, self.axis, dtype=x.dtype)
        return np.flip(sums, self.axis) if self.reverse else sums


@operation("top_k")
@dataclass(frozen=True)
class TopK(Operation):
    """The `count` largest elements along `axis` (the smallest unless `largest`), best first, and
    their positions as i32 or i64. Of equal elements the first comes first.
    """

    chooses = True

    axis: int = 0
    count: int = 1
    largest: bool = True

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        _check_axis(self.axis, x)
        if not 1 <= self.count <= x.shape[self.axis]:
            raise OperationError(f"cannot take {self.count} elements along axis {self.axis} of {x}")
        shape = (*x.shape[: self.axis], self.count, *x.shape[self.axis + 1 :])
        return (shape, shape)

    def verify(self, signature: Signature) -> None:
        x, (values, positions) = signature.inputs[0], signature.outputs
        if (x.element, x.quantization) != (values.element, values.quantization):
            raise OperationError(f"expected values quantized as {x}, got {values}")
        if positions.element not in (ElementType.I32, ElementType.I64):
            raise OperationError(f"expected positions as i32 or i64, got {positions}")

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule(result=ResultRange.SAME)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, last = inputs[0], inputs[0].shape[self.axis] - 1
        if self.largest:
            ascending = np.flip(x, self.axis).argsort(self.axis, kind="stable")
            order = last - np.flip(ascending, self.axis)
        else:
            order = x.argsort(self.axis, kind="stable")
        best = order.take(range(self.count), self.axis)
        values = np.take_along_axis(x, best, self.axis)
        return (values, best.astype(signature.outputs[1].element.numpy))
