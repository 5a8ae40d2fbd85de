"""What all element-wise operators share: numpy broadcasting, memory rules, checks of scales.

Every element of the result depends on the operands' elements at the same (broadcast) place alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Operation, OperationError, Rounding, RowWindow, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.ops.fixed_point import quantize_multiplier
from glowmcu.ops.ranges import enumerated, is_enumerable, unrestricted

MAX_BROADCAST_RANK = 6
_NOT_COUNTED = (ElementType.F32, ElementType.BOOL, ElementType.UI32, ElementType.UI64)

#: |value| * scale must stay below this, so that a zero point can be added in int32.
_RESULT_END = float(2**31 - 2**16)


class ElementwiseOperation(Operation):
    """Base of element-wise operators: the result has the operands' broadcast shape."""

    elementwise: ClassVar[bool] = True
    operand_count: ClassVar[int] = 1
    #: Kernels know what it does to one element, so that it can be part of a `stack`.
    stackable: ClassVar[bool] = True

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        if len(inputs) != self.operand_count:
            raise OperationError(f"expected {self.operand_count} operands, got {len(inputs)}")
        return (broadcast_shape([type_.shape for type_ in inputs]),)

    def ranges_from(
        self, known: Sequence[ValueRange], signature: Signature, rounding: Rounding
    ) -> tuple[ValueRange | None, ...]:
        if len(known) != 1 or not is_enumerable(signature.inputs[0]):
            return unrestricted(signature)
        return (enumerated(self, known[0], signature, rounding),)

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        return overwritable_operands(signature)

    def input_rows(
        self, signature: Signature, first: int, end: int
    ) -> tuple[RowWindow | None, ...]:
        return row_windows(signature, first, end)


def broadcast_shape(shapes: Sequence[Shape]) -> Shape:
    """The common shape as numpy broadcasts; OperationError when there is none."""
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError as cause:
        text = " and ".join(map(str, shapes))
        raise OperationError(f"{text} do not broadcast: sizes must be equal or 1") from cause
    if len(shape) > MAX_BROADCAST_RANK and any(other != shape for other in shapes):
        raise OperationError(f"broadcasting is limited to rank {MAX_BROADCAST_RANK}, got {shape}")
    return tuple(int(size) for size in shape)


def overwritable_operands(signature: Signature) -> tuple[int, ...]:
    """Operands with as many elements as the result and elements of the same size.

    Element i of the result is written after element i of every operand was read for the last time.
    """
    out = signature.output
    return tuple(
        position
        for position, type_ in enumerate(signature.inputs)
        if type_.element_count == out.element_count
        and type_.element.size_bytes == out.element.size_bytes
    )


def row_windows(signature: Signature, first: int, end: int) -> tuple[RowWindow | None, ...]:
    """The same rows of every NHWC operand that has all of them, else the whole operand."""
    out = signature.output
    return tuple(
        RowWindow(first, end)
        if out.rank == 4 and type_.rank == 4 and type_.shape[1] == out.shape[1]
        else None
        for type_ in signature.inputs
    )


def expect_quantized(types: Sequence[TensorType], *elements: ElementType) -> None:
    """OperationError unless all have one of `elements`, the same one, quantized per tensor."""
    names = " or ".join(element.value for element in elements)
    for type_ in types:
        if type_.element not in elements or type_.element is not types[0].element:
            got = ", ".join(map(str, types))
            raise OperationError(f"expected {names}, the same for all; got {got}")
        if type_.quantization is None or type_.quantization.per_channel:
            raise OperationError(f"expected quantization per tensor, got {type_}")


def is_plain_integer(signature: Signature) -> bool:
    """One integer type throughout, without scales: counts, masks, shapes. Results wrap.

    Spectra of 32 and 64 bits without a sign are none: no interpreter computes on them.
    """
    types = (*signature.inputs, signature.output)
    return (
        all(type_.element is types[0].element and type_.quantization is None for type_ in types)
        and types[0].element not in _NOT_COUNTED
    )


def expect_representable(what: str, largest: int, scale: float) -> None:
    """OperationError when `largest * scale` leaves int32: such scales are a converter's mistake."""
    if largest * scale >= _RESULT_END:
        raise OperationError(
            f"{what}: the output scale is so small that results leave int32 (factor {scale:.3g})"
        )


def multiplier_below_one(what: str, real: float) -> tuple[int, int]:
    """`QuantizeMultiplierSmallerThanOneExp`; OperationError where TensorFlow Lite would abort."""
    multiplier, shift = quantize_multiplier(real)
    if real <= 0.0 or real >= 1.0 or shift > 0:
        raise OperationError(f"{what} must be below 1, got {real:.6g}")
    return multiplier, shift


def largest_offset(type_: TensorType) -> int:
    """max |x - zero_point| over all stored x."""
    lowest, highest = type_.element.limits
    return max(highest - type_.zero_point, type_.zero_point - lowest)
