"""Portable kernels of gradients along an axis: `axis_gradient`, `gather_gradient`."""

from __future__ import annotations

import math

from glowmcu.kernels.common.layer_fields import constant, is_constant
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
from glowmcu.ops.axis_gradient import REACH_END, AxisGradient, GatherGradient, reach


@kernel("axis_gradient.portable", AxisGradient)
class PortableAxisGradient(Kernel):
    """One element after the other; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not is_constant(site, 2, 3):
            return False
        gradient, starts, weights = site.signature.inputs[0], constant(site, 2), constant(site, 3)
        op = site.node.op
        assert isinstance(op, AxisGradient)
        last = gradient.shape[op.axis] - weights.shape[1]
        is_inside = starts.min(initial=0) >= 0 and starts.max(initial=0) <= last
        return bool(is_inside) and reach(weights) <= REACH_END

    def cost(self, site: Site, target: Target) -> Cost:
        count = site.signature.inputs[3].shape[1]
        cycles = 60.0 + (22.0 + 9.0 * count) * site.signature.output.element_count
        tables = sum(type_.size_bytes for type_ in site.signature.inputs[2:])
        return Cost(cycles, 150, 36 + tables)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, gradient, weights = site.node.op, site.signature.inputs[0], constant(site, 3)
        assert isinstance(op, AxisGradient)
        fields = (
            Field("outer", math.prod(gradient.shape[: op.axis])),
            Field("length", gradient.shape[op.axis]),
            Field("size", len(weights)),
            Field("inner", math.prod(gradient.shape[op.axis + 1 :])),
            Field("count", weights.shape[1]),
            Field("reach", reach(weights)),
            Field("bits", op.bits),
            Field("starts", ConstantArray("starts", constant(site, 2))),
            Field("weights", ConstantArray("weights", weights.reshape(-1))),
        )
        return KernelCode(
            function="glowmcu_axis_gradient",
            operands=(0, 1),
            header="glowmcu_axis_gradient.h",
            parameters=Parameters("glowmcu_axis_gradient_layer", fields),
        )


@kernel("gather_gradient.portable", GatherGradient)
class PortableGatherGradient(Kernel):
    """One element after the other; any core, indices in flash or computed."""

    def cost(self, site: Site, target: Target) -> Cost:
        given, made = site.signature.inputs[0].element_count, site.signature.output.element_count
        return Cost(80.0 + 16.0 * given + 11.0 * made, 190, 24)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, (gradient, _, indices) = site.node.op, site.signature.inputs
        assert isinstance(op, GatherGradient)
        end = op.axis + indices.rank - op.batch_dims
        fields = (
            Field("batches", math.prod(gradient.shape[: op.batch_dims])),
            Field("outer", math.prod(gradient.shape[op.batch_dims : op.axis])),
            Field("length", op.length),
            Field("slice", math.prod(gradient.shape[end:])),
            Field("index_count", op.meeting(indices)),
            Field("bits", op.bits),
        )
        return KernelCode(
            function="glowmcu_gather_back",
            operands=(0, 1, 2),
            header="glowmcu_gather_back.h",
            parameters=Parameters("glowmcu_gather_gradient", fields),
        )
