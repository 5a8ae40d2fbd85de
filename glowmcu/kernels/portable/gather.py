"""Portable kernels of `gather`, `gather_nd` and `gather_elements`: a memcpy a slice, indices
clamped.
"""

from __future__ import annotations

import math

import numpy as np

from glowmcu.ir.kernel_code import ConstantArray, Field, KernelCode, Parameters
from glowmcu.ir.types import Shape
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.kernels.portable.reduction import MAX_LOOPS, coalesced, loops_table
from glowmcu.ops.gather import Gather, GatherElements, GatherNd
from glowmcu.ops.movement import Loop, whole


def _cost(slices: int, slice_bytes: int, code_bytes: int) -> Cost:
    return Cost(slices * (35.0 + 0.6 * slice_bytes), code_bytes, 20)


@kernel("gather.portable", Gather)
class PortableGather(Kernel):
    """Any core, any element type; indices in flash or computed."""

    def cost(self, site: Site, target: Target) -> Cost:
        slice_bytes = _gather_slice_bytes(site)
        slices = site.signature.output.size_bytes // max(slice_bytes, 1)
        return _cost(slices, slice_bytes, 110)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, Gather)
        x, indices = site.signature.inputs
        fields = (
            Field("batches", math.prod(x.shape[: op.batch_dims])),
            Field("outer", math.prod(x.shape[op.batch_dims : op.axis])),
            Field("length", x.shape[op.axis]),
            Field("slice_bytes", _gather_slice_bytes(site)),
            Field("index_count", math.prod(indices.shape[op.batch_dims :])),
        )
        return KernelCode(
            function="glowmcu_gather_slices",
            operands=(0, 1),
            header="glowmcu_gather.h",
            parameters=Parameters("glowmcu_gather", fields),
        )


def _gather_slice_bytes(site: Site) -> int:
    op, x = site.node.op, site.signature.inputs[0]
    assert isinstance(op, Gather)
    return math.prod(x.shape[op.axis + 1 :]) * x.element.size_bytes


@kernel("gather_nd.portable", GatherNd)
class PortableGatherNd(Kernel):
    """Any core, any element type; indices in flash or computed."""

    def cost(self, site: Site, target: Target) -> Cost:
        indices = site.signature.inputs[1]
        slices = math.prod(indices.shape[:-1])
        return _cost(slices, site.signature.output.size_bytes // max(slices, 1), 110)

    def generate(self, site: Site, target: Target) -> KernelCode:
        x, indices = site.signature.inputs
        coordinates = indices.shape[-1]
        sizes = np.array(x.shape[:coordinates], np.int32)
        fields = (
            Field("count", math.prod(indices.shape[:-1])),
            Field("coordinates", coordinates),
            Field("slice_bytes", math.prod(x.shape[coordinates:]) * x.element.size_bytes),
            Field("sizes", ConstantArray("sizes", sizes)),
        )
        return KernelCode(
            function="glowmcu_gather_nd_slices",
            operands=(0, 1),
            header="glowmcu_gather_nd.h",
            parameters=Parameters("glowmcu_gather_nd", fields),
        )


def element_loops(shape: Shape, places: Shape, axis: int) -> list[Loop]:
    """Loops over `places`, one at least, that step through a tensor of `shape`; `axis` stands."""
    steps = [0 if i == axis else stride for i, (_, stride) in enumerate(whole(shape).loops)]
    loops = [loop for loop in zip(places, steps, strict=True) if loop[0] != 1]
    return coalesced(loops) or [(1, 0)]


@kernel("gather_elements.portable", GatherElements)
class PortableGatherElements(Kernel):
    """Any core, any element type; indices in flash or computed."""

    def accepts(self, site: Site, target: Target) -> bool:
        return len(self._loops(site)) <= MAX_LOOPS

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(35.0 * site.signature.output.element_count, 130, 40)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x = site.node.op, site.signature.inputs[0]
        assert isinstance(op, GatherElements)
        loops = self._loops(site)
        view = {
            "type": x.element.c_name,
            "length": x.shape[op.axis],
            "step": whole(x.shape).loops[op.axis][1],
            "loops": loops_table(loops),
            "loop_count": len(loops),
        }
        return KernelCode(
            function="",
            operands=(0, 1),
            header="glowmcu_reduce.h",
            template="portable/gather_elements.c.j2",
            view=view,
        )

    def _loops(self, site: Site) -> list[Loop]:
        op, (x, indices) = site.node.op, site.signature.inputs
        assert isinstance(op, GatherElements)
        return element_loops(x.shape, indices.shape, op.axis)
