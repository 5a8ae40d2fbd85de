"""Comparisons of two tensors, logic on bool, and `select`.

Quantized operands are compared on a common scale: (x - zp) * 2^8 times the tensor's own scale,
rounded. That merges neighbours of int16, whose order LiteRT takes from what is stored: it is found
on the scale of a sum here, which keeps all of them apart.
Source: TensorFlow Lite `reference/comparisons.h`, TensorFlow Lite Micro `comparisons.cc`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.quantization_rule import QuantizationRule
from glowmcu.ir.types import ElementType
from glowmcu.ir.value_range import ValueRange
from glowmcu.ops.broadcasting import (
    ElementwiseOperation,
    expect_quantized,
    multiplier_below_one,
)
from glowmcu.ops.elementwise import CommonScale, Scale
from glowmcu.ops.ranges import joined
from glowmcu.ops.registry import operation

_LEFT_SHIFT = 8
_FINE_LEFT_SHIFT = 15


class Comparison(ElementwiseOperation):
    """Two operands of one element type; the result is bool. `symbol` is C's operator."""

    operand_count: ClassVar[int] = 2
    symbol: ClassVar[str] = ""
    is_order: ClassVar[bool] = True
    compares_bool: ClassVar[bool] = False

    def is_scaled(self, signature: Signature) -> bool:
        """Whether the operands are quantized, so that their scales matter."""
        plain = (ElementType.I32, ElementType.I64)
        return any(
            type_.quantization is not None and type_.element not in plain
            for type_ in signature.inputs
        )

    def common_scale(self, signature: Signature) -> CommonScale:
        """Constants of the quantized form; OperationError where TensorFlow Lite aborts."""
        is_fine = self.is_order and signature.inputs[0].element is ElementType.I16
        unit = 2.0 * max(type_.scale for type_ in signature.inputs) if is_fine else 1.0
        a, b = (
            Scale(*multiplier_below_one("the scale of a compared tensor", type_.scale / unit))
            for type_ in signature.inputs
        )
        return CommonScale(_FINE_LEFT_SHIFT if is_fine else _LEFT_SHIFT, a, b, Scale(0, 0))

    def verify(self, signature: Signature) -> None:
        a, b = signature.inputs
        if signature.output.element is not ElementType.BOOL:
            raise OperationError(f"a comparison gives bool, got {signature.output}")
        if a.element is not b.element:
            raise OperationError(f"expected one element type for both, got {a} and {b}")
        if self.is_scaled(signature):
            expect_quantized((a, b), ElementType.I8, ElementType.I16)
            self.common_scale(signature)
        elif a.element is ElementType.BOOL and not self.compares_bool:
            raise OperationError(f"comparing {a.element.value} is not supported")

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule((0, 1))

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        a, b = inputs
        if self.is_scaled(signature):
            a, b = self.common_scale(signature).rescale(inputs, signature, rounding)
        return (np.asarray(self._compare(a, b)),)

    def _compare(self, a: Array, b: Array) -> Array:
        raise AssertionError(f"{self.name} compares nothing")


@operation("equal")
class Equal(Comparison):
    """a == b."""

    symbol: ClassVar[str] = "=="
    is_order: ClassVar[bool] = False
    compares_bool: ClassVar[bool] = True

    def _compare(self, a: Array, b: Array) -> Array:
        return np.equal(a, b)


@operation("not_equal")
class NotEqual(Comparison):
    """a != b."""

    symbol: ClassVar[str] = "!="
    is_order: ClassVar[bool] = False
    compares_bool: ClassVar[bool] = True

    def _compare(self, a: Array, b: Array) -> Array:
        return np.not_equal(a, b)


@operation("greater")
class Greater(Comparison):
    """a > b."""

    symbol: ClassVar[str] = ">"

    def _compare(self, a: Array, b: Array) -> Array:
        return np.greater(a, b)


@operation("greater_equal")
class GreaterEqual(Comparison):
    """a >= b."""

    symbol: ClassVar[str] = ">="

    def _compare(self, a: Array, b: Array) -> Array:
        return np.greater_equal(a, b)


@operation("less")
class Less(Comparison):
    """a < b."""

    symbol: ClassVar[str] = "<"

    def _compare(self, a: Array, b: Array) -> Array:
        return np.less(a, b)


@operation("less_equal")
class LessEqual(Comparison):
    """a <= b."""

    symbol: ClassVar[str] = "<="

    def _compare(self, a: Array, b: Array) -> Array:
        return np.less_equal(a, b)


class _Logical(ElementwiseOperation):
    """bool operands, bool result."""

    def verify(self, signature: Signature) -> None:
        for type_ in (*signature.inputs, signature.output):
            if type_.element is not ElementType.BOOL:
                raise OperationError(f"expected bool, got {type_}")


@operation("logical_and")
class LogicalAnd(_Logical):
    """Both."""

    operand_count: ClassVar[int] = 2

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (np.asarray(np.logical_and(inputs[0], inputs[1])),)


@operation("logical_or")
class LogicalOr(_Logical):
    """At least one."""

    operand_count: ClassVar[int] = 2

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (np.asarray(np.logical_or(inputs[0], inputs[1])),)


@operation("logical_xor")
class LogicalXor(_Logical):
    """One of them, not both."""

    operand_count: ClassVar[int] = 2

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (np.asarray(np.logical_xor(inputs[0], inputs[1])),)


@operation("logical_not")
class LogicalNot(_Logical):
    """The opposite."""

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (np.asarray(np.logical_not(inputs[0])),)


@operation("select")
class Select(ElementwiseOperation):
    """Operands condition (bool), a, b: a where the condition holds, else b, as they are stored."""

    operand_count: ClassVar[int] = 3

    def verify(self, signature: Signature) -> None:
        condition, a, b = signature.inputs
        if condition.element is not ElementType.BOOL:
            raise OperationError(f"the condition must be bool, got {condition}")
        if not a.element is b.element is signature.output.element:
            got = f"{a}, {b} and {signature.output}"
            raise OperationError(f"expected one element type for both and the result, got {got}")

    def quantization_rule(self, signature: Signature) -> QuantizationRule | None:
        return QuantizationRule((1, 2), unified=True)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        condition, a, b = inputs
        return (np.where(condition, a, b),)

    def ranges_from(
        self, known: Sequence[ValueRange], signature: Signature, rounding: Rounding
    ) -> tuple[ValueRange | None, ...]:
        return (joined(known[1], known[2], signature.output),)
