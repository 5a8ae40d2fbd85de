"""Kernels of VX16: fully connected layers and 1x1 convolutions."""

from __future__ import annotations

import numpy as np

from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.dense_layer import dense_weights, is_dense_layer, pixel_grid, row_count
from glowmcu.kernels.common.layer_fields import constant, constant_bytes, requantization_arrays
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
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.matmul import FullyConnected


@kernel("dense.vx16", FullyConnected, Conv2D)
class VectorDense(Kernel):
    """Dot products of sixteen elements a cycle."""

    def accepts(self, site: Site, target: Target) -> bool:
        if target.core.name != "vx16" or not is_dense_layer(site):
            return False
        grid, weights = pixel_grid(site), dense_weights(site)
        return grid.is_dense and grid.step == weights.shape[1] and weights.dtype == np.int8

    def cost(self, site: Site, target: Target) -> Cost:
        """An output is 3 instructions of the unit for 16 products, and about 30 of the core."""
        outputs, depth = dense_weights(site).shape
        unit = 3 * -(-depth // 16) + 2
        return Cost((unit + 30) * row_count(site) * outputs, 220, constant_bytes(site))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
        assert isinstance(op, Conv2D | FullyConnected)
        weights, bias = dense_weights(site), constant(site, 2)
        bound = accumulator_bound(site, weights, bias)
        # sum((x - zero_point) * w) + bias, with what does not depend on x in the bias.
        folded = bias - x.zero_point * weights.astype(np.int64).sum(axis=1)
        scale = op.requantization(site.signature)
        multipliers, shifts = requantization_arrays(scale, site)
        low, high = op.clamp_range(site.signature)
        fields = (
            Field("rows", row_count(site)),
            Field("depth_in", weights.shape[1]),
            Field("depth_out", weights.shape[0]),
            Field("out_zero_point", out.zero_point),
            Field("clamp_min", low),
            Field("clamp_max", high),
            Field("per_channel", int(len(multipliers.data) > 1)),
            Field("weights", ConstantArray("weights", weights, "OI")),
            Field("bias", ConstantArray("bias", folded.astype(np.int32))),
            Field("multipliers", multipliers),
            Field("shifts", shifts),
        )
        return KernelCode(
            "vx_dense_s8", (0,), "vx_dense.h", Parameters("vx_dense", fields),
            notes=(bound_note(site.node.macs, bound),),
        )  # fmt: skip
