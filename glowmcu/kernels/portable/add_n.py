"""One element of `add_n` in C, for loops and stacks."""

from __future__ import annotations

from glowmcu.ir.operation import Signature
from glowmcu.kernels.common.element_code import ElementCode, element_code
from glowmcu.kernels.kernel import Field, Parameters
from glowmcu.ops.add_n import AddN


@element_code(AddN)
def add_n_code(op: AddN, signature: Signature) -> ElementCode:
    multiplier, shift = op.output_scale(signature)
    fields = (
        Field("zero_points", op.zero_points(signature)),
        Field("out_multiplier", multiplier),
        Field("out_shift", shift),
        Field("out_zero_point", signature.output.zero_point),
    )
    operands = " + ".join(f"{{{position}}}" for position in range(len(signature.inputs)))
    return ElementCode(
        f"glowmcu_add_n_one({{p}}, {operands})",
        14.0 + len(signature.inputs),
        60 + 2 * len(signature.inputs),
        ("glowmcu_add_n.h",),
        Parameters("glowmcu_add_n", fields),
    )
