"""Convolutions with one column of results, on cores with DSP instructions: time series, row by row.

A window that is as wide as the image is a row of a fully connected layer, and mostly lies in memory
as one: rows follow each other. Where it reaches outside or is dilated it is gathered, which costs
little beside its products. Other variants take two columns at a time, and one as long as two.
"""

from __future__ import annotations

from glowmcu.ir.function_names import specialized
from glowmcu.kernels.common.dense_layer import layer_bound_note
from glowmcu.kernels.common.overlap import window_overlaps
from glowmcu.kernels.dsp.convolution.rows import is_plain_int8_conv
from glowmcu.kernels.dsp.dense.direct import (
    DIRECT_CHANNELS,
    direct_fields,
    direct_stream,
    direct_work,
    known_stream,
)
from glowmcu.kernels.dsp.dense.direct_assembly import ENTERED, row_assembly
from glowmcu.kernels.dsp.dense.stream_code import stream_view
from glowmcu.kernels.dsp.order.blocks import ordered
from glowmcu.kernels.kernel import Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.ops.convolution import Conv2D


@kernel("conv_2d.column_dsp", Conv2D)
class ColumnDsp(Kernel):
    """Each window through the stream of a fully connected layer."""

    row_slowdown = 1.05

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp or not is_plain_int8_conv(site) or not _is_as_wide(site):
            return False
        return direct_stream(site) is not None

    def work(self, site: Site, target: Target) -> dict[str, float]:
        gathered = _gathered_rows(site)
        return {
            **direct_work(site, site.signature.output.shape[1]),
            "gathered row": gathered,
            "gathered word": gathered * _row_bytes(site) / 4,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return known_stream(site).size_bytes

    def scratch_bytes(self, site: Site, target: Target) -> int:
        """A window, where some are gathered."""
        kernel_rows = site.signature.inputs[1].shape[1]
        return kernel_rows * _row_bytes(site) if _gathered_rows(site) else 0

    def code_key(self, site: Site, target: Target) -> str:
        gathers = "gathered" if _gathered_rows(site) else ""
        return specialized("column", gathers, *known_stream(site).facts)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, stream = site.node.op, known_stream(site)
        assert isinstance(op, Conv2D)
        out, kernel_size = site.signature.output, site.signature.inputs[1].shape[1:3]
        one_block = len(stream.weights) <= DIRECT_CHANNELS
        lines = row_assembly(stream.layout, stream.form.postshift)
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="dsp/convolution/conv_2d_column_dsp.c.j2",
            view={
                "headers": ("glowmcu_conv_2d_column.h",),
                "assembly": ordered(lines, target, fixed=ENTERED, apart=("r1",)),
                "gathers": _gathered_rows(site) > 0,
                **stream_view(stream),
            },
            parameters=Parameters(
                "glowmcu_conv_2d_column",
                (
                    Field("dense", Parameters("glowmcu_fully_connected_direct",
                                              direct_fields(site, stream))),
                    *_window_fields(site),
                ),
            ),
            rows=out.shape[1],
            overlaps=window_overlaps(op, site.signature, kernel_size, reads_first=one_block),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(layer_bound_note(site),),
        )  # fmt: skip


def _is_as_wide(site: Site) -> bool:
    """Whether windows are as wide as the image, one below the other."""
    op, (x, weights, _) = site.node.op, site.signature.inputs
    assert isinstance(op, Conv2D)
    beside = op.padding[1] + op.padding[3]
    alone = weights.shape[2] == 1 or op.dilations[1] == 1
    return x.shape[0] == 1 and weights.shape[2] == x.shape[2] and alone and beside == 0


def _row_bytes(site: Site) -> int:
    _, _, width, channels = site.signature.inputs[0].shape
    return width * channels


def _gathered_rows(site: Site) -> int:
    """Rows of the image that are copied, or set to the zero point."""
    op, (x, weights, _) = site.node.op, site.signature.inputs
    assert isinstance(op, Conv2D)
    rows, taps, out_rows = x.shape[1], weights.shape[1], site.signature.output.shape[1]
    if op.dilations[0] > 1:
        return out_rows * taps
    tops = (row * op.strides[0] - op.padding[0] for row in range(out_rows))
    return taps * sum(top < 0 or top + taps > rows for top in tops)


def _window_fields(site: Site) -> tuple[Field, ...]:
    op, (x, weights, _) = site.node.op, site.signature.inputs
    assert isinstance(op, Conv2D)
    return (
        Field("in_rows", x.shape[1]),
        Field("in_row", _row_bytes(site)),
        Field("in_zero_point", x.zero_point),
        Field("kernel_rows", weights.shape[1]),
        Field("dilation", op.dilations[0]),
        Field("stride", op.strides[0]),
        Field("pad_top", op.padding[0]),
    )
