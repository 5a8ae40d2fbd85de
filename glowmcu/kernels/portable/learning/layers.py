"""int8 layers whose weights or biases are computed: the portable loops on operands of the arena.

No weights prove a bound, so that it is that of any: 128 times the largest input, a product, and the
range of the biases.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.kernels.common.bounds import bound_note, largest_offset_input
from glowmcu.kernels.common.layer_fields import (
    conv_2d_geometry,
    depthwise_geometry,
    is_constant,
    is_int8,
    requantization_arrays,
)
from glowmcu.kernels.common.overlap import window_overlaps
from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.kernels.portable.convolution import depthwise_overlaps
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected

_INT32_END = 2**31
#: Cycles of a product, about as many as the same loop takes with constant weights.
_EACH_PRODUCT, _EACH_RESULT = 4.5, 40.0


def any_weights_bound(site: Site) -> int | None:
    """Greatest |accumulator| with any weights; None if nobody knows what the biases can be."""
    products = site.node.macs // max(site.signature.output.element_count, 1)
    biases = site.input_ranges[2] if len(site.input_ranges) > 2 else None
    if biases is None:
        return None
    most = int(np.maximum(np.abs(biases.low), np.abs(biases.high)).max(initial=0))
    return most + products * 128 * largest_offset_input(site.signature.inputs[0])


class _Learnt(Kernel):
    """Any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        quantization = site.signature.inputs[1].quantization
        if not is_int8(site) or quantization is None or is_constant(site, 1, 2):
            return False
        bound = any_weights_bound(site)
        return bound is not None and bound < _INT32_END

    def cost(self, site: Site, target: Target) -> Cost:
        results = site.signature.output.element_count
        cycles = _EACH_PRODUCT * site.node.macs + _EACH_RESULT * results + 200.0
        return Cost(cycles, 420, 5 * site.signature.output.shape[-1])

    def _code(
        self, site: Site, function: str, struct: str, fields: tuple[Field, ...]
    ) -> KernelCode:
        bound = any_weights_bound(site)
        assert bound is not None
        return KernelCode(
            function=function,
            operands=(0, 1, 2),
            header=f"{function}.h",
            parameters=Parameters(struct, fields),
            notes=(bound_note(site.node.macs, bound),),
        )


def _end_fields(site: Site) -> tuple[Field, ...]:
    """From the clamp on, as structs of int8 layers end; weights and biases are operands."""
    op = site.node.op
    assert isinstance(op, FullyConnected | Conv2D | DepthwiseConv2D)
    multipliers, shifts = requantization_arrays(op.requantization(site.signature), site)
    clamp = op.clamp_range(site.signature)
    per_channel = Field("per_channel", int(len(multipliers.data) > 1))
    return (
        Field("clamp_min", clamp[0]),
        Field("clamp_max", clamp[1]),
        *([per_channel] if isinstance(op, FullyConnected) else []),
        Field("weights", None),
        Field("bias", None),
        Field("multipliers", multipliers),
        Field("shifts", shifts),
    )


@kernel("fully_connected.learnt", FullyConnected)
class LearntFullyConnected(_Learnt):
    """Four output channels at a time."""

    def generate(self, site: Site, target: Target) -> KernelCode:
        (x, weights, _), out = site.signature.inputs, site.signature.output
        assert weights.quantization is not None
        fields = (
            Field("rows", x.element_count // weights.shape[1]),
            Field("depth_in", weights.shape[1]),
            Field("depth_out", weights.shape[0]),
            Field("in_zero_point", x.zero_point),
            Field("weights_zero_point", weights.quantization.zero_points[0]),
            Field("out_zero_point", out.zero_point),
            *_end_fields(site),
        )
        return self._code(
            site, "glowmcu_fully_connected_learnt", "glowmcu_fully_connected", fields
        )

    def accepts(self, site: Site, target: Target) -> bool:
        quantization = site.signature.inputs[1].quantization
        is_centred = quantization is not None and not any(quantization.zero_points)
        return is_centred and super().accepts(site, target)


def _points(site: Site) -> tuple[Field, Field]:
    x, out = site.signature.inputs[0], site.signature.output
    return Field("in_zero_point", x.zero_point), Field("out_zero_point", out.zero_point)


@kernel("conv_2d.learnt", Conv2D)
class LearntConv2D(_Learnt):
    """Direct convolution, four output channels at a time."""

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, Conv2D)
        fields = (*conv_2d_geometry(site), *_points(site), *_end_fields(site))
        return replace(
            self._code(site, "glowmcu_conv_2d_learnt", "glowmcu_conv_2d", fields),
            rows=site.signature.output.shape[1],
            batches=site.signature.output.shape[0],
            overlaps=window_overlaps(op, site.signature, site.signature.inputs[1].shape[1:3]),
            whole_operands=(1, 2),
        )


@kernel("depthwise_conv_2d.learnt", DepthwiseConv2D)
class LearntDepthwiseConv2D(_Learnt):
    """One channel at a time over the window."""

    def generate(self, site: Site, target: Target) -> KernelCode:
        fields = (*depthwise_geometry(site), *_points(site), *_end_fields(site))
        return replace(
            self._code(
                site, "glowmcu_depthwise_conv_2d_learnt", "glowmcu_depthwise_conv_2d", fields
            ),
            rows=site.signature.output.shape[1],
            batches=site.signature.output.shape[0],
            overlaps=depthwise_overlaps(site),
            whole_operands=(1, 2),
        )
