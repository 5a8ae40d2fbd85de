"""The struct by which kernels for RISC-V know the windows of a convolution."""

from __future__ import annotations

from glowmcu.kernels.common.layer_fields import size_fields, window_fields
from glowmcu.kernels.kernel import Field, Parameters, Site
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D


def window_field(site: Site) -> Field:
    """The member `window`."""
    op = site.node.op
    assert isinstance(op, Conv2D | DepthwiseConv2D)
    sizes = [field for field in size_fields(site) if field.name != "out_channels"]
    zero_point = Field("in_zero_point", site.signature.inputs[0].zero_point)
    return Field(
        "window", Parameters("glowmcu_window_riscv", (*sizes, *window_fields(op), zero_point))
    )
