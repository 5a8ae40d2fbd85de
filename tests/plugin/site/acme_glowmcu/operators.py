"""`acme.maximum_3`: the largest of three int8 elements; the chip has an instruction for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ops.registry import operation


@operation("acme.maximum_3")
@dataclass(frozen=True)
class Maximum3(Operation):
    """Operands and result have one shape; stored values are compared as they are."""

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        if len(inputs) != 3 or len({x.shape for x in inputs}) != 1:
            raise OperationError(f"expected three operands of one shape, got {len(inputs)}")
        return (inputs[0].shape,)

    def verify(self, signature: Signature) -> None:
        if any(x.element is not ElementType.I8 for x in (*signature.inputs, *signature.outputs)):
            raise OperationError("expected i8")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (np.max(np.stack(inputs), axis=0),)
