"""One element of int32 negation in C; int8 functions are lowered to tables."""

from __future__ import annotations

from glowmcu.ir.operation import Signature
from glowmcu.kernels.element_code import ElementCode, element_code
from glowmcu.ops.activation import Neg


@element_code(Neg)
def negation_code(op: Neg, signature: Signature) -> ElementCode:
    return ElementCode("(int32_t)(0u - (uint32_t){0})", 1, 2)
