"""Layers of int16 activations and int8 weights: their geometry, sums and scales as numbers."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.kernel_code import Overlap
from glowmcu.ir.types import ElementType
from glowmcu.ir.value_range import Int64Array, full_range
from glowmcu.kernels.common.layer_fields import constant, is_constant
from glowmcu.kernels.common.overlap import NOTHING, Overlaps, first_pixels, least_gap
from glowmcu.kernels.common.window_work import taps_inside
from glowmcu.kernels.kernel import Site, once_a_site
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.wide import WideRequantization

_INT32_END = 2**31
#: Bits that a product with 15 bits of a multiplier loses before the shift of the scale.
_HIGH_BITS = 16


@dataclass(frozen=True)
class WideGeometry:
    """The windows of a layer; a fully connected one is a 1x1 convolution of an image of one column.

    A window's row is `parts` runs of `run` inputs that lie side by side in image and weights.
    """

    in_height: int
    in_width: int
    in_channels: int
    out_width: int
    kernel_height: int
    kernel_width: int
    stride_y: int
    stride_x: int
    dilation_y: int
    dilation_x: int
    pad_top: int
    pad_left: int
    groups: int
    group_inputs: int
    group_outputs: int

    @property
    def parts(self) -> int:
        together = self.dilation_x == 1 and self.groups == 1
        return 1 if together or self.kernel_width == 1 else self.kernel_width

    @property
    def run(self) -> int:
        return self.kernel_width * self.group_inputs // self.parts


def is_wide_layer(site: Site) -> bool:
    """Whether the layer has int16 activations and known weights."""
    if not isinstance(site.node.op, Conv2D | FullyConnected):
        return False
    is_wide = site.signature.output.element is ElementType.I16
    return is_wide and is_constant(site, 1, 2)


def wide_geometry(site: Site) -> WideGeometry:
    """Of a layer that `is_wide_layer`."""
    op, (x, weights, _), out = site.node.op, site.signature.inputs, site.signature.output
    if isinstance(op, FullyConnected):
        outputs, depth = weights.shape
        rows = x.element_count // depth
        return WideGeometry(rows, 1, depth, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, depth, outputs)
    assert isinstance(op, Conv2D)
    _, height, width, channels = x.shape
    outputs, kernel_height, kernel_width, depth = weights.shape
    groups = channels // depth
    (stride_y, stride_x), (dilation_y, dilation_x) = op.strides, op.dilations
    return WideGeometry(
        height, width, channels, out.shape[2], kernel_height, kernel_width, stride_y, stride_x,
        dilation_y, dilation_x, op.padding[0], op.padding[1], groups, depth, outputs // groups,
    )  # fmt: skip


@once_a_site
def wide_range(site: Site) -> Int64Array:
    """What |sum with bias| of each channel cannot exceed, as Python's integers."""
    op, x = site.node.op, site.signature.inputs[0]
    assert isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected)
    inputs = (site.input_ranges[0] if site.input_ranges else None) or full_range(x)
    assert inputs is not None
    low, high = op.accumulator_range(constant(site, 1), inputs, site.signature)
    # Python's integers: a hostile bias may be the least int64.
    bias = np.array([abs(int(each)) for each in constant(site, 2)], object)
    found: Int64Array = bias + np.maximum(np.abs(low), np.abs(high)).astype(object)
    return found


def fits_int32(site: Site) -> bool:
    """Whether the sum with bias of every channel does."""
    return int(max(wide_range(site), default=0)) < _INT32_END


@once_a_site
def wide_scales(site: Site) -> tuple[Int64Array, Int64Array] | None:
    """Q15 multipliers and shifts to the right of the upper 32 of the 48 bits of a product, a
    channel; None where accumulators have 32 bits, or a result needs other shifts than 1 to 30.
    """
    op = site.node.op
    assert isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected)
    scale = op.requantization(site.signature)
    if not isinstance(scale, WideRequantization):
        return None
    channels = site.signature.inputs[2].shape
    multipliers = np.broadcast_to(scale.multipliers.astype(np.int64), channels)
    shifts = np.broadcast_to(15 - _HIGH_BITS - scale.shifts.astype(np.int64), channels)
    shifts = np.where(multipliers == 0, 1, shifts)
    if shifts.min(initial=1) < 1 or shifts.max(initial=1) > 30:
        return None
    largest = [
        int(reach) * int(multiplier) >> int(shift + _HIGH_BITS)
        for reach, multiplier, shift in zip(wide_range(site), multipliers, shifts, strict=True)
    ]
    return (multipliers, shifts) if max(largest, default=0) < _INT32_END - 1 else None


def window_edges(site: Site, geometry: WideGeometry) -> tuple[bool, bool]:
    """Whether rows of windows may lack taps, and windows all of them."""
    down, along = window_taps(site, geometry)
    is_trimmed = min(along, default=0) < geometry.kernel_width
    return is_trimmed, 0 in down or 0 in along


def window_taps(site: Site, geometry: WideGeometry) -> tuple[list[int], list[int]]:
    """Taps inside the image of each row of results, and of each column."""
    if isinstance(site.node.op, FullyConnected):
        return [1] * geometry.in_height, [1]
    out = site.signature.output.shape
    down = taps_inside(
        geometry.in_height, out[1], geometry.kernel_height, geometry.stride_y,
        geometry.dilation_y, geometry.pad_top,
    )  # fmt: skip
    along = taps_inside(
        geometry.in_width, out[2], geometry.kernel_width, geometry.stride_x,
        geometry.dilation_x, geometry.pad_left,
    )  # fmt: skip
    return [int(n) for n in down], [int(n) for n in along]


def wide_overlaps(site: Site, at_once: int, channels: int) -> Overlaps:
    """Up to `at_once` pixels at a time, each block of `channels` read before it is written."""
    op, geometry = site.node.op, wide_geometry(site)
    reads_first = geometry.groups == 1 and geometry.group_outputs <= channels
    x, out = site.signature.inputs[0], site.signature.output
    if isinstance(op, FullyConnected):
        first = np.arange(geometry.in_height, dtype=np.int64)
    elif x.shape[0] != 1:
        return {}
    else:
        assert isinstance(op, Conv2D)
        first = first_pixels(op, site.signature, site.signature.inputs[1].shape[1:3])
    # Wherever a pixel is, it may be alone or the first of some.
    ends = np.minimum(np.arange(len(first), dtype=np.int64) + at_once, len(first))
    pixel_bytes = geometry.in_channels * x.element.size_bytes
    needed = np.where(first < NOTHING, first * pixel_bytes, NOTHING)
    written = ends * (out.size_bytes // len(first))
    return {0: Overlap(least_gap(written, needed, x.size_bytes, reads_first))}


def wide_note(site: Site) -> str:
    """The proof that no sum overflows."""
    bound = max(wide_range(site), default=0)
    end = 31 if fits_int32(site) else 47
    return f"{site.node.macs:,} MACs; |acc| <= {bound:,} < 2^{end}".replace(",", " ")
