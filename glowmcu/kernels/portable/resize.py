"""Portable kernels of resize_bilinear and resize_nearest_neighbor."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.layer_fields import is_float
from glowmcu.kernels.common.overlap import row_overlaps
from glowmcu.kernels.kernel import (
    ConstantArray,
    Cost,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.ops.resize import ResizeBilinear, ResizeNearestNeighbor, bilinear_step, pixel_scale


@kernel("resize_bilinear.portable", ResizeBilinear)
class PortableResizeBilinear(Kernel):
    """Positions in 1/1024 pixel computed on the way; any core."""

    element = ElementType.I8
    function = "glowmcu_resize_bilinear_s8"
    header = "glowmcu_resize_bilinear.h"

    def accepts(self, site: Site, target: Target) -> bool:
        return site.signature.output.element is self.element

    def cost(self, site: Site, target: Target) -> Cost:
        out = site.signature.output
        pixels = out.element_count // out.shape[3]
        return Cost(24.0 * out.element_count + 40.0 * pixels, 290)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, ResizeBilinear)
        x, out = site.signature.inputs[0], site.signature.output
        step_y, step_x = (
            bilinear_step(x.shape[axis], out.shape[axis], op.align_corners) for axis in (1, 2)
        )
        is_centered = op.half_pixel_centers
        fields = (
            Field("in_height", x.shape[1]),
            Field("in_width", x.shape[2]),
            Field("channels", x.shape[3]),
            Field("out_width", out.shape[2]),
            Field("step_y", step_y),
            Field("step_x", step_x),
            Field("start_y", step_y // 2 - 512 if is_centered else 0),
            Field("start_x", step_x // 2 - 512 if is_centered else 0),
        )
        return KernelCode(
            function=self.function,
            operands=(0,),
            header=self.header,
            parameters=Parameters("glowmcu_resize_bilinear", fields),
            rows=out.shape[1],
            batches=x.shape[0],
            overlaps=row_overlaps(op, site.signature),
        )


@kernel("resize_bilinear.portable_s16", ResizeBilinear)
class WideResizeBilinear(PortableResizeBilinear):
    """The same on int16, whose last sums take 64 bits; any core."""

    element = ElementType.I16
    function = "glowmcu_resize_bilinear_s16"
    header = "glowmcu_resize_bilinear_s16.h"

    def cost(self, site: Site, target: Target) -> Cost:
        out = site.signature.output
        pixels = out.element_count // out.shape[3]
        return Cost(40.0 * out.element_count + 40.0 * pixels, 380)


@kernel("resize_bilinear.portable_f32", ResizeBilinear)
class FloatResizeBilinear(Kernel):
    """Positions computed on the way; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_float(site)

    def cost(self, site: Site, target: Target) -> Cost:
        out = site.signature.output
        pixels = out.element_count // out.shape[3]
        soft = 1.0 if target.core.has_fpu else 12.0
        return Cost(soft * (26.0 * out.element_count + 40.0 * pixels), 330)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, ResizeBilinear)
        x, out = site.signature.inputs[0], site.signature.output
        scale_y, scale_x = (
            pixel_scale(x.shape[axis], out.shape[axis], op.align_corners) for axis in (1, 2)
        )
        fields = (
            Field("in_height", x.shape[1]),
            Field("in_width", x.shape[2]),
            Field("channels", x.shape[3]),
            Field("out_width", out.shape[2]),
            Field("scale_y", scale_y),
            Field("scale_x", scale_x),
            Field("centre", 0.5 if op.half_pixel_centers else 0.0),
        )
        return KernelCode(
            function="glowmcu_resize_bilinear_f32",
            operands=(0,),
            header="glowmcu_resize_bilinear_f32.h",
            parameters=Parameters("glowmcu_resize_bilinear_real", fields),
            rows=out.shape[1],
            batches=x.shape[0],
            overlaps=row_overlaps(op, site.signature),
        )


@kernel("resize_nearest_neighbor.portable", ResizeNearestNeighbor)
class PortableResizeNearestNeighbor(Kernel):
    """Pixels copied whole, source rows and columns from tables in flash; any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        out = site.signature.output
        pixels = out.element_count // out.shape[3]
        flash = 2 * (out.shape[1] + out.shape[2])
        return Cost(1.5 * out.size_bytes + 30.0 * pixels, 80, flash)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, ResizeNearestNeighbor)
        x, out = site.signature.inputs[0], site.signature.output
        rows, columns = (table.astype(np.int16) for table in op.sources(x))
        fields = (
            Field("in_width", x.shape[2]),
            Field("out_width", out.shape[2]),
            Field("pixel_bytes", x.shape[3] * x.element.size_bytes),
            Field("rows", ConstantArray("rows", rows, "source row of every row")),
            Field("columns", ConstantArray("columns", columns, "source column of every column")),
        )
        return KernelCode(
            function="glowmcu_resize_nearest_neighbor",
            operands=(0,),
            header="glowmcu_resize_nearest_neighbor.h",
            parameters=Parameters("glowmcu_resize_nearest_params", fields),
            rows=out.shape[1],
            batches=x.shape[0],
            overlaps=row_overlaps(op, site.signature),
        )
