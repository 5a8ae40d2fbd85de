"""depthwise_conv_2d on cores with Helium: see libjit/glowmcu_depthwise_conv_2d_mve.h."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from glowmcu.ir.types import ElementType
from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.bounds import accumulator_bound, bound_note
from glowmcu.kernels.convolution import constant, is_constant, is_int8
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
from glowmcu.kernels.requantization import Form, requantization_task
from glowmcu.kernels.scale_mve import scale_mve, vector_form
from glowmcu.kernels.window_work import window_work
from glowmcu.ops.convolution import DepthwiseConv2D

_LANES = 8
_CYCLES = {"tap": 9.0, "row": 7.0, "eight_floor": 30.0, "eight_literal": 45.0, "pixel": 80.0}


def _form(site: Site) -> Form | None:
    """The sums are of x less its zero point, so nothing is left to be made up for."""
    task = requantization_task(site)
    return vector_form(replace(task, offset=np.zeros_like(task.offset)))


def eights(channels: int) -> Int64Array:
    """Channels of each vector; the last ones may overlap."""
    starts = [*range(0, channels - _LANES + 1, _LANES)]
    if channels % _LANES:
        starts.append(channels - _LANES)
    return np.array(starts)[:, np.newaxis] + np.arange(_LANES)


@kernel("depthwise_conv_2d.mve", DepthwiseConv2D)
class VectorDepthwiseConv2D(Kernel):
    """Eight channels at a time over the taps that are inside the image."""

    def accepts(self, site: Site, target: Target) -> bool:
        x, out = site.signature.inputs[0], site.signature.output
        if not (target.core.has_mve and is_constant(site, 1, 2) and is_int8(site)):
            return False
        is_plain = x.element is ElementType.I8 and x.shape[3] == out.shape[3] >= _LANES
        return is_plain and _form(site) is not None

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        op, form = site.node.op, _form(site)
        assert isinstance(op, DepthwiseConv2D)
        assert form is not None
        work = window_work(op, site.signature, site.signature.inputs[1].shape[1:3])
        vectors = len(eights(site.signature.output.shape[3]))
        return {
            "tap": work.taps * vectors,
            "row": work.rows * vectors,
            f"eight_{form.kind.value}": work.pixels * vectors,
            "pixel": work.pixels,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        weights, form = constant(site, 1), _form(site)
        assert form is not None
        vectors = len(eights(weights.shape[-1]))
        taps = weights[..., 0].size
        return vectors * _LANES * (taps + 4 * len(scale_mve(form).constants))

    def cost(self, site: Site, target: Target) -> Cost:
        cycles = sum(_CYCLES[name] * amount for name, amount in self.work(site, target).items())
        return Cost(cycles, 700, self.flash_bytes(site, target))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, form = site.node.op, _form(site)
        assert isinstance(op, DepthwiseConv2D)
        assert form is not None
        x, out = site.signature.inputs[0], site.signature.output
        weights, bias = constant(site, 1), constant(site, 2)
        channels = out.shape[3]
        taps = weights.reshape(-1, channels)
        bound = accumulator_bound(site, taps.T, bias)
        scale = scale_mve(form)
        lanes = eights(channels)
        packed = taps[:, lanes].transpose(1, 0, 2).reshape(-1)
        even_odd = np.concatenate([lanes[:, 0::2], lanes[:, 1::2]], axis=1)
        constants = scale.constants[:, even_odd].transpose(1, 0, 2).reshape(-1)
        fields = (
            Field("in_height", x.shape[1]),
            Field("in_width", x.shape[2]),
            Field("channels", channels),
            Field("out_width", out.shape[2]),
            Field("kernel_height", weights.shape[1]),
            Field("kernel_width", weights.shape[2]),
            Field("stride_y", op.strides[0]),
            Field("stride_x", op.strides[1]),
            Field("dilation_y", op.dilations[0]),
            Field("dilation_x", op.dilations[1]),
            Field("pad_top", op.padding[0]),
            Field("pad_left", op.padding[1]),
            Field("in_zero_point", x.zero_point),
            Field("scale", scale.parameters),
            Field("weights", ConstantArray("weights", packed.astype(np.int8), "8 channels a row")),
            Field("constants", ConstantArray("constants", constants.astype(np.int32), "scales")),
        )
        return KernelCode(
            function="glowmcu_depthwise_mve_s8",
            operands=(0,),
            header="glowmcu_depthwise_conv_2d_mve.h",
            parameters=Parameters("glowmcu_depthwise_mve", fields),
            rows=out.shape[1],
            batches=x.shape[0],
            notes=(bound_note(site.node.macs, bound),),
        )
