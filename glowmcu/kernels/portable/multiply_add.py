"""One multiplication and addition in C."""

from __future__ import annotations

from glowmcu.ir.operation import Signature
from glowmcu.kernels.common.element_code import ElementCode, element_code
from glowmcu.ops.multiply_add import MultiplyAdd


@element_code(MultiplyAdd)
def multiply_add_code(op: MultiplyAdd, signature: Signature) -> ElementCode:
    """Two instructions where there is an FPU."""
    return ElementCode("({0} * {1} + {2})", 3, 12)
