"""Operators that walk along one axis: `arg_max`, `arg_min` and `cumsum`.

Source: TensorFlow Lite `reference/{arg_min_max,cumsum}.h`, TFLM `micro/kernels/cumsum.cc`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ops.fixed_point import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    saturate,
    wrap_int32,
)
from glowmcu.ops.registry import operation


def _check_axis(axis: int, x: TensorType) -> None:
    if not 0 <= axis < x.rank:
        raise OperationError(f"axis {axis} is not in {x.shape}")


@dataclass(frozen=True)
class ArgExtreme(Operation):
    """Base: the position along `axis` of an extreme element, the first of several equal ones."""

    axis: int = 0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        _check_axis(self.axis, x)
        if x.shape[self.axis] == 0:
            raise OperationError(f"axis {self.axis} of {x.shape} has no elements")
        return ((*x.shape[: self.axis], *x.shape[self.axis + 1 :]),)

    def verify(self, signature: Signature) -> None:
        if signature.inputs[0].element is not ElementType.I8:
            raise OperationError(f"expected i8, got {signature.inputs[0]}")
        if signature.output.element not in (ElementType.I32, ElementType.I64):
            raise OperationError(f"expected an i32 or i64 result, got {signature.output}")


@operation("arg_max")
@dataclass(frozen=True)
class ArgMax(ArgExtreme):
    """Where the largest element is."""

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (np.asarray(inputs[0].argmax(self.axis), signature.output.element.numpy),)


@operation("arg_min")
@dataclass(frozen=True)
class ArgMin(ArgExtreme):
    """Where the smallest element is."""

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (np.asarray(inputs[0].argmin(self.axis), signature.output.element.numpy),)


#: Fraction bits of the running sum: its inputs are shifted by 20 and halved.
CUMSUM_FRACTION_BITS = 19


@operation("cumsum")
@dataclass(frozen=True)
class CumSum(Operation):
    """Running sums along `axis`: of the elements up to here, without this one if `exclusive`, from
    the end if `reverse`.

    As in TFLM the sum starts at -x_zp (not at 0) and is an int32 with 19 fraction bits that wraps:
    exact for 16 elements of any value, for more where the sums stay below 4096 steps.
    """

    axis: int = 0
    exclusive: bool = False
    reverse: bool = False

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        _check_axis(self.axis, inputs[0])
        return (inputs[0].shape,)

    def verify(self, signature: Signature) -> None:
        for type_ in (signature.inputs[0], signature.output):
            if type_.element is not ElementType.I8 or type_.quantization is None:
                raise OperationError(f"expected quantized i8, got {type_}")
        if self.real_scale(signature) >= 1.0:
            raise OperationError(
                f"the scale of {signature.inputs[0]} must be less than 2^19 times the result's"
            )

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        return (0,)

    def real_scale(self, signature: Signature) -> float:
        """Running sum to output scale."""
        scale = 2.0 * signature.inputs[0].scale
        return scale / (float(2 ** (CUMSUM_FRACTION_BITS + 1)) * signature.output.scale)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, out = signature.inputs[0], signature.output
        steps = inputs[0].astype(np.int64) - x.zero_point
        ordered = np.flip(steps, self.axis) if self.reverse else steps
        sums = np.cumsum(ordered, self.axis) - x.zero_point
        if self.exclusive:
            sums = sums - ordered
        sums = np.flip(sums, self.axis) if self.reverse else sums
        wrapped = wrap_int32(sums << CUMSUM_FRACTION_BITS)
        multiplier, shift = quantize_multiplier(self.real_scale(signature))
        scaled = multiply_by_quantized_multiplier(wrapped, multiplier, shift, rounding)
        return (saturate(scaled + out.zero_point, *out.element.limits, dtype=np.int8),)
