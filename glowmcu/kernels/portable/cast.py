"""Portable kernel of `cast`: one loop, its conversion written out for the two types."""

from __future__ import annotations

from glowmcu.ir.kernel_code import KernelCode
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.overlap import element_overlaps
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.ops.cast import Cast

_LEAST = {ElementType.I32: "INT32_MIN", ElementType.I64: "INT64_MIN"}
_MOST = {
    ElementType.I64: "INT64_MAX",
    ElementType.UI32: "UINT32_MAX",
    ElementType.UI64: "UINT64_MAX",
}


def conversion(source: ElementType, target: ElementType, x: str) -> str:
    """C expression of element `x` as `target`; see `ops/cast.py` for what it means."""
    if target is ElementType.BOOL:
        return f"({target.c_name})({x} != 0)"
    if target.is_float or not source.is_float:
        return f"({target.c_name}){x}"
    lowest, highest = target.limits
    low, end = f"{float(lowest)}f", f"{float(highest + 1)}f"
    least = _LEAST.get(target, str(lowest))
    most = _MOST.get(target, str(highest))
    # Not-a-number fails every comparison and ends at 0.
    inside = f"({x} < {end} ? ({target.c_name}){x} : {most})"
    return f"({target.c_name})({x} >= {low} ? {inside} : ({x} < {low} ? {least} : 0))"


@kernel("cast.portable", Cast)
class PortableCast(Kernel):
    """A loop of the layer's own; any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        x, out = site.signature.inputs[0], site.signature.output
        soft_float = x.element.is_float or out.element.is_float
        return Cost((30.0 if soft_float else 5.0) * out.element_count, 0, layer_code_bytes=40)

    def generate(self, site: Site, target: Target) -> KernelCode:
        source, out = site.signature.inputs[0].element, site.signature.output
        view = {
            "from_type": source.c_name,
            "to_type": out.element.c_name,
            "elements": out.element_count,
            "expression": conversion(source, out.element, "in[i]"),
        }
        return KernelCode(
            function="",
            operands=(0,),
            template="portable/cast.c.j2",
            view=view,
            overlaps=element_overlaps(site.signature),
        )
