"""`dynamic_update_slice`: a tensor with a part of it replaced, at a place that is computed.

The place is moved until the part is inside of the tensor: no start can make the generated code
write beyond it. Source: TensorFlow Lite Micro's `kernels/dynamic_update_slice.cc`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, RowWindow, Signature
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.ops.ranges import joined, unrestricted
from glowmcu.ops.registry import operation


@operation("dynamic_update_slice")
class DynamicUpdateSlice(Operation):
    """Operands: the tensor, the part, and where it starts along each axis, i32 or i64."""

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, part, starts = inputs
        if x.rank == 0 or starts.shape != (x.rank,):
            raise OperationError(f"expected a start for each axis of {x.shape}, got {starts}")
        if part.rank != x.rank or np.greater(part.shape, x.shape).any():
            raise OperationError(f"a part of {part.shape} does not fit into {x.shape}")
        return (x.shape,)

    def verify(self, signature: Signature) -> None:
        x, part, starts = signature.inputs
        if starts.element not in (ElementType.I32, ElementType.I64):
            raise OperationError(f"expected starts of i32 or i64, got {starts}")
        if not x.element is part.element is signature.output.element:
            raise OperationError(f"expected a part and a result like {x}, got {part}")

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule((0, 1), result=ResultRange.SAME, unified=True)

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        return (0,)

    def updates(self, signature: Signature) -> Mapping[int, int]:
        return {0: 0}

    def input_rows(
        self, signature: Signature, first: int, end: int
    ) -> tuple[RowWindow | None, ...]:
        """Row for row where the part has all rows: no start moves it along them."""
        x, part, _ = signature.inputs
        if x.rank < 2 or part.shape[1] != x.shape[1]:
            return None, None, None
        return RowWindow(first, end), RowWindow(first, end), None

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, part, starts = inputs
        room = np.array(x.shape, np.int64) - np.array(part.shape, np.int64)
        places = np.clip(starts.astype(np.int64), 0, room)
        result = x.copy()
        ends = zip(places, part.shape, strict=True)
        result[tuple(slice(int(place), int(place) + size) for place, size in ends)] = part
        return (result,)

    def output_ranges(
        self,
        inputs: Sequence[ValueRange | None],
        constants: Sequence[Array | None],
        signature: Signature,
        rounding: Rounding,
    ) -> tuple[ValueRange | None, ...]:
        x, part = inputs[:2]
        out = signature.output
        if x is None or part is None or signature.inputs[1].shape[-1] != out.shape[-1]:
            return unrestricted(signature)
        return (joined(x, part, out),)
