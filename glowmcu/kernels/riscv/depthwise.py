"""depthwise_conv_2d for RISC-V: all taps of a pixel unrolled, as distances from a row's pointer."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.function_names import specialized
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import constant, is_constant, is_int8, is_padded
from glowmcu.kernels.common.overlap import window_overlaps
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
from glowmcu.kernels.riscv.scale import can_scale, scale_bytes, scale_field, scaled_work
from glowmcu.kernels.riscv.window import window_field
from glowmcu.ops.convolution import DepthwiseConv2D

#: Unrolled code stays below half a kilobyte, and rows have a register each.
_MOST_TAPS, _MOST_ROWS = 32, 10
#: Distances that a load holds.
_NEAR_BYTES = 2048


def _shape(site: Site) -> tuple[int, int, int, int]:
    """Pixels, rows and columns of the window, channels."""
    out, weights = site.signature.output.shape, site.signature.inputs[1].shape
    return out[0] * out[1] * out[2], weights[1], weights[2], out[3]


def _op(site: Site) -> DepthwiseConv2D:
    assert isinstance(site.node.op, DepthwiseConv2D)
    return site.node.op


def _step(site: Site) -> int:
    """Bytes from a tap to the next of its row."""
    return _op(site).dilations[1] * site.signature.inputs[0].shape[3]


def _function(site: Site) -> str:
    """Known by what is unrolled into it."""
    _, height, width, _ = _shape(site)
    padded = "padded" if is_padded(site) else ""
    return specialized("taps", f"{height}x{width} taps", f"step {_step(site)}", padded)


def _pixels_inside(site: Site) -> int:
    """Those whose windows lie in the image."""
    (x, weights, _), out, op = site.signature.inputs, site.signature.output.shape, _op(site)
    inside = 1
    for axis in (1, 2):
        reach = (weights.shape[axis] - 1) * op.dilations[axis - 1]
        first = np.arange(out[axis]) * op.strides[axis - 1] - op.padding[axis - 1]
        inside *= int(((first >= 0) & (first + reach < x.shape[axis])).sum())
    return out[0] * inside


@kernel("depthwise_conv_2d.rows_riscv", DepthwiseConv2D)
class RowsDepthwiseConv2D(Kernel):
    """All taps unrolled, sums of a pixel first, then its requantization."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.is_riscv or not is_constant(site, 1, 2) or not is_int8(site):
            return False
        _, height, width, channels = _shape(site)
        fits = height * width <= _MOST_TAPS and height <= _MOST_ROWS
        is_near = (width - 1) * _step(site) < _NEAR_BYTES
        is_plain = channels == site.signature.inputs[0].shape[3]
        return fits and is_near and is_plain and can_scale(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        pixels, height, width, channels = _shape(site)
        beside = pixels - _pixels_inside(site)
        return {
            "call": 1.0,
            "pixel": pixels,
            "place": beside * height * width,
            "tap": (pixels - beside) * height * width * channels,
            "tap beside": beside * height * width * channels,
            **scaled_work(site),
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return site.signature.inputs[1].size_bytes + scale_bytes(site)

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return 5 * _shape(site)[3]

    def code_key(self, site: Site, target: Target) -> str:
        return _function(site)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x, out = _op(site), site.signature.inputs[0], site.signature.output
        weights, bias = constant(site, 1), constant(site, 2)
        _, height, width, channels = _shape(site)
        by_channel = np.ascontiguousarray(weights.reshape(height * width, channels).T)
        bound = accumulator_bound(site, by_channel, bias)
        fields = (
            window_field(site),
            Field("weights", ConstantArray("weights", by_channel, "channel, tap")),
            scale_field(site),
        )
        return KernelCode(
            function=_function(site),
            operands=(0,),
            template="riscv/depthwise_rows_riscv.c.j2",
            view={
                "kernel_height": height,
                "kernel_width": width,
                "step": _step(site),
                "padded": is_padded(site),
                "headers": ("glowmcu_depthwise_riscv.h",),
            },
            parameters=Parameters("glowmcu_depthwise_riscv", fields),
            rows=out.shape[1],
            batches=x.shape[0],
            overlaps=window_overlaps(op, site.signature, weights.shape[1:3], reads_first=True),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound),),
        )
