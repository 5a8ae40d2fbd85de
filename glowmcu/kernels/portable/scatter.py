"""Portable kernels of `scatter_elements` and `scatter_nd`: copy the tensor, then the updates."""

from __future__ import annotations

import math

import numpy as np

from glowmcu.ir.kernel_code import ConstantArray, KernelCode
from glowmcu.ir.types import ElementType
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.kernels.portable.gather import element_loops
from glowmcu.kernels.portable.reduction import MAX_LOOPS, loops_table
from glowmcu.ops.movement import whole
from glowmcu.ops.scatter import Combine, Scatter, ScatterElements, ScatterNd

_UNSIGNED = {ElementType.I32: "uint32_t", ElementType.I64: "uint64_t"}
_SIGNS = {Combine.ADD: "+", Combine.MUL: "*", Combine.MAX: ">", Combine.MIN: "<"}


def _combined(site: Site) -> str:
    """C of the element `old` with the update `x`."""
    op, element = site.node.op, site.signature.output.element
    assert isinstance(op, Scatter)
    if op.combine is Combine.REPLACE:
        return "x"
    sign = _SIGNS[op.combine]
    if op.combine in (Combine.MAX, Combine.MIN):
        return f"({element.c_name})((x {sign} old) ? x : old)"
    if element.is_float:
        return f"old {sign} x"
    wide = _UNSIGNED[element]
    return f"({element.c_name})(({wide})old {sign} ({wide})x)"


def _view(site: Site) -> dict[str, object]:
    x, op = site.signature.inputs[0], site.node.op
    assert isinstance(op, Scatter)
    return {
        "type": x.element.c_name,
        "tensor_bytes": x.size_bytes,
        "replaces": op.combine is Combine.REPLACE,
        "combined": _combined(site),
    }


@kernel("scatter_elements.portable", ScatterElements)
class PortableScatterElements(Kernel):
    """Any core, any element type; indices in flash or computed."""

    def accepts(self, site: Site, target: Target) -> bool:
        op, (x, indices, _) = site.node.op, site.signature.inputs
        assert isinstance(op, ScatterElements)
        return len(element_loops(x.shape, indices.shape, op.axis)) <= MAX_LOOPS

    def cost(self, site: Site, target: Target) -> Cost:
        x, _, updates = site.signature.inputs
        return Cost(0.6 * x.size_bytes + 35.0 * updates.element_count, 150, 40)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, (x, indices, _) = site.node.op, site.signature.inputs
        assert isinstance(op, ScatterElements)
        loops = element_loops(x.shape, indices.shape, op.axis)
        view = {
            **_view(site),
            "length": x.shape[op.axis],
            "step": whole(x.shape).loops[op.axis][1],
            "loops": loops_table(loops),
            "loop_count": len(loops),
            "updates": indices.element_count,
        }
        return KernelCode(
            function="",
            operands=(0, 1, 2),
            header="glowmcu_scatter.h",
            template="portable/scatter_elements.c.j2",
            view=view,
        )


@kernel("scatter_nd.portable", ScatterNd)
class PortableScatterNd(Kernel):
    """Any core, any element type; indices in flash or computed."""

    def cost(self, site: Site, target: Target) -> Cost:
        x, indices, updates = site.signature.inputs
        cycles = 0.6 * x.size_bytes + 12.0 * indices.element_count + 6.0 * updates.element_count
        return Cost(cycles, 150, 4 * indices.shape[-1])

    def generate(self, site: Site, target: Target) -> KernelCode:
        x, indices, _ = site.signature.inputs
        depth = indices.shape[-1]
        view = {
            **_view(site),
            "count": math.prod(indices.shape[:-1]),
            "depth": depth,
            "sizes": ConstantArray("sizes", np.array(x.shape[:depth], np.int32)),
            "slice": math.prod(x.shape[depth:]),
        }
        return KernelCode(
            function="",
            operands=(0, 1, 2),
            header="glowmcu_scatter.h",
            template="portable/scatter_nd.c.j2",
            view=view,
        )
