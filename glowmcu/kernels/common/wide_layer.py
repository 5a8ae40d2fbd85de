"""Layers of int16 activations and int8 weights: their geometry, sums and scales as numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glowmcu.ir.types import ElementType
from glowmcu.ir.value_range import Int64Array, full_range
from glowmcu.kernels.common.layer_fields import constant, is_constant
from glowmcu.kernels.kernel import Site, once_a_site
from glowmcu.ops.convolution import Conv2D
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

    @property
    def rows(self) -> int:
        """Rows of results where the layer is fully connected: those of the matrix."""
        return self.in_height


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
def wide_reach(site: Site) -> Int64Array:
    """What |sum with bias| of each channel cannot exceed, as Python's integers; at edges neither."""
    op, x = site.node.op, site.signature.inputs[0]
    assert isinstance(op, Conv2D | FullyConnected)
    inputs = (site.input_ranges[0] if site.input_ranges else None) or full_range(x)
    assert inputs is not None
    low, high = op.reach(constant(site, 1), inputs, site.signature)
    # Python's integers: a hostile bias may be the least int64.
    bias = np.array([abs(int(each)) for each in constant(site, 2)], object)
    found: Int64Array = bias + np.maximum(np.abs(low), np.abs(high)).astype(object)
    return found


def fits_int32(site: Site) -> bool:
    """Whether the sum with bias of every channel does."""
    return int(max(wide_reach(site), default=0)) < _INT32_END


@once_a_site
def wide_scales(site: Site) -> tuple[Int64Array, Int64Array] | None:
    """Q15 multipliers and shifts to the right of the upper 32 of the 48 bits of a product, a
    channel; None where accumulators have 32 bits, or a result needs other shifts than 1 to 30.
    """
    op = site.node.op
    assert isinstance(op, Conv2D | FullyConnected)
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
        for reach, multiplier, shift in zip(wide_reach(site), multipliers, shifts, strict=True)
    ]
    return (multipliers, shifts) if max(largest, default=0) < _INT32_END - 1 else None
