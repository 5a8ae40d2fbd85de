"""Operators that move elements without computing: `reshape`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange
from glowmcu.ir.types import Shape, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.ranges import at_extremes
from glowmcu.ops.registry import operation


@operation("reshape")
@dataclass(frozen=True)
class Reshape(Operation):
    """The same elements in C order under another shape; costs nothing."""

    keeps_bits = True
    shape: tuple[int, ...] = ()

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        if math.prod(self.shape) != x.element_count:
            raise OperationError(f"cannot reshape {x.shape} to {self.shape}: sizes differ")
        return (self.shape,)

    def verify(self, signature: Signature) -> None:
        x, out = signature.inputs[0].element, signature.output.element
        if x is not out:
            raise OperationError(f"expected one element type, got {x.value} and {out.value}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (inputs[0].reshape(self.shape),)

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule(result=ResultRange.SAME)

    def ranges_from(
        self, known: Sequence[ValueRange], signature: Signature, rounding: Rounding
    ) -> tuple[ValueRange | None, ...]:
        if signature.inputs[0].shape[-1:] == self.shape[-1:]:
            return (known[0],)
        return at_extremes(self, known, signature, rounding)

    def aliases(self, signature: Signature) -> Mapping[int, int]:
        return {0: 0}
