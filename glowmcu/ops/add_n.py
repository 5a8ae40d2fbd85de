"""`add_n`: many int8 tensors of one scale and zero point, added in one go.

out = clamp(requantize(2^19 * (sum of x - (n + 1) * zero_point)) + out_zp): the reference kernel
begins with a stored 0, so that a zero point is taken off once more than there are operands.
Source: TensorFlow Lite `reference/add_n.h`, `micro/kernels/add_n.cc`. Real numbers need no operator
of their own: they are added one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.ops.broadcasting import (
    ElementwiseOperation,
    broadcast_shape,
    expect_quantized,
    expect_representable,
    largest_offset,
    multiplier_below_one,
)
from glowmcu.ops.fixed_point import multiply_by_quantized_multiplier, saturate, wrap_int32
from glowmcu.ops.ranges import at_corners, unrestricted
from glowmcu.ops.registry import operation

#: An operand becomes its half of 20 bits more, which is exact.
SHIFT = 19
#: A function of C has a pointer for each.
MOST_OPERANDS = 64


@operation("add_n")
class AddN(ElementwiseOperation):
    """Two operands or more. A sum that leaves int32 wraps, as it does in the reference kernel: with
    sixteen operands or more one may.
    """

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        if not 2 <= len(inputs) <= MOST_OPERANDS:
            raise OperationError(f"expected 2 to {MOST_OPERANDS} operands, got {len(inputs)}")
        return (broadcast_shape([type_.shape for type_ in inputs]),)

    def verify(self, signature: Signature) -> None:
        first = signature.inputs[0]
        expect_quantized((*signature.inputs, signature.output), ElementType.I8)
        for type_ in signature.inputs[1:]:
            if type_.quantization != first.quantization:
                raise OperationError(f"operands must share scale and zero point: {first}; {type_}")
        largest = min(self._largest_sum(signature) << SHIFT, 2**31)
        expect_representable("add_n", largest, self._real(signature))
        self.output_scale(signature)

    def _real(self, signature: Signature) -> float:
        twice = 2.0 * signature.inputs[0].scale
        return twice / (2.0 ** (SHIFT + 1) * signature.output.scale)

    def output_scale(self, signature: Signature) -> tuple[int, int]:
        """Multiplier and shift that take the sum to the result's scale."""
        return multiplier_below_one("the output multiplier", self._real(signature))

    def zero_points(self, signature: Signature) -> int:
        """What is taken off the sum of stored values."""
        return (len(signature.inputs) + 1) * signature.inputs[0].zero_point

    def _largest_sum(self, signature: Signature) -> int:
        return (len(signature.inputs) + 1) * largest_offset(signature.inputs[0])

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        total = np.asarray(-self.zero_points(signature), np.int64)
        for values in inputs:
            total = total + values
        multiplier, shift = self.output_scale(signature)
        scaled = wrap_int32(total << SHIFT)
        out = multiply_by_quantized_multiplier(scaled, multiplier, shift, rounding)
        return (saturate(out + signature.output.zero_point, -128, 127, dtype=np.dtype(np.int8)),)

    def ranges_from(
        self, known: Sequence[ValueRange], signature: Signature, rounding: Rounding
    ) -> tuple[ValueRange | None, ...]:
        if self._largest_sum(signature) << SHIFT >= 2**31:
            return unrestricted(signature)
        corners = [tuple(range_.low for range_ in known), tuple(range_.high for range_ in known)]
        return (at_corners(self, corners, signature, rounding),)
