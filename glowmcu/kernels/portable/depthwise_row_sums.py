"""Depthwise convolution whose result is one row: its input rows can come one by one.

A window as high as the image leaves nothing to slide along y. See
glowmcu_depthwise_row_sums.h.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import (
    constant,
    constant_bytes,
    depthwise_geometry,
    is_constant,
    is_int8,
    requantization_arrays,
)
from glowmcu.kernels.common.window_work import window_work
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
from glowmcu.ops.convolution import DepthwiseConv2D
from glowmcu.ops.fixed_point import wrap_int32


def _inside(size: int, out: int, taps: int, stride: int, dilation: int, before: int) -> Int64Array:
    """Which taps of each window along one axis lie in the image, (out, taps), as 0 and 1."""
    places = np.arange(out)[:, np.newaxis] * stride - before + np.arange(taps) * dilation
    return ((places >= 0) & (places < size)).astype(np.int64)


def _starts(site: Site) -> Int64Array:
    """What sums over x begin with, (1 or output columns, channels)."""
    op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
    assert isinstance(op, DepthwiseConv2D)
    weights, bias = constant(site, 1).astype(np.int64)[0], constant(site, 2).astype(np.int64)
    rows, columns = (
        _inside(x.shape[1 + axis], out.shape[1 + axis], weights.shape[axis], op.strides[axis],
                op.dilations[axis], op.padding[axis])
        for axis in (0, 1)
    )  # fmt: skip
    totals = np.einsum("yxc,y,ox->oc", weights, rows[0], columns)
    if (columns == columns[0]).all():
        totals = totals[:1]
    return wrap_int32(bias - x.zero_point * totals)


@kernel("depthwise_conv_2d.row_sums", DepthwiseConv2D)
class RowSumsDepthwise(Kernel):
    """Sums of all results are kept while rows come in parts; any core."""

    accumulates: ClassVar[bool] = True

    def accepts(self, site: Site, target: Target) -> bool:
        one_row = site.signature.output.shape[1] == 1
        return one_row and is_constant(site, 1, 2) and is_int8(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, (x, weights, _), out = site.node.op, site.signature.inputs, site.signature.output
        assert isinstance(op, DepthwiseConv2D)
        window = window_work(op, site.signature, weights.shape[1:3])
        alike = target.core.has_dsp and x.shape[3] == out.shape[3]
        words, singles = divmod(out.shape[3], 4) if alike else (0, out.shape[3])
        return {
            "call": out.shape[0],
            "pixel": window.pixels,
            "output": window.pixels * out.shape[3],
            "tap": window.taps,
            "word": window.taps * words,
            "product": window.taps * singles,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return constant_bytes(site) + 5 * site.signature.output.shape[3]

    def scratch_bytes(self, site: Site, target: Target) -> int:
        _, _, width, channels = site.signature.output.shape
        return 4 * width * channels

    def cost(self, site: Site, target: Target) -> Cost:
        unit_costs = {"call": 120.0, "pixel": 120.0, "output": 42.0, "tap": 30.0}
        unit_costs |= {"word": 25.0, "product": 12.0}
        cycles = sum(unit_costs[name] * count for name, count in self.work(site, target).items())
        flash_bytes = self.flash_bytes(site, target)
        return Cost(cycles, 800, flash_bytes, self.scratch_bytes(site, target))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
        assert isinstance(op, DepthwiseConv2D)
        weights, starts = constant(site, 1), _starts(site)
        channels = out.shape[3]
        bound = accumulator_bound(site, weights.reshape(-1, channels).T, constant(site, 2))
        multipliers, shifts = requantization_arrays(op.requantization(site.signature), site)
        clamp_min, clamp_max = op.clamp_range(site.signature)
        fields = (
            *depthwise_geometry(site),
            Field("out_zero_point", out.zero_point),
            Field("clamp_min", clamp_min),
            Field("clamp_max", clamp_max),
            Field("starts_step", channels if len(starts) > 1 else 0),
            Field("starts", ConstantArray("starts", starts.astype(np.int32))),
            Field("weights", ConstantArray("weights", weights, "HWC")),
            Field("multipliers", multipliers),
            Field("shifts", shifts),
        )
        return KernelCode(
            function="glowmcu_depthwise_row_sums_s8",
            operands=(0,),
            header="glowmcu_depthwise_row_sums.h",
            parameters=Parameters("glowmcu_depthwise_row_sums", fields),
            rows=x.shape[1],
            accumulates=True,
            batches=x.shape[0],
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound),),
        )
