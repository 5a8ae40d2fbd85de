"""conv_2d on cores with DSP instructions without a copy of the input: int8 values where they are.

An eighth slower than `conv_2d.rows_dsp`, which holds widened rows: for `ram`, and for layers that go
a row at a time. What needs padding is gathered, a pair of pixels at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from glowmcu.kernels.chunk_walk import ChunkWalk, chunk_walk
from glowmcu.kernels.chunks_assembly import chunks_assembly
from glowmcu.kernels.convolution import constant
from glowmcu.kernels.convolution_dsp import is_plain_int8_conv
from glowmcu.kernels.dense_layer import layer_bound_note
from glowmcu.kernels.dense_stream import DenseStream, dense_stream
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
from glowmcu.kernels.overlap import Overlaps, block_overlaps, first_pixels, pixel_blocks
from glowmcu.kernels.requantization import is_padded, requantization_task
from glowmcu.ops.convolution import Conv2D

_CHANNELS = 4


@kernel("conv_2d.chunks_dsp", Conv2D)
class ChunksConv2D(Kernel):
    """Two pixels by four channels, SMLAD on packed weights and values widened as they are read."""

    row_slowdown: ClassVar[float] = 1.02

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp or not is_plain_int8_conv(site):
            return False
        return walk_of(site).fits and _possible_stream(site) is not None

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        walk, stream = walk_of(site), _stream(site)
        batches, rows, columns, _ = site.signature.output.shape
        pairs = batches * rows * -(-columns // 2)
        blocks = pairs * stream.blocks
        wide = " wide" if stream.layout.wide else ""
        gathered = pairs if walk.gathers_all else batches * gathered_pairs(site)
        return {
            f"step{wide}": blocks * stream.steps,
            f"block {stream.form.kind.value}{wide}": blocks,
            "chunk": blocks * walk.chunks * walk.runs,
            "pair": pairs,
            "row": batches * rows,
            "gathered pair": gathered,
            "gathered row": gathered * walk.kernel[0] * (2 if walk.gathers_all else 1),
            "gathered byte": gathered * walk.patch_bytes,
            "call": 1.0,
            "clamped": site.signature.output.element_count if stream.form.clamp else 0,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        walk = walk_of(site)
        ways = walk.runs * walk.chunks * (1 if walk.gathers_all else 2)
        return _stream(site).size_bytes + 4 * ways

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return walk_of(site).patch_bytes

    def code_key(self, site: Site, target: Target) -> str:
        return _function(walk_of(site), _stream(site))

    def cost(self, site: Site, target: Target) -> Cost:
        work = self.work(site, target)
        layout = _stream(site).layout
        step = 60 if layout.wide else 58
        return Cost(
            sum(_CYCLES[name] * amount for name, amount in work.items()),
            900 + 2 * step * len(walk_of(site).offsets),
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
        )

    def generate(self, site: Site, target: Target) -> KernelCode:
        walk, stream = walk_of(site), _stream(site)
        batches, rows = site.signature.output.shape[:2]
        return KernelCode(
            function=_function(walk, stream),
            operands=(0,),
            template="conv_2d_chunks_dsp.c.j2",
            view=_view(walk, stream),
            parameters=Parameters("glowmcu_conv_2d_chunks", _fields(site, walk, stream)),
            rows=rows,
            batches=batches,
            scratch_bytes=walk.patch_bytes,
            overlaps=_overlaps(site, walk),
            notes=(layer_bound_note(site),),
        )


def _overlaps(site: Site, walk: ChunkWalk) -> Overlaps:
    """Pairs of pixels, read anew for every four channels; the last of an odd row goes with the one
    before.
    """
    op, width = site.node.op, site.signature.output.shape[2]
    assert isinstance(op, Conv2D)
    first = first_pixels(op, site.signature, walk.kernel)
    blocks = pixel_blocks(len(first), 2, row=width, shifted=width > 1)
    return block_overlaps(site.signature, first, blocks, reads_first=False)


#: Cycles of each amount of work on a Cortex-M4, until the layer is priced from measurements.
_CYCLES = {
    "step": 17.0,
    "step wide": 18.0,
    "block floor": 62.0,
    "block two_sided": 80.0,
    "block literal": 90.0,
    "block floor wide": 66.0,
    "block two_sided wide": 80.0,
    "block literal wide": 90.0,
    "chunk": 11.0,
    "pair": 22.0,
    "row": 100.0,
    "gathered pair": 130.0,
    "gathered row": 60.0,
    "gathered byte": 1.3,
    "call": 60.0,
    "clamped": 8.0,
}


def walk_of(site: Site) -> ChunkWalk:
    """The walk over the input."""
    op = site.node.op
    assert isinstance(op, Conv2D)
    return chunk_walk(op, site.signature, is_padded(site))


def gathered_pairs(site: Site) -> int:
    """Pairs of pixels of an image whose values are not all inside it."""
    op, (x, weights, _), out = site.node.op, site.signature.inputs, site.signature.output
    assert isinstance(op, Conv2D)
    inside = []
    for axis, together in ((0, 1), (1, 2)):
        size = out.shape[1 + axis]
        reach = (weights.shape[1 + axis] - 1) * op.dilations[axis]
        firsts = np.arange(0, size, together)
        lasts = np.minimum(firsts + together, size) - 1
        begin = firsts * op.strides[axis] - op.padding[axis]
        end = lasts * op.strides[axis] - op.padding[axis] + reach
        inside.append((int(((begin >= 0) & (end < x.shape[1 + axis])).sum()), len(firsts)))
    (rows, all_rows), (pairs, all_pairs) = inside
    return all_rows * all_pairs - rows * pairs


def _stream(site: Site) -> DenseStream:
    stream = _possible_stream(site)
    assert stream is not None
    return stream


def _possible_stream(site: Site) -> DenseStream | None:
    """None where no requantization form is exact."""
    weights = walk_of(site).weights(constant(site, 1).astype(np.int64))
    return dense_stream(requantization_task(site), weights, _CHANNELS)


def _function(walk: ChunkWalk, stream: DenseStream) -> str:
    inside = "" if walk.patch_bytes else "_inside"
    return f"glowmcu_conv_2d_chunks{inside}_{walk.distance}_{walk.chunk_values}{stream.suffix}"


def _view(walk: ChunkWalk, stream: DenseStream) -> dict[str, object]:
    form = stream.form
    return {
        "headers": ("glowmcu_conv_2d_chunks.h",),
        "assembly": chunks_assembly(stream.layout, walk.distance, walk.offsets, form.postshift),
        "form": form.kind.value,
        "postshift": form.postshift,
        "wide": stream.layout.wide,
        "distance": walk.distance,
        "fours": len(walk.offsets),
        "last": walk.offsets[-1],
        "gathers": walk.patch_bytes > 0,
    }


def _fields(site: Site, walk: ChunkWalk, stream: DenseStream) -> tuple[Field, ...]:
    op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
    assert isinstance(op, Conv2D)
    clamp_min, clamp_max = stream.form.clamp or (1, 0)
    image, patch = (np.array(ways, np.int32) for ways in (walk.image_ways, walk.patch_ways))
    comment = "see libjit's glowmcu_dense_stream.h"
    return (
        Field("stream", ConstantArray("stream", stream.words(), comment)),
        Field("image_ways", None if walk.gathers_all else ConstantArray("image_ways", image)),
        Field("patch_ways", ConstantArray("patch_ways", patch) if walk.patch_bytes else None),
        Field("in_height", x.shape[1]),
        Field("in_width", x.shape[2]),
        Field("in_channels", x.shape[3]),
        Field("kernel_height", walk.kernel[0]),
        Field("stride_y", op.strides[0]),
        Field("stride_x", op.strides[1]),
        Field("dilation_y", op.dilations[0]),
        Field("dilation_x", op.dilations[1]),
        Field("pad_top", op.padding[0]),
        Field("pad_left", op.padding[1]),
        Field("in_zero_point", x.zero_point),
        Field("columns", walk.columns),
        Field("second_patch", walk.distance if walk.gathers_all else 0),
        Field("out_width", out.shape[2]),
        Field("depth_out", out.shape[3]),
        Field("clamp_min", clamp_min),
        Field("clamp_max", clamp_max),
    )
