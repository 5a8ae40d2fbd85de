"""`copy`: the same elements in memory of their own. Made by lowering where memory must differ."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import Shape, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.ops.registry import operation


@operation("copy")
class Copy(Operation):
    """One operand of any type; unlike a reshape its result is never the operand's bytes."""

    keeps_bits = True

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        (x,) = inputs
        return (x.shape,)

    def verify(self, signature: Signature) -> None:
        if signature.inputs[0] != signature.output:
            raise OperationError(f"expected a result like {signature.inputs[0]}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (inputs[0].copy(),)

    def output_ranges(
        self,
        inputs: Sequence[ValueRange | None],
        constants: Sequence[Array | None],
        signature: Signature,
        rounding: Rounding,
    ) -> tuple[ValueRange | None, ...]:
        return (inputs[0],)
