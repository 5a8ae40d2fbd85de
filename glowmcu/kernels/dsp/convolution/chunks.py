"""conv_2d on cores with DSP instructions without a copy of the input: int8 values where they are.

An eighth to a fifth slower than `conv_2d.rows_dsp`, which holds widened rows: for `ram`, and for
layers that go a row at a time. What needs padding is gathered, a pair of pixels at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from glowmcu.ir.function_names import specialized
from glowmcu.kernels.common.dense_layer import layer_bound_note
from glowmcu.kernels.common.layer_fields import constant, is_padded
from glowmcu.kernels.common.overlap import Overlaps, block_overlaps, first_pixels, pixel_blocks
from glowmcu.kernels.dsp.convolution.chunk_walk import ChunkWalk, RunKind, chunk_walk
from glowmcu.kernels.dsp.convolution.chunks_assembly import chunks_assembly
from glowmcu.kernels.dsp.convolution.rows import is_plain_int8_conv
from glowmcu.kernels.dsp.dense.stream import DenseStream, dense_stream
from glowmcu.kernels.dsp.dense.stream_code import clamp_fields, stream_field, stream_view
from glowmcu.kernels.dsp.order.blocks import ordered
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
    once_a_site,
)
from glowmcu.kernels.requantization.forms import FormKind, requantization_task
from glowmcu.ops.convolution import Conv2D

#: What the constant's comment says of it; see glowmcu_conv_2d_chunks.h.
_PLACES = "2 * bytes from a pair; odd: into the patch; -1 ends"
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
        gathered = batches * walk.gathered_pairs
        return {
            "step": blocks * stream.steps * (_WIDE_STEP if stream.layout.wide else 1.0),
            "block": blocks * _BLOCK[stream.form.kind],
            "chunk": blocks * walk.chunks * walk.runs,
            "pair": pairs,
            "row": batches * rows,
            "gathered pair": gathered,
            "gathered run": gathered * _gathered_runs(walk),
            "gathered byte": gathered * walk.patch_bytes,
            "call": 1.0,
            "clamped": site.signature.output.element_count if stream.form.clamp else 0,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return _stream(site).size_bytes + 4 * len(walk_of(site).places)

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return walk_of(site).places_bytes + walk_of(site).patch_bytes

    def code_key(self, site: Site, target: Target) -> str:
        return _function(walk_of(site), _stream(site))

    def cost(self, site: Site, target: Target) -> Cost:
        work = self.work(site, target)
        return Cost(
            sum(_CYCLES[name] * amount for name, amount in work.items()),
            _OTHER_BYTES + 2 * _STEP_BYTES * len(walk_of(site).offsets),
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
            around="conv_2d_chunks",
            around_bytes=_AROUND_BYTES,
        )

    def generate(self, site: Site, target: Target) -> KernelCode:
        walk, stream = walk_of(site), _stream(site)
        batches, rows = site.signature.output.shape[:2]
        return KernelCode(
            function=_function(walk, stream),
            operands=(0,),
            template="dsp/convolution/conv_2d_chunks_dsp.c.j2",
            view=_view(walk, stream, target),
            parameters=Parameters("glowmcu_conv_2d_chunks", _fields(site, walk, stream)),
            rows=rows,
            batches=batches,
            scratch_bytes=self.scratch_bytes(site, target),
            overlaps=_overlaps(site, walk),
            notes=(layer_bound_note(site),),
            weight_passes=self.work(site, target)["pair"],
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


#: A step with a word of weights a channel, by one of packed weights.
_WIDE_STEP = 1.06
#: Cycles of a block but for its chunks, on a Cortex-M4.
_BLOCK = {FormKind.FLOOR: 75.0, FormKind.TWO_SIDED: 94.0, FormKind.LITERAL: 104.0}
#: Cycles of each amount of work there, until the layer is calibrated.
_CYCLES = {
    "step": 17.1,
    "block": 1.0,
    "chunk": 9.9,
    "pair": 35.0,
    "row": 220.0,
    "gathered pair": 464.0,
    "gathered run": 101.0,
    "gathered byte": 1.25,
    "call": 5.0,
    "clamped": 8.0,
}
#: Bytes of a function: of a step, and of all else with a part of the C that several share.
_STEP_BYTES, _OTHER_BYTES, _AROUND_BYTES = 62, 220, 940


@once_a_site
def walk_of(site: Site) -> ChunkWalk:
    """The walk over the input."""
    op = site.node.op
    assert isinstance(op, Conv2D)
    return chunk_walk(op, site.signature, is_padded(site))


def _gathered_runs(walk: ChunkWalk) -> int:
    """That places or copies are made for, a pair."""
    if walk.kind is RunKind.WINDOW:
        return walk.kernel[0] * (2 if walk.distance else 1)
    return walk.runs


def _stream(site: Site) -> DenseStream:
    stream = _possible_stream(site)
    assert stream is not None
    return stream


@once_a_site
def _possible_stream(site: Site) -> DenseStream | None:
    """None if no requantization form is exact."""
    weights = walk_of(site).weights(constant(site, 1))
    return dense_stream(requantization_task(site), weights, _CHANNELS)


def _gather(walk: ChunkWalk) -> str:
    """How what is outside the image comes into the patch."""
    if walk.kind is RunKind.WINDOW:
        return "whole"
    return "pieces" if walk.padded else "none"


def _function(walk: ChunkWalk, stream: DenseStream) -> str:
    where = {"none": "inside", "pieces": "", "whole": "windows"}[_gather(walk)]
    sizes = f"{walk.distance} apart", f"{walk.chunk_values} values"
    return specialized("chunks", *sizes, where, *stream.facts)


def _view(walk: ChunkWalk, stream: DenseStream, target: Target) -> dict[str, object]:
    lines = chunks_assembly(stream.layout, walk.distance, walk.offsets, stream.form.postshift)
    return {
        **stream_view(stream),
        "headers": ("glowmcu_conv_2d_chunks.h",),
        "assembly": ordered(lines, target),
        "distance": walk.distance,
        "fours": len(walk.offsets),
        "last": walk.offsets[-1],
        "gather": _gather(walk),
    }


def _fields(site: Site, walk: ChunkWalk, stream: DenseStream) -> tuple[Field, ...]:
    op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
    assert isinstance(op, Conv2D)
    return (
        stream_field(stream),
        Field("places", ConstantArray("places", np.array(walk.places, np.int32), _PLACES)),
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
        Field("runs", walk.runs_across),
        Field("run_columns", walk.run_columns),
        Field("run_values", walk.run_values),
        Field("chunk_values", walk.chunk_values),
        Field("reach", walk.reach),
        Field("patch_at", walk.places_bytes),
        Field("second_patch", walk.distance if walk.kind is RunKind.WINDOW else -1),
        Field("out_width", out.shape[2]),
        Field("depth_out", out.shape[3]),
        *clamp_fields(stream.form),
    )
