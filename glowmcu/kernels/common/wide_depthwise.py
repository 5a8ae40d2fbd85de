"""Depthwise layers of int16 activations: what kernels for DSP instructions and Helium share."""

from __future__ import annotations

from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.layer_fields import constant, is_constant
from glowmcu.kernels.common.wide_layer import fits_int32, wide_scales
from glowmcu.kernels.common.window_work import window_work
from glowmcu.kernels.kernel import Field, Site, once_a_site
from glowmcu.ops.convolution import DepthwiseConv2D


def is_wide_depthwise(site: Site) -> bool:
    """Whether each channel of int16 has one of results, whose sums fit 32 bits."""
    x, out = site.signature.inputs[0], site.signature.output
    if out.element is not ElementType.I16 or not is_constant(site, 1, 2):
        return False
    one_each = x.shape[3] == out.shape[3]
    return one_each and fits_int32(site) and wide_scales(site) is not None


def depthwise_rows(site: Site) -> tuple[Array, Array, Array, Array]:
    """Weights (channels, taps), biases, multipliers and shifts to the right."""
    weights = constant(site, 1)
    scales = wide_scales(site)
    assert scales is not None
    return weights.reshape(-1, weights.shape[3]).T, constant(site, 2), *scales


def depthwise_fields(site: Site) -> tuple[Field, ...]:
    """Sizes, strides, padding and clamp, as both structs begin."""
    op, (x, weights, _), out = site.node.op, site.signature.inputs, site.signature.output
    assert isinstance(op, DepthwiseConv2D)
    least, most = op.clamp_range(site.signature)
    return (
        Field("in_height", x.shape[1]),
        Field("in_width", x.shape[2]),
        Field("channels", x.shape[3]),
        Field("out_width", out.shape[2]),
        Field("kernel_height", weights.shape[1]),
        Field("kernel_width", weights.shape[2]),
        Field("stride_y", op.strides[0]),
        Field("stride_x", op.strides[1]),
        Field("dilation_y", op.dilations[0]),
        Field("dilation_x", op.dilations[1]),
        Field("pad_top", op.padding[0]),
        Field("pad_left", op.padding[1]),
        Field("clamp_min", least),
        Field("clamp_max", most),
    )


@once_a_site
def depthwise_work(site: Site, at_once: int, is_tail_alone: bool) -> dict[str, float]:
    """Amounts of work, `at_once` channels together; what is left of them together or alone."""
    op, channels = site.node.op, site.signature.output.shape[3]
    assert isinstance(op, DepthwiseConv2D)
    found = window_work(op, site.signature, site.signature.inputs[1].shape[1:3])
    whole = channels // at_once if is_tail_alone else -(-channels // at_once)
    alone = channels % at_once if is_tail_alone else 0
    return {
        "call": site.signature.output.shape[0],
        "pixel": found.pixels,
        "block": found.pixels * whole,
        "row": found.rows * whole,
        "tap": found.taps * whole,
        "single": found.pixels * alone,
        "single tap": found.taps * alone,
    }
