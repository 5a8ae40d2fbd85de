"""One angle in C."""

from __future__ import annotations

from glowmcu.ir.operation import Signature
from glowmcu.kernels.common.element_code import ElementCode, element_code
from glowmcu.ops.angle import Atan2


@element_code(Atan2)
def atan2_code(op: Atan2, signature: Signature) -> ElementCode:
    """Cycles: of `glowmcu_atanf` (55), a division and the comparisons."""
    return ElementCode("glowmcu_atan2f({0}, {1})", 90, 348, ("glowmcu_atan2f.h",))
