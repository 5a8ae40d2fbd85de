"""Pooling as kernels of four channels a word see it, and where its windows lie."""

from __future__ import annotations

from glowmcu.kernels.common.overlap import channel_overlaps
from glowmcu.kernels.common.window_work import window_work
from glowmcu.kernels.kernel import Field, KernelCode, Parameters, Site
from glowmcu.ops.pooling import AveragePool2D, L2Pool2D, LpPool2D, MaxPool2D, MaxPoolIndices2D


def window_op(site: Site) -> AveragePool2D | L2Pool2D | LpPool2D | MaxPool2D | MaxPoolIndices2D:
    """The operation, which has windows."""
    op = site.node.op
    assert isinstance(op, AveragePool2D | L2Pool2D | LpPool2D | MaxPool2D | MaxPoolIndices2D)
    return op


def pool_grid(site: Site) -> Parameters:
    """Where windows lie, as a `glowmcu_pool_grid`."""
    op, x, out = window_op(site), site.signature.inputs[0], site.signature.output
    fields = (
        Field("in_height", x.shape[1]),
        Field("in_width", x.shape[2]),
        Field("channels", x.shape[3]),
        Field("out_width", out.shape[2]),
        Field("kernel_height", op.kernel[0]),
        Field("kernel_width", op.kernel[1]),
        Field("stride_y", op.strides[0]),
        Field("stride_x", op.strides[1]),
        Field("dilation_y", op.dilations[0]),
        Field("dilation_x", op.dilations[1]),
        Field("pad_top", op.padding[0]),
        Field("pad_left", op.padding[1]),
    )
    return Parameters("glowmcu_pool_grid", fields)


def most_taps(site: Site) -> int:
    """Of any window."""
    _, height, width, _ = site.signature.inputs[0].shape
    kernel_height, kernel_width = window_op(site).kernel
    return min(kernel_height, height) * min(kernel_width, width)


def pool_work(site: Site, unit: str, at_once: int) -> dict[str, float]:
    """`at_once` channels of a window at a time, whose results are called a `unit`."""
    window = window_work(window_op(site), site.signature, window_op(site).kernel)
    groups = -(-site.signature.output.shape[3] // at_once)
    return {
        "call": 1.0,
        "pixel": window.pixels,
        unit: window.pixels * groups,
        "row": window.rows * groups,
        "tap": window.taps * groups,
    }


def word_work(site: Site) -> dict[str, float]:
    """Four channels at a time."""
    return pool_work(site, "word", 4)


def word_code(site: Site, function: str, header: str, struct: str) -> KernelCode:
    """Code of average and maximum pooling, four channels a word."""
    op, out = site.node.op, site.signature.output
    assert isinstance(op, AveragePool2D | MaxPool2D)
    limits = zip(("clamp_min", "clamp_max"), op.clamp_range(site.signature), strict=True)
    fields = (
        Field("grid", _as_one_row(site)),
        *(Field(bound, (limit & 0xFF) * 0x01010101) for bound, limit in limits),
    )
    return KernelCode(
        function=function,
        operands=(0,),
        header=header,
        parameters=Parameters(struct, fields),
        rows=out.shape[1],
        batches=out.shape[0],
        overlaps=channel_overlaps(op, site.signature, op.kernel, at_once=4),
    )


def _as_one_row(site: Site) -> Parameters:
    """Where windows lie; one that sees the whole image sees it as a single row."""
    grid = pool_grid(site)
    _, height, width, channels = site.signature.inputs[0].shape
    window = window_work(window_op(site), site.signature, window_op(site).kernel)
    batches, *size, _ = site.signature.output.shape
    if size != [1, 1] or window.taps != batches * height * width:
        return grid
    row = {
        "in_height": 1,
        "in_width": height * width,
        "channels": channels,
        "out_width": 1,
        "kernel_height": 1,
        "kernel_width": height * width,
        "pad_top": 0,
        "pad_left": 0,
    }
    return Parameters(
        grid.struct, tuple(Field(field.name, row.get(field.name, 1)) for field in grid.fields)
    )
