"""Kernels of table lookups."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Signature
from glowmcu.kernels.common.element_code import ElementCode, element_code
from glowmcu.kernels.common.overlap import element_overlaps
from glowmcu.kernels.kernel import (
    ConstantArray,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.ops.lookup import Lookup, all_values


@element_code(Lookup)
def lookup_code(op: Lookup, signature: Signature) -> ElementCode:
    clamp = _clamp(op, signature)
    if clamp is not None:
        expression = f"glowmcu_clamp({{0}}, {clamp[0]}, {clamp[1]})"
        return ElementCode(expression, 2, 8, ("glowmcu_requantize.h",))
    table = ConstantArray("table", op.table, "by the operand's byte")
    return ElementCode("{t}[(uint8_t){0}]", 2, 8, table=table)


def _clamp(op: Lookup, signature: Signature) -> tuple[int, int] | None:
    """The limits of a table that does nothing but clamp."""
    (x,), out = signature.inputs, signature.output
    if x.element is not out.element:
        return None
    stored = all_values(x.element)
    low, high = int(op.table.min()), int(op.table.max())
    return (low, high) if (np.clip(stored, low, high) == op.table).all() else None


@kernel("lookup.shared", Lookup)
class SharedLookup(Kernel):
    """One loop for all tables of bytes; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return site.signature.output.element.size_bytes == 1

    def work(self, site: Site, target: Target) -> dict[str, float]:
        return {"call": 1.0, "element": site.signature.output.element_count}

    def flash_bytes(self, site: Site, target: Target) -> int:
        return 256

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, Lookup)
        table = ConstantArray("table", op.table.view(np.uint8), "by the operand's byte")
        fields = (
            Field("count", site.signature.output.element_count),
            Field("table", table),
        )
        return KernelCode(
            function="glowmcu_lookup_8",
            operands=(0,),
            header="glowmcu_lookup.h",
            overlaps=element_overlaps(site.signature),
            parameters=Parameters("glowmcu_lookup", fields),
        )
