"""Portable kernel of grid_sample."""

from __future__ import annotations

import math

from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.ops.grid_sampling import GridSample


@kernel("grid_sample.portable_f32", GridSample)
class PortableGridSample(Kernel):
    """Any core; single precision."""

    def cost(self, site: Site, target: Target) -> Cost:
        grid = site.signature.inputs[1]
        places = math.prod(grid.shape[:3])
        soft = 1.0 if target.core.has_fpu else 12.0
        return Cost(soft * (110.0 * places + 14.0 * site.node.macs), 420, 32)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, GridSample)
        x, grid = site.signature.inputs
        fields = (
            Field("batches", x.shape[0]),
            Field("height", x.shape[1]),
            Field("width", x.shape[2]),
            Field("depth", x.shape[3]),
            Field("places", math.prod(grid.shape[1:3])),
            Field("is_linear", int(op.linear)),
            Field("is_border", int(op.border)),
            Field("aligns", int(op.align_corners)),
        )
        return KernelCode(
            function="glowmcu_grid_sample_f32",
            operands=(0, 1),
            header="glowmcu_grid_sample_f32.h",
            parameters=Parameters("glowmcu_grid_sample", fields),
        )
