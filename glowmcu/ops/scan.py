"""Operators that walk along one axis: `arg_max`, `arg_min`, `cumsum` and `top_k`.

Source: TensorFlow Lite `reference/{arg_min_max,cumsum}.h`, TFLM `micro/kernels/cumsum.cc`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ops.fixed_point import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    saturate,
    wrap_int32,
)
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


#: Fraction bits of the running sum: its inputs are shifted by 20 and halved.
CUMSUM_FRACTION_BITS = 19


@operation("cumsum")
@dataclass(frozen=True)
class CumSum(Operation):
    """Running sums along `axis`: of the elements up to here, without this one if `exclusive`, from
    the end if `reverse`.

    As in TFLM the sum of int8 starts at -x_zp (not at 0) and is an int32 with 19 fraction bits that
    wraps: exact for 16 elements of any value, for more where the sums stay below 4096 steps. Real
    numbers are added one by one in float32; plain int32 and int64 wrap.
    """

    axis: int = 0
    exclusive: bool = False
    reverse: bool = False

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        _check_axis(self.axis, inputs[0])
        return (inputs[0].shape,)

    def verify(self, signature: Signature) -> None:
        x, out = signature.inputs[0], signature.output
        if is_plain(x) and is_plain(out) and x.element is out.element:
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
        """None: the int8 form has another zero and wraps, see above."""
        return None

    def real_scale(self, signature: Signature) -> float:
        """Running sum to output scale."""
        scale = 2.0 * signature.inputs[0].scale
        return scale / (float(2 ** (CUMSUM_FRACTION_BITS + 1)) * signature.output.scale)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, out = signature.inputs[0], signature.output
        if is_plain(x):
            return (self._sums(inputs[0]),)
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
