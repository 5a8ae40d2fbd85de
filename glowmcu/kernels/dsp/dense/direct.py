"""fully_connected on cores with DSP instructions, without scratch: inputs are widened in registers.

As quick as `fully_connected.dsp`, whose row of int16 words it does without: widening four inputs
takes three instructions for eight channels, of about forty. See direct_assembly.py.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from glowmcu.ir.function_names import specialized
from glowmcu.ir.operation import Array
from glowmcu.kernels.common.dense_layer import dense_weights, layer_bound_note, row_count
from glowmcu.kernels.common.overlap import matrix_overlaps
from glowmcu.kernels.dsp.dense.direct_assembly import ENTERED, FOUR, row_assembly, walk
from glowmcu.kernels.dsp.dense.direct_even_assembly import is_even
from glowmcu.kernels.dsp.dense.layer import is_row_layer
from glowmcu.kernels.dsp.dense.stream import SECTION, DenseStream, dense_stream
from glowmcu.kernels.dsp.dense.stream_code import (
    clamp_fields,
    scale_fields,
    stream_field,
    stream_view,
)
from glowmcu.kernels.dsp.order.blocks import ordered
from glowmcu.kernels.kernel import (
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.kernels.requantization.forms import requantization_task
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.matmul import FullyConnected

#: Channels of a block.
DIRECT_CHANNELS = 8


@kernel("fully_connected.direct_dsp", Conv2D, FullyConnected)
class FullyConnectedDirect(Kernel):
    """Each row as it lies in memory through the stream; also a 1x1 convolution of one pixel."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_row_layer(site, target) and direct_stream(site) is not None

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        work = direct_work(site, row_count(site))
        if is_even_layer(site, target):
            work["even four"] = work.pop("four")
        return work

    def flash_bytes(self, site: Site, target: Target) -> int:
        return known_stream(site).size_bytes

    def code_key(self, site: Site, target: Target) -> str:
        even = "even" * is_even_layer(site, target)
        return specialized("fcdirect", *known_stream(site).facts, even)

    def generate(self, site: Site, target: Target) -> KernelCode:
        stream, rows = known_stream(site), row_count(site)
        outputs, even = len(stream.weights), is_even_layer(site, target)
        lines = row_assembly(stream.layout, stream.form.postshift, even)
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="dsp/dense/fully_connected_direct_dsp.c.j2",
            view={
                "headers": ("glowmcu_fully_connected_direct_dsp.h",),
                "assembly": ordered(lines, target, fixed="" if even else ENTERED, apart=("r1",)),
                "even": even,
                **stream_view(stream),
            },
            parameters=Parameters(
                "glowmcu_fully_connected_direct", direct_fields(site, stream, even)
            ),
            rows=rows,
            overlaps=matrix_overlaps(
                site.signature, rows, 1, reads_first=outputs <= DIRECT_CHANNELS
            ),
            notes=(layer_bound_note(site),),
        )


def direct_stream(site: Site) -> DenseStream | None:
    """The constants; None if no requantization form is exact."""
    weights = rest_first(dense_weights(site))
    task = requantization_task(site)
    return dense_stream(task, weights, DIRECT_CHANNELS, uniform=True, sections=True)


def rest_first(weights: Array) -> Array:
    """(channels, inputs): those that do not fill a four go first and become one, with zeros."""
    depth = weights.shape[1]
    whole = depth // FOUR * FOUR
    rest = np.pad(weights[:, whole:], ((0, 0), (0, -depth % FOUR)))
    return np.concatenate([rest, weights[:, :whole]], axis=1)


def known_stream(site: Site) -> DenseStream:
    """What `accepts` has found to exist."""
    stream = direct_stream(site)
    assert stream is not None
    return stream


def direct_work(site: Site, rows: int) -> dict[str, float]:
    """Amounts of what takes time, for `rows` rows of the layer."""
    stream = known_stream(site)
    sections = -(-stream.depth // SECTION) if stream.layout.sections else 0
    return {**stream_work(site, stream, rows), "section": rows * stream.blocks * sections}


def stream_work(site: Site, stream: DenseStream, rows: int) -> dict[str, float]:
    """The same with these constants."""
    kind = "uniform" if stream.layout.uniform else stream.form.kind.value
    layout = stream.layout
    wide = " wide" if layout.wide and not layout.nibbles else ""
    return {
        f"four{'' if layout.packed else wide}": rows * stream.blocks * stream.depth // FOUR,
        f"block {kind}{wide}": rows * stream.blocks,
        "row": rows,
        "clamped": site.signature.output.element_count if stream.form.clamp else 0,
    }


def is_even_layer(site: Site, target: Target) -> bool:
    """Whether the layer's function is the one for a multiple of eight inputs."""
    depth = int(dense_weights(site).shape[1])
    return target.core.dual_issue and is_even(depth, known_stream(site).layout)


def direct_fields(site: Site, stream: DenseStream, even: bool = False) -> tuple[Field, ...]:
    depth = int(dense_weights(site).shape[1])
    way = walk(depth, stream.layout, even=even)
    return (
        stream_field(stream),
        Field("first_round", way.first_round),
        Field("end_round", way.end_round),
        Field("entry", way.entry),
        Field("jump", way.jump),
        *scale_fields(stream),
        Field("depth_in", depth),
        Field("depth_out", len(stream.weights)),
        *clamp_fields(stream.form),
    )
