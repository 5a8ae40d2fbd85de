"""Portable kernel of `dynamic_update_slice`: copy the tensor unless it is there, then the part."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.kernel_code import ConstantArray, KernelCode
from glowmcu.ir.types import ElementType
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.kernels.portable.movement import MAX_LOOPS, StridedCopy, coalesce
from glowmcu.ops.movement import Copy, Region, whole
from glowmcu.ops.update_slice import DynamicUpdateSlice


def _copy(site: Site) -> StridedCopy:
    """The part to the very beginning of the result."""
    x, part, _ = site.signature.inputs
    strides = [stride for _, stride in whole(x.shape).loops]
    target = Region(0, tuple(zip(part.shape, strides, strict=True)))
    return coalesce(Copy(whole(part.shape), target), x.element.size_bytes)


def _place_of_channels(site: Site) -> int | None:
    """Where in a pixel the part begins, in bytes, if it is some channels of all pixels of an image,
    always the same; else None.
    """
    (x, part, _), starts = site.signature.inputs, site.constants[2]
    if starts is None or x.rank != 4 or part.shape[:3] != x.shape[:3]:
        return None
    if part.shape[3] in (0, x.shape[3]):
        return None
    first = min(max(int(starts[3]), 0), x.shape[3] - part.shape[3])
    return first * x.element.size_bytes


@kernel("dynamic_update_slice.portable", DynamicUpdateSlice)
class PortableDynamicUpdateSlice(Kernel):
    """Any core, any element type; starts in flash or computed.

    Channels of an image whose place is known need no starts: such a layer goes row by row.
    """

    def accepts(self, site: Site, target: Target) -> bool:
        return len(_copy(site).loops) <= MAX_LOOPS

    def cost(self, site: Site, target: Target) -> Cost:
        cycles = _copy(site).cycles + 0.6 * site.signature.output.size_bytes
        return Cost(cycles, 360, 12 * len(_copy(site).loops), layer_code_bytes=80)

    def generate(self, site: Site, target: Target) -> KernelCode:
        x, part, starts = site.signature.inputs
        copy, place = _copy(site), _place_of_channels(site)
        size_bytes = x.element.size_bytes
        sizes = zip(x.shape, part.shape, whole(x.shape).loops, strict=True)
        table = ConstantArray("loops", np.array(copy.loops, np.int32), "count, in step, out step")
        view = {
            "type": x.element.c_name,
            "starts_type": starts.element.c_name,
            "wide": starts.element is ElementType.I64,
            "tensor_bytes": x.size_bytes,
            "place": place,
            "axes": [
                {"axis": axis, "last": size - count, "step": stride * size_bytes}
                for axis, (size, count, (_, stride)) in enumerate(sizes)
                if size > count
            ],
            "loops": table if copy.loops else "NULL",
            "loop_count": len(copy.loops),
            "unit_bytes": copy.unit_bytes if part.element_count else 0,
        }
        return KernelCode(
            function="",
            operands=(0, 1, 2) if place is None else (0, 1),
            header="glowmcu_update_slice.h",
            template=f"portable/update_{'slice' if place is None else 'channels'}.c.j2",
            view=view,
        )
