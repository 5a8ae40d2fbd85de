"""fully_connected on cores with DSP instructions: eight output channels at a time.

A row is widened to int16 words once, then meets one stream of constants. For layers of few rows:
with pairs of rows `conv_2d.pointwise_dsp` reads the weights half as often. See
glowmcu_fully_connected_dsp.h and fully_connected_assembly.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from glowmcu.ir.function_names import specialized
from glowmcu.kernels.common.dense_layer import layer_bound_note, row_count
from glowmcu.kernels.common.overlap import matrix_overlaps
from glowmcu.kernels.dsp.dense.fully_connected_assembly import (
    ROUND_STEPS,
    STEP_BYTES,
    row_assembly,
    walk,
)
from glowmcu.kernels.dsp.dense.layer import is_row_layer, layer_stream
from glowmcu.kernels.dsp.dense.stream import DenseStream
from glowmcu.kernels.dsp.dense.stream_code import (
    clamp_fields,
    scale_fields,
    stream_field,
    stream_view,
)
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
)
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.matmul import FullyConnected

#: Channels of a block.
_CHANNELS = 8


@kernel("fully_connected.dsp", Conv2D, FullyConnected)
class FullyConnectedDsp(Kernel):
    """Each row through the stream, SMLAD on packed weights; also a 1x1 convolution of one pixel."""

    #: Of the function.
    kind: ClassVar[str] = "fcrows"
    round_steps: ClassVar[int] = ROUND_STEPS

    def accepts(self, site: Site, target: Target) -> bool:
        return (
            is_row_layer(site, target) and layer_stream(site, _CHANNELS, uniform=True) is not None
        )

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        stream = _stream(site)
        rows = row_count(site)
        kind = "uniform" if stream.layout.uniform else stream.form.kind.value
        wide = " wide" if stream.layout.wide else ""
        return {
            f"step{wide}": rows * stream.blocks * stream.steps,
            f"block {kind}{wide}": rows * stream.blocks,
            "input": rows * stream.depth,
            "row": rows,
            "clamped": site.signature.output.element_count if stream.form.clamp else 0,
        }

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return STEP_BYTES * _stream(site).steps

    def flash_bytes(self, site: Site, target: Target) -> int:
        return _stream(site).size_bytes

    def code_key(self, site: Site, target: Target) -> str:
        return specialized(self.kind, *_stream(site).facts)

    def cost(self, site: Site, target: Target) -> Cost:
        work = self.work(site, target)
        return Cost(
            sum(_CYCLES[name] * amount for name, amount in work.items()),
            _CODE_BYTES - _STEP_CODE * (ROUND_STEPS - self.round_steps),
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
        )

    def generate(self, site: Site, target: Target) -> KernelCode:
        stream = _stream(site)
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="dsp/dense/fully_connected_dsp.c.j2",
            view={
                "headers": ("glowmcu_fully_connected_dsp.h",),
                "assembly": ordered(
                    row_assembly(stream.layout, stream.form.postshift, self.round_steps),
                    target,
                    apart=("r1",),
                ),
                **stream_view(stream),
            },
            parameters=Parameters(
                "glowmcu_fully_connected_dsp", _fields(site, stream, self.round_steps)
            ),
            rows=row_count(site),
            overlaps=matrix_overlaps(site.signature, row_count(site), 1, reads_first=True),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(layer_bound_note(site),),
        )


#: Cycles of each amount of work on a Cortex-M4, until the layer is calibrated.
_CYCLES = {
    "step": 19.6,
    "step wide": 20.6,
    "block uniform": 80.0,
    "block uniform wide": 80.0,
    "block floor": 80.0,
    "block two_sided": 100.0,
    "block literal": 110.0,
    "block floor wide": 85.0,
    "block two_sided wide": 100.0,
    "block literal wide": 110.0,
    "input": 2.4,
    "row": 90.0,
    "clamped": 8.0,
}
_CODE_BYTES, _STEP_CODE = 1550, 66


def _stream(site: Site) -> DenseStream:
    """What `accepts` has found to exist."""
    stream = layer_stream(site, _CHANNELS, uniform=True)
    assert stream is not None
    return stream


def _fields(site: Site, stream: DenseStream, round_steps: int) -> tuple[Field, ...]:
    way = walk(stream.steps, stream.layout, round_steps)
    return (
        stream_field(stream),
        Field("first_round", way.first_round),
        Field("last_round", way.last_round),
        Field("entry", way.entry),
        Field("jump", way.jump),
        *scale_fields(stream),
        Field("depth_in", stream.depth),
        Field("depth_out", len(stream.weights)),
        Field("steps", stream.steps),
        *clamp_fields(stream.form),
    )
