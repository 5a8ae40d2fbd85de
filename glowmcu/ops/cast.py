"""`cast`: stored values of one element type as those of another; quantization plays no part.

Integers wrap, as C conversions do on every machine that matters. Real values are cut towards zero
and saturate (not-a-number becomes 0), where C and the reference kernel leave the result undefined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.ops.ranges import enumerated, is_enumerable, unrestricted
from glowmcu.ops.registry import operation


@operation("cast")
class Cast(Operation):
    """To the result's element type. Free if that is the operand's, but for the sign."""

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        return (x.shape,)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        element = signature.output.element
        if element is ElementType.BOOL:
            return (inputs[0] != 0,)
        if element.is_float or not signature.inputs[0].element.is_float:
            return (inputs[0].astype(element.numpy),)
        lowest, highest = element.limits
        wide = np.trunc(np.nan_to_num(inputs[0].astype(np.float64), nan=0.0))
        inside = (wide > lowest) & (wide < highest)  # float64 rounds the limits of int64 outwards
        whole = np.where(inside, wide, 0.0).astype(element.numpy)
        result = np.where(inside, whole, np.where(wide > 0, highest, lowest))
        return (result.astype(element.numpy),)

    def ranges_from(
        self, known: Sequence[ValueRange], signature: Signature, rounding: Rounding
    ) -> tuple[ValueRange | None, ...]:
        if not is_enumerable(signature.inputs[0]):
            return unrestricted(signature)
        return (enumerated(self, known[0], signature, rounding),)

    def aliases(self, signature: Signature) -> Mapping[int, int]:
        x, out = signature.inputs[0].element, signature.output.element
        return {0: 0} if x is out or _has_same_bits(x, out) else {}


def _has_same_bits(x: ElementType, out: ElementType) -> bool:
    """Integers with and without a sign."""
    kinds = {x.numpy.kind, out.numpy.kind}
    return kinds <= {"i", "u"} and x.size_bytes == out.size_bytes


@operation("bitcast")
class BitCast(Operation):
    """The same bits as elements of another type of the same size: a view."""

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        return (x.shape,)

    def verify(self, signature: Signature) -> None:
        x, out = signature.inputs[0], signature.output
        if x.element.size_bytes != out.element.size_bytes:
            raise OperationError(f"expected elements of one size, got {x} and {out}")
        if out.element is ElementType.BOOL is not x.element:
            raise OperationError("a bool has no other bits than 0 and 1")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (inputs[0].view(signature.output.element.numpy),)

    def aliases(self, signature: Signature) -> Mapping[int, int]:
        return {0: 0}
