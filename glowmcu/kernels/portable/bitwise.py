"""One element of bitwise operators in C."""

from __future__ import annotations

from glowmcu.ir.operation import Operation, Signature
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.element_code import ElementCode, element_code
from glowmcu.kernels.common.wrapping import narrowed
from glowmcu.ops.bitwise import BitwiseAnd, BitwiseNot, BitwiseOr, BitwiseXor, ShiftLeft, ShiftRight

#: Loops compute on these as they are, and on anything narrower with a sign.
_WORDS = (ElementType.UI32, ElementType.UI64)
_SYMBOLS: dict[type[Operation], str] = {BitwiseAnd: "&", BitwiseOr: "|", BitwiseXor: "^"}


@element_code(*_SYMBOLS)
def bitwise_code(op: Operation, signature: Signature) -> ElementCode:
    return ElementCode(f"({{0}} {_SYMBOLS[type(op)]} {{1}})", 1, 2)


@element_code(BitwiseNot)
def not_code(op: BitwiseNot, signature: Signature) -> ElementCode:
    return ElementCode(narrowed(signature.output.element, "~{0}"), 1, 4)


def _fits(signature: Signature) -> str:
    """Whether the count is below the type's bits; negative ones are large as unsigned."""
    unsigned = _unsigned(signature.output.element)
    return f"({unsigned}){{1}} < {8 * signature.output.element.size_bytes}u"


def _unsigned(element: ElementType) -> str:
    return "uint64_t" if element.size_bytes == 8 else "uint32_t"


@element_code(ShiftLeft)
def left_code(op: ShiftLeft, signature: Signature) -> ElementCode:
    element = signature.output.element
    shifted = narrowed(element, f"(({_unsigned(element)}){{0}} << {{1}})")
    return ElementCode(f"(({_fits(signature)}) ? {shifted} : 0)", 5, 16)


@element_code(ShiftRight)
def right_code(op: ShiftRight, signature: Signature) -> ElementCode:
    element = signature.output.element
    if op.clamped:
        return ElementCode(f"({{0}} >> {_clamped(element)})", 5, 16)
    emptied = "0" if element in _WORDS else "-({0} < 0)"
    return ElementCode(f"(({_fits(signature)}) ? ({{0}} >> {{1}}) : {emptied})", 5, 16)


def _clamped(element: ElementType) -> str:
    """The count, or the nearest of those that the type has."""
    last = 8 * element.size_bytes - 1
    below = f"(({{1}} < {last}) ? {{1}} : {last})"
    return below if element.limits[0] == 0 else f"(({{1}} < 0) ? 0 : {below})"
