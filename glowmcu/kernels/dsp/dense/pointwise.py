"""1x1 convolutions and dense layers on cores with DSP instructions: two pixels by four channels.

One function for all shapes: a pair of pixels is widened to int16 words, then meets one stream of
constants. See glowmcu_conv_2d_pointwise.h and pointwise_assembly.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from glowmcu.ir.assembly_macros import Assembly
from glowmcu.ir.function_names import specialized
from glowmcu.kernels.common.dense_layer import (
    PixelGrid,
    is_dense_layer,
    layer_bound_note,
    pixel_grid,
)
from glowmcu.kernels.common.four_bits import FOUR_BITS_NOTES
from glowmcu.kernels.dsp.dense.layer import layer_stream, pair_overlaps
from glowmcu.kernels.dsp.dense.pointwise_assembly import (
    ROUND_STEPS,
    STEP_BYTES,
    pairs_assembly,
    walk,
)
from glowmcu.kernels.dsp.dense.stream import DenseStream
from glowmcu.kernels.dsp.dense.stream_code import (
    clamp_fields,
    pairs_headers,
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

#: Scratch and stream of all loops over pairs of pixels.
APART = ("r0", "r1")
#: Channels of a block.
CHANNELS = 4
#: Weights from which on a single pixel is not worth looking for a form: it goes through twice.
_LARGE_ROW = 4096


@kernel("conv_2d.pointwise_dsp", Conv2D, FullyConnected)
class PointwiseDsp(Kernel):
    """Each pair of pixels through the stream, SMLAD on packed weights; any shape."""

    #: Whether weights have four bits.
    nibbles: ClassVar[bool] = False

    def function(self, stream: DenseStream) -> str:
        """What it is known by, the same for all layers of one text."""
        return specialized("pointwise", *stream.facts)

    def assembly(self, stream: DenseStream, target: Target) -> Assembly:
        """The loop over pairs of pixels."""
        lines = pairs_assembly(
            stream.layout, stream.form.postshift, carried=is_carried(stream, target)
        )
        return ordered(lines, target, apart=APART)

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp or not is_dense_layer(site):
            return False
        weights = site.signature.inputs[1]
        if weights.shape[0] < CHANNELS or (
            pixel_grid(site).runs == (1, 1) and weights.element_count > _LARGE_ROW
        ):
            return False
        return layer_stream(site, CHANNELS, nibbles=self.nibbles) is not None

    def stream(self, site: Site) -> DenseStream:
        """The constants that `accepts` has found to exist."""
        stream = layer_stream(site, CHANNELS, nibbles=self.nibbles)
        assert stream is not None
        return stream

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        stream, grid = self.stream(site), pixel_grid(site)
        runs, count = grid.runs
        pairs = runs * (-(-count // 2))
        wide = " wide" if stream.layout.wide else ""
        return {
            f"step{wide}": pairs * stream.blocks * stream.steps,
            f"block {stream.form.kind.value}{wide}": pairs * stream.blocks,
            "input": pairs * stream.depth,
            "pair": pairs,
            "run": runs * (1 + count % 2),
            "clamped": site.signature.output.element_count if stream.form.clamp else 0,
        }

    def scratch_bytes(self, site: Site, target: Target) -> int:
        steps = -(-site.signature.inputs[1].shape[-1] // 2)
        # What the first of several steps loads for the second one, a single step loads too.
        return STEP_BYTES * max(steps, 2 if target.core.dual_issue else 1)

    def flash_bytes(self, site: Site, target: Target) -> int:
        return self.stream(site).size_bytes

    def code_key(self, site: Site, target: Target) -> str:
        return self.function(self.stream(site))

    def cost(self, site: Site, target: Target) -> Cost:
        work = self.work(site, target)
        return Cost(
            sum(_CYCLES[name] * amount for name, amount in work.items()),
            _CODE_BYTES,
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
            around="conv_2d_pointwise",
            around_bytes=PIXELS_CODE_BYTES,
        )

    def generate(self, site: Site, target: Target) -> KernelCode:
        stream, grid = self.stream(site), pixel_grid(site)
        return KernelCode(
            function=self.function(stream),
            operands=(0,),
            template="dsp/dense/conv_2d_pointwise_dsp.c.j2",
            view={
                "headers": ("glowmcu_conv_2d_pointwise.h", *pairs_headers(stream)),
                "assembly": self.assembly(stream, target),
                **stream_view(stream),
            },
            parameters=Parameters(
                "glowmcu_conv_2d_pointwise",
                dense_fields(grid, stream, carried=is_carried(stream, target)),
            ),
            rows=grid.rows,
            batches=grid.batches,
            overlaps=pair_overlaps(site),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(layer_bound_note(site), *FOUR_BITS_NOTES[: self.stores_four_bits]),
            weight_passes=self.work(site, target)["pair"],
        )


#: Cycles of each amount of work on a Cortex-M4, until the layer is calibrated.
_CYCLES = {
    "step": 15.0,
    "step wide": 16.0,
    "block floor": 58.0,
    "block two_sided": 75.0,
    "block literal": 88.0,
    "block floor wide": 64.0,
    "block two_sided wide": 76.0,
    "block literal wide": 88.0,
    "input": 3.6,
    "pair": 28.0,
    "run": 110.0,
    "clamped": 8.0,
}
#: Of the function, of the C that finds pairs of pixels.
_CODE_BYTES, PIXELS_CODE_BYTES = 1310, 240


def is_carried(stream: DenseStream, target: Target) -> bool:
    """Whether a step loads for the next one."""
    return target.core.dual_issue and (stream.layout.nibbles or not stream.layout.wide)


def dense_fields(
    grid: PixelGrid,
    stream: DenseStream,
    round_steps: int = ROUND_STEPS,
    carried: bool = False,
    behind: Sequence[DenseStream] = (),
) -> tuple[Field, ...]:
    """Of a `glowmcu_conv_2d_pointwise`, for a function with rounds of `round_steps`; `behind` are
    the streams of a layer's other groups.
    """
    depth = stream.depth
    way = walk(stream.steps, stream.layout, round_steps, carried)
    return (
        stream_field(stream, way.is_single, behind),
        Field("rest", depth % 8 + 8 * way.is_single),
        Field("eights_bytes", depth // 8 * 4 * STEP_BYTES),
        Field("first_round", way.first_round),
        Field("last_round", way.last_round),
        Field("entry", way.entry),
        Field("jump", way.jump),
        Field("depth_in", depth),
        Field("depth_out", len(stream.weights)),
        Field("steps", stream.steps),
        Field("out_width", grid.columns),
        Field("in_step", grid.step),
        Field("in_row", grid.row_step),
        Field("is_dense", int(grid.is_dense)),
        *clamp_fields(stream.form),
    )
