"""Operators that join tensors: `concatenation`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, RowWindow, Signature
from glowmcu.ir.types import Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.movement import Copy, Movement, whole
from glowmcu.ops.registry import operation


@operation("concatenation")
@dataclass(frozen=True)
class Concatenation(Movement):
    """The operands one behind the other along `axis`, all in the result's quantization.

    Along the outermost axis longer than 1 every operand is an unbroken piece of the result.
    """

    axis: int = 0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        if not inputs:
            raise OperationError("nothing to concatenate")
        first = inputs[0].shape
        if not 0 <= self.axis < len(first):
            raise OperationError(f"axis {self.axis} is not in {first}")
        head, tail = first[: self.axis], first[self.axis + 1 :]
        for x in inputs:
            if (x.shape[: self.axis], x.shape[self.axis + 1 :]) != (head, tail):
                raise OperationError(
                    f"{first} and {x.shape} differ in another axis than {self.axis}"
                )
        return ((*head, sum(x.shape[self.axis] for x in inputs), *tail),)

    def verify(self, signature: Signature) -> None:
        super().verify(signature)
        out = signature.output
        for x in signature.inputs:
            if x.quantization != out.quantization:
                raise OperationError(f"expected operands quantized as {out}, got {x}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (np.concatenate(inputs, self.axis),)

    def input_rows(
        self, signature: Signature, first: int, end: int
    ) -> tuple[RowWindow | None, ...]:
        """Along columns or channels of images: the same rows of each operand."""
        window = RowWindow(first, end) if self.axis > 1 else None
        return (window,) * len(signature.inputs)

    def copies(self, signature: Signature) -> tuple[Copy, ...]:
        copies, start = [], 0
        for operand, type_ in enumerate(signature.inputs):
            size = type_.shape[self.axis]
            target = whole(signature.output.shape).along(self.axis, start, size)
            copies.append(Copy(whole(type_.shape), target, operand))
            start += size
        return tuple(copies)
