"""Bits of plain integers: and, or, xor, not, and shifts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.broadcasting import ElementwiseOperation, is_plain_integer
from glowmcu.ops.registry import operation


def _is_word(signature: Signature) -> bool:
    """Whether all are words without a sign, on which arithmetic is refused; their bits are not."""
    types = (*signature.inputs, signature.output)
    return all(
        type_.element is types[0].element and type_.quantization is None for type_ in types
    ) and types[0].element in (ElementType.UI32, ElementType.UI64)


class _Bitwise(ElementwiseOperation):
    """Base: one integer type throughout."""

    operand_count: ClassVar[int] = 2
    function: ClassVar[Callable[..., Array]]

    def verify(self, signature: Signature) -> None:
        if not (is_plain_integer(signature) or _is_word(signature)):
            types = ", ".join(map(str, (*signature.inputs, signature.output)))
            raise OperationError(f"expected one integer type without scales, got {types}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (np.asarray(type(self).function(*inputs)),)


@operation("bitwise_and")
class BitwiseAnd(_Bitwise):
    """Bits that both have."""

    function: ClassVar[Callable[..., Array]] = np.bitwise_and


@operation("bitwise_or")
class BitwiseOr(_Bitwise):
    """Bits that at least one has."""

    function: ClassVar[Callable[..., Array]] = np.bitwise_or


@operation("bitwise_xor")
class BitwiseXor(_Bitwise):
    """Bits that one of them has."""

    function: ClassVar[Callable[..., Array]] = np.bitwise_xor


@operation("bitwise_not")
class BitwiseNot(_Bitwise):
    """Every bit turned over."""

    operand_count: ClassVar[int] = 1
    function: ClassVar[Callable[..., Array]] = np.invert


class _Shift(_Bitwise):
    """Base: a count below 0 or of all bits and more pushes every bit out."""

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        a, b = inputs
        bits = 8 * a.dtype.itemsize
        inside = (b >= 0) & (b < bits)
        count = np.where(inside, b, 0).astype(a.dtype)
        return (np.where(inside, type(self).function(a, count), self._emptied(a)),)

    def _emptied(self, a: Array) -> Array:
        """What stays when every bit is pushed out."""
        return np.zeros_like(a)


@operation("shift_left")
class ShiftLeft(_Shift):
    """a * 2^b."""

    function: ClassVar[Callable[..., Array]] = np.left_shift


@operation("shift_right")
@dataclass(frozen=True)
class ShiftRight(_Shift):
    """a / 2^b, rounded down. `clamped`: a count that the type has not is the nearest that it has
    (0, or all bits but one), as in TensorFlow Lite's `right_shift.cc`.
    """

    clamped: bool = False
    function: ClassVar[Callable[..., Array]] = np.right_shift

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        if not self.clamped:
            return super().evaluate(inputs, signature, rounding)
        a, b = inputs
        last = 8 * a.dtype.itemsize - 1
        return (np.asarray(np.right_shift(a, np.clip(b, 0, last).astype(a.dtype))),)

    def _emptied(self, a: Array) -> Array:
        return np.where(a < 0, np.invert(np.zeros_like(a)), np.zeros_like(a))
