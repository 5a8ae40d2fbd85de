"""fully_connected of weights of four bits, two in a byte, on cores with DSP instructions.

As quick as `fully_connected.direct_dsp`: an AND takes a channel's two weights from a word (see
nibbles.py) where that widens them, and half of the loads are gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from glowmcu.ir.function_names import specialized
from glowmcu.kernels.common.dense_layer import dense_weights, layer_bound_note, row_count
from glowmcu.kernels.common.overlap import matrix_overlaps
from glowmcu.kernels.dsp.dense.direct import (
    DIRECT_CHANNELS,
    direct_fields,
    rest_first,
    stream_work,
)
from glowmcu.kernels.dsp.dense.direct_assembly import ENTERED, row_assembly
from glowmcu.kernels.dsp.dense.layer import is_row_layer
from glowmcu.kernels.dsp.dense.stream import DenseStream, dense_stream
from glowmcu.kernels.dsp.dense.stream_code import stream_view
from glowmcu.kernels.dsp.order.blocks import ordered
from glowmcu.kernels.kernel import (
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
    once_a_site,
)
from glowmcu.kernels.requantization.forms import requantization_task
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.matmul import FullyConnected

_NOTE = "weights of four bits, two in a byte; sums of four channels apart stay below 2^31"


@kernel("fully_connected.nibbles_dsp", Conv2D, FullyConnected)
class FullyConnectedNibbles(Kernel):
    """Each row as it lies in memory; also a 1x1 convolution of one pixel."""

    stores_four_bits: ClassVar[bool] = True

    def accepts(self, site: Site, target: Target) -> bool:
        # Helium's kernels of eight bits take a third of the cycles.
        suits = is_row_layer(site, target) and not target.core.has_mve
        return suits and nibble_stream(site) is not None

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        rows = row_count(site)
        work = stream_work(site, _known(site), rows)
        return {**work, "input": rows * dense_weights(site).shape[1]}

    def flash_bytes(self, site: Site, target: Target) -> int:
        return _known(site).size_bytes

    def code_key(self, site: Site, target: Target) -> str:
        return specialized("fcdirect", *_known(site).facts)

    def generate(self, site: Site, target: Target) -> KernelCode:
        stream, rows = _known(site), row_count(site)
        lines = row_assembly(stream.layout, stream.form.postshift)
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="dsp/dense/fully_connected_nibbles_dsp.c.j2",
            view={
                "headers": ("glowmcu_fully_connected_nibbles_dsp.h",),
                "assembly": ordered(lines, target, fixed=ENTERED, apart=("r1",)),
                **stream_view(stream),
            },
            parameters=Parameters("glowmcu_fully_connected_nibbles", direct_fields(site, stream)),
            rows=rows,
            overlaps=matrix_overlaps(
                site.signature, rows, 1, reads_first=len(stream.weights) <= DIRECT_CHANNELS
            ),
            notes=(layer_bound_note(site), _NOTE),
        )


@once_a_site
def nibble_stream(site: Site) -> DenseStream | None:
    """The constants; None if weights need more bits, sums may not fit, or no form is exact."""
    weights = rest_first(dense_weights(site))
    task = requantization_task(site)
    return dense_stream(task, weights, DIRECT_CHANNELS, uniform=True, nibbles=True)


def _known(site: Site) -> DenseStream:
    """What `accepts` has found to exist."""
    stream = nibble_stream(site)
    assert stream is not None
    return stream
