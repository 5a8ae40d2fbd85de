"""Grouped convolutions for cores with DSP instructions: each group is a convolution of its own.

Windows of a group's channels are copied together and go through the loop of
`conv_2d.pointwise_dsp`, two at a time; see libjit's glowmcu_conv_2d_grouped.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from glowmcu.ir.function_names import specialized
from glowmcu.ir.kernel_code import Overlap
from glowmcu.kernels.common.dense_layer import layer_bound_note, pixel_grid
from glowmcu.kernels.common.layer_fields import is_constant, is_int8
from glowmcu.kernels.common.overlap import (
    NOTHING,
    Overlaps,
    first_pixels,
    least_gap,
    pixel_blocks,
)
from glowmcu.kernels.dsp.convolution.rows import is_ungrouped
from glowmcu.kernels.dsp.dense.layer import layer_stream
from glowmcu.kernels.dsp.dense.pointwise import dense_fields
from glowmcu.kernels.dsp.dense.pointwise_assembly import STEP_BYTES, pairs_assembly
from glowmcu.kernels.dsp.dense.stream import DenseStream, weights_pack
from glowmcu.kernels.dsp.dense.stream_code import pairs_headers, stream_view
from glowmcu.kernels.dsp.order.blocks import ordered
from glowmcu.kernels.kernel import (
    Cost,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
    once_a_site,
)
from glowmcu.kernels.requantization.thresholds import picked
from glowmcu.ops.convolution import Conv2D

_CHANNELS = 4
#: Of a function and the C around it.
_CODE_BYTES, _AROUND_BYTES = 1310, 520


@kernel("conv_2d.grouped_dsp", Conv2D)
class GroupedConv2D(Kernel):
    """Two windows by four channels, group by group, SMLAD on packed weights; any window."""

    #: Of `work` on a Cortex-M4.
    _cycles: ClassVar[Mapping[str, float]] = {
        "call": 100.0, "step": 15.0, "step wide": 16.0, "block floor": 58.0,
        "block two_sided": 75.0, "block literal": 88.0, "block floor wide": 64.0,
        "block two_sided wide": 76.0, "block literal wide": 88.0, "input": 3.6, "group": 60.0,
        "window": 60.0, "tap": 16.0, "copied byte": 1.5, "clamped": 8.0,
    }  # fmt: skip

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp or not is_constant(site, 1, 2) or not is_int8(site):
            return False
        return not is_ungrouped(site) and _streams(site) is not None

    def work(self, site: Site, target: Target) -> dict[str, float]:
        streams, grid = _known(site), pixel_grid(site)
        first, kernel = streams[0], site.signature.inputs[1].shape[1:3]
        pixels = grid.batches * grid.rows * grid.columns
        groups = len(streams) * grid.batches * -(-grid.rows * grid.columns // 2)
        wide, windows = " wide" if first.layout.wide else "", len(streams) * pixels
        return {
            "call": grid.batches,
            f"step{wide}": groups * first.blocks * first.steps,
            f"block {first.form.kind.value}{wide}": groups * first.blocks,
            "input": groups * first.depth,
            "group": groups,
            "window": windows,
            "tap": windows * kernel[0] * kernel[1],
            "copied byte": windows * first.depth,
            "clamped": site.signature.output.element_count if first.form.clamp else 0,
        }

    def cost(self, site: Site, target: Target) -> Cost:
        cycles = sum(self._cycles[name] * much for name, much in self.work(site, target).items())
        return Cost(
            cycles,
            _CODE_BYTES,
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
            around="conv_2d_grouped",
            around_bytes=_AROUND_BYTES,
        )

    def flash_bytes(self, site: Site, target: Target) -> int:
        return sum(stream.size_bytes for stream in _known(site))

    def scratch_bytes(self, site: Site, target: Target) -> int:
        first = _known(site)[0]
        return STEP_BYTES * first.steps + 2 * _patch_bytes(first)

    def code_key(self, site: Site, target: Target) -> str:
        return specialized("grouped", *_known(site)[0].facts)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, first = site.node.op, _known(site)[0]
        assert isinstance(op, Conv2D)
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="dsp/convolution/conv_2d_compact_dsp.c.j2",
            view={
                "struct": "glowmcu_conv_2d_grouped",
                "headers": ("glowmcu_conv_2d_grouped.h", *pairs_headers(first)),
                "assembly": ordered(pairs_assembly(first.layout, first.form.postshift), target),
                **stream_view(first),
            },
            parameters=Parameters("glowmcu_conv_2d_grouped", _fields(site, op)),
            rows=site.signature.output.shape[1],
            batches=site.signature.inputs[0].shape[0],
            overlaps=_overlaps(site, op),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(layer_bound_note(site),),
            weight_passes=-(-site.signature.output.shape[1] * site.signature.output.shape[2] // 2),
        )


def _overlaps(site: Site, op: Conv2D) -> Overlaps:
    """Two pixels, group by group: each is read before it is written."""
    (x, weights, _), out = site.signature.inputs, site.signature.output
    if x.shape[0] != 1:
        return {}
    group = np.arange(x.shape[3] // weights.shape[3])
    first = first_pixels(op, site.signature, weights.shape[1:3])
    blocks = pixel_blocks(len(first), 2)
    of_blocks = np.array([first[start:end].min() for start, end in blocks], np.int64)[:, np.newaxis]
    needed = of_blocks * x.shape[3] + group * weights.shape[3]
    written = (blocks[:, 1:] - 1) * out.shape[3] + (group + 1) * (out.shape[3] // len(group))
    needed = np.where(of_blocks < NOTHING, needed, NOTHING)
    return {0: Overlap(least_gap(written.reshape(-1), needed.reshape(-1), x.size_bytes, True))}


def _patch_bytes(stream: DenseStream) -> int:
    """Of a window's copy."""
    return (stream.depth + 3) // 4 * 4


@once_a_site
def _streams(site: Site) -> tuple[DenseStream, ...] | None:
    """The constants of each group, all for one function; None if no requantization is exact."""
    whole = layer_stream(site, _CHANNELS)
    if whole is None:
        return None
    groups = site.signature.inputs[0].shape[3] // site.signature.inputs[1].shape[3]
    count = len(whole.weights) // groups
    parts = [slice(at, at + count) for at in range(0, len(whole.weights), count)]
    packs = all(weights_pack(whole.weights[part], _CHANNELS) for part in parts)
    layout = replace(whole.layout, wide=whole.layout.wide or not packs)
    return tuple(
        DenseStream(picked(whole.form, part), layout, whole.weights[part]) for part in parts
    )


def _known(site: Site) -> tuple[DenseStream, ...]:
    streams = _streams(site)
    assert streams is not None
    return streams


def _fields(site: Site, op: Conv2D) -> tuple[Field, ...]:
    streams, (x, weights, _) = _known(site), site.signature.inputs
    grid = replace(pixel_grid(site), step=_patch_bytes(streams[0]))
    dense = dense_fields(grid, streams[0], behind=streams[1:])
    return (
        Field("dense", Parameters("glowmcu_conv_2d_pointwise", dense)),
        Field("groups", len(streams)),
        Field("group_words", streams[0].size_bytes // 4),
        Field("group_channels", weights.shape[3]),
        Field("in_height", x.shape[1]),
        Field("in_width", x.shape[2]),
        Field("in_channels", x.shape[3]),
        Field("kernel_height", weights.shape[1]),
        Field("kernel_width", weights.shape[2]),
        Field("stride_y", op.strides[0]),
        Field("stride_x", op.strides[1]),
        Field("dilation_y", op.dilations[0]),
        Field("dilation_x", op.dilations[1]),
        Field("pad_top", op.padding[0]),
        Field("pad_left", op.padding[1]),
        Field("in_zero_point", x.zero_point),
    )
