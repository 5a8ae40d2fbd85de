"""1x1 convolutions on cores with DSP instructions, with a function for each depth of the input.

The constants and the walk over pixels are those of `conv_2d.pointwise_dsp`; what the depth is no
longer costs cycles, but a function. See straight_assembly.py.
"""

from __future__ import annotations

from glowmcu.ir.assembly_macros import Assembly
from glowmcu.ir.function_names import specialized
from glowmcu.kernels.dsp.dense.pointwise import (
    APART,
    PIXELS_CODE_BYTES,
    PointwiseDsp,
    is_carried,
)
from glowmcu.kernels.dsp.dense.straight_assembly import straight_assembly
from glowmcu.kernels.dsp.dense.stream import DenseStream
from glowmcu.kernels.dsp.order.blocks import ordered
from glowmcu.kernels.kernel import Cost, Site, Target, kernel
from glowmcu.ops.convolution import Conv2D

#: Steps of two inputs beyond which loops cost next to nothing.
_MOST_STEPS = 64


@kernel("conv_2d.straight_dsp", Conv2D)
class StraightDsp(PointwiseDsp):
    """Each pair of pixels through the stream, all steps unrolled; up to 128 inputs."""

    def function(self, stream: DenseStream) -> str:
        return specialized("straight", f"{stream.depth} inputs", *stream.facts)

    def assembly(self, stream: DenseStream, target: Target) -> Assembly:
        lines = straight_assembly(
            stream.layout, stream.depth, stream.form.postshift, is_carried(stream, target)
        )
        return ordered(lines, target, unrolled=True, apart=APART)

    def accepts(self, site: Site, target: Target) -> bool:
        short = site.signature.inputs[1].shape[-1] <= 2 * _MOST_STEPS
        return short and super().accepts(site, target)

    def cost(self, site: Site, target: Target) -> Cost:
        work = self.work(site, target)
        stream = self.stream(site)
        return Cost(
            sum(_CYCLES[name] * amount for name, amount in work.items()),
            _CODE_BYTES + _STEP_CODE * stream.steps,
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
            around="conv_2d_pointwise",
            around_bytes=PIXELS_CODE_BYTES,
        )


#: Cycles of each amount of work on a Cortex-M4, until the layer is calibrated.
_CYCLES = {
    "step": 15.0,
    "step wide": 16.0,
    "block floor": 53.0,
    "block two_sided": 70.0,
    "block literal": 82.0,
    "block floor wide": 58.0,
    "block two_sided wide": 70.0,
    "block literal wide": 82.0,
    "input": 3.3,
    "pair": 22.0,
    "run": 110.0,
    "clamped": 8.0,
}
_CODE_BYTES, _STEP_CODE = 320, 52
