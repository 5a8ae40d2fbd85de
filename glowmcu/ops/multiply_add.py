"""`multiply_add`: a * b + c on real numbers, in two roundings. Made where gradients descend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, Rounding, Signature
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.broadcasting import ElementwiseOperation
from glowmcu.ops.real import verify_float
from glowmcu.ops.registry import operation


@operation("multiply_add")
@dataclass(frozen=True)
class MultiplyAdd(ElementwiseOperation):
    """Operands a, b, c of float32. `updated` is the operand that is a state's old value, of which
    the result is the new one.
    """

    operand_count: ClassVar[int] = 3
    updated: int = 2

    def verify(self, signature: Signature) -> None:
        verify_float(signature)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        a, b, c = inputs
        with np.errstate(all="ignore"):
            return (np.asarray(a * b + c, np.float32),)

    def updates(self, signature: Signature) -> Mapping[int, int]:
        """Element i is written after element i of each operand was read."""
        same = signature.inputs[self.updated] == signature.output
        return {0: self.updated} if same else {}
