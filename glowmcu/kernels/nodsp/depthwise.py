"""depthwise_conv_2d without DSP instructions: all taps of a pixel unrolled, channel by channel."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.function_names import specialized
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import (
    constant,
    is_constant,
    is_int8,
    size_fields,
    window_fields,
)
from glowmcu.kernels.common.overlap import window_overlaps
from glowmcu.kernels.common.window_work import taps_inside
from glowmcu.kernels.kernel import (
    ConstantArray,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.kernels.nodsp.scale import can_scale, scale_bytes, scale_field, scale_kind
from glowmcu.ops.convolution import DepthwiseConv2D

#: Unrolled code stays below half a kilobyte.
_MOST_TAPS = 32


def _shape(site: Site) -> tuple[int, int, int]:
    """Pixels, taps, outputs."""
    out, weights = site.signature.output.shape, site.signature.inputs[1].shape
    return out[0] * out[1] * out[2], weights[1] * weights[2], out[3]


def _multiplier(site: Site) -> int:
    return site.signature.output.shape[3] // site.signature.inputs[0].shape[3]


def _moved_pixels(site: Site) -> int:
    """Pixels whose window is inside the image, as that of the pixel before: all taps move on."""
    op, x, out = _op(site), site.signature.inputs[0].shape, site.signature.output.shape
    inside = [
        taps_inside(size, places, kernel, stride, dilation, before) == kernel
        for size, places, kernel, stride, dilation, before in zip(
            x[1:3], out[1:3], site.signature.inputs[1].shape[1:3], op.strides, op.dilations,
            op.padding[:2], strict=True,
        )
    ]  # fmt: skip
    return int(out[0] * inside[0].sum() * (inside[1][1:] & inside[1][:-1]).sum())


def _op(site: Site) -> DepthwiseConv2D:
    assert isinstance(site.node.op, DepthwiseConv2D)
    return site.node.op


def _function(site: Site) -> str:
    """Known by what is unrolled into it."""
    multiplied = "" if _multiplier(site) == 1 else "multiplied"
    return specialized("taps", f"{_shape(site)[1]} taps unrolled", multiplied)


@kernel("depthwise_conv_2d.taps_nodsp", DepthwiseConv2D)
class TapsDepthwiseConv2D(Kernel):
    """All taps unrolled, sums of a pixel first, then its requantization; cores without DSP."""

    def accepts(self, site: Site, target: Target) -> bool:
        if target.core.has_dsp or not is_constant(site, 1, 2) or not is_int8(site):
            return False
        return _shape(site)[1] <= _MOST_TAPS and can_scale(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        pixels, taps, outputs = _shape(site)
        out = site.signature.output.shape
        moved = _moved_pixels(site)
        kind = "" if _multiplier(site) == 1 else "multiplied "
        return {
            "row": out[0] * out[1],
            "pixel": pixels,
            "window row": (pixels - moved) * site.signature.inputs[1].shape[1],
            "place": (pixels - moved) * taps,
            "moved place": moved * taps,
            f"{kind}tap": pixels * taps * outputs,
            f"{kind}channel": pixels * outputs,
            f"output {scale_kind(site)}": pixels * outputs,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return site.signature.inputs[1].size_bytes + scale_bytes(site)

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return 4 * _shape(site)[2] + site.signature.inputs[0].shape[3]

    def code_key(self, site: Site, target: Target) -> str:
        return _function(site)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x, out = _op(site), site.signature.inputs[0], site.signature.output
        weights, bias = constant(site, 1), constant(site, 2)
        _, taps, outputs = _shape(site)
        by_channel = np.ascontiguousarray(weights.reshape(taps, outputs).T)
        bound = accumulator_bound(site, by_channel, bias)
        fields = (
            *size_fields(site),
            *window_fields(op),
            Field("in_zero_point", x.zero_point),
            Field("weights", ConstantArray("weights", by_channel, "channel, tap")),
            scale_field(site),
        )
        return KernelCode(
            function=_function(site),
            operands=(0,),
            template="nodsp/depthwise_taps_nodsp.c.j2",
            view={
                "taps": taps,
                "multiplier": 1 if _multiplier(site) == 1 else 0,
                "headers": ("glowmcu_depthwise_nodsp.h",),
            },
            parameters=Parameters("glowmcu_depthwise_nodsp", fields),
            rows=out.shape[1],
            batches=x.shape[0],
            overlaps=window_overlaps(op, site.signature, weights.shape[1:3], reads_first=True),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound),),
        )
