"""Portable kernel of fully_connected."""

from __future__ import annotations

import numpy as np

from glowmcu.kernels.bounds import accumulator_bound, bound_note
from glowmcu.kernels.convolution import constant, is_constant, requantization_arrays
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
from glowmcu.ops.matmul import FullyConnected


@kernel("fully_connected.portable", FullyConnected)
class PortableFullyConnected(Kernel):
    """Four output channels at a time; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_constant(site, 1, 2)

    def cost(self, site: Site, target: Target) -> Cost:
        outputs = site.signature.output.element_count
        flash = site.signature.inputs[1].size_bytes + 4 * site.signature.inputs[1].shape[0]
        return Cost(3.0 * site.node.macs + 40.0 * outputs, 350, flash)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, FullyConnected)
        x, weights_type, _ = site.signature.inputs
        out = site.signature.output
        weights, bias = constant(site, 1), constant(site, 2)
        assert weights_type.quantization is not None
        zero_points = np.array(weights_type.quantization.zero_points, np.int64)
        # The C sums x * w and w_zp * x apart, so both magnitudes count.
        magnitude = np.abs(weights.astype(np.int64)) + np.abs(zero_points)[:, np.newaxis]
        bound = accumulator_bound(site, magnitude, bias)
        multipliers, shifts = requantization_arrays(op.requantization(site.signature))
        clamp_min, clamp_max = op.clamp_range(site.signature)
        fields = (
            Field("rows", x.element_count // weights_type.shape[1]),
            Field("depth_in", weights_type.shape[1]),
            Field("depth_out", weights_type.shape[0]),
            Field("in_zero_point", x.zero_point),
            Field("weights_zero_point", int(zero_points[0])),
            Field("out_zero_point", out.zero_point),
            Field("clamp_min", clamp_min),
            Field("clamp_max", clamp_max),
            Field("per_channel", int(len(multipliers.data) > 1)),
            Field("weights", ConstantArray("weights", weights, "OI")),
            Field("bias", ConstantArray("bias", bias)),
            Field("multipliers", multipliers),
            Field("shifts", shifts),
        )
        return KernelCode(
            function="glowmcu_fully_connected_s8",
            operands=(0,),
            header="glowmcu_fully_connected.h",
            parameters=Parameters("glowmcu_fully_connected", fields),
            notes=(bound_note(site.node.macs, bound),),
        )
