"""Portable kernel of resample."""

from __future__ import annotations

import math

import numpy as np

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
from glowmcu.ops.resampling import Resample


@kernel("resample.portable_f32", Resample)
class PortableResample(Kernel):
    """Weights from tables in flash; any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        op = site.node.op
        assert isinstance(op, Resample)
        soft = 1.0 if target.core.has_fpu else 12.0
        flash = 2 * op.starts.size + op.weights.nbytes + (op.offsets.any() and op.offsets.nbytes)
        cycles = soft * (8.0 * site.node.macs + 15.0 * site.signature.output.element_count)
        return Cost(cycles, 160, int(flash))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, Resample)
        x = site.signature.inputs[0]
        offsets = ConstantArray("offsets", op.offsets) if op.offsets.any() else None
        fields = (
            Field("outer", math.prod(x.shape[: op.axis])),
            Field("in_size", x.shape[op.axis]),
            Field("out_size", op.starts.size),
            Field("inner", math.prod(x.shape[op.axis + 1 :])),
            Field("taps", op.weights.shape[1]),
            Field("starts", ConstantArray("starts", op.starts.astype(np.int16))),
            Field("weights", ConstantArray("resampling_weights", op.weights)),
            Field("offsets", offsets),
        )
        return KernelCode(
            function="glowmcu_resample_f32",
            operands=(0,),
            header="glowmcu_resample_f32.h",
            parameters=Parameters("glowmcu_resample", fields),
        )
