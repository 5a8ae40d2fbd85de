"""conv_2d and fully_connected on int16 with int8 weights, on cores with DSP instructions.

Inputs are words of two as they lie, so that nothing is widened or gathered, and no scratch is
needed: windows are runs of neighbours, of which those at the edges are shorter.
"""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.ir.function_names import specialized
from glowmcu.kernels.common.wide_layer import is_wide_layer, wide_note, wide_overlaps, window_taps
from glowmcu.kernels.dsp.int16.results_assembly import Clamp
from glowmcu.kernels.dsp.int16.windows_assembly import CHANNELS, window_assembly
from glowmcu.kernels.dsp.int16.windows_stream import (
    WindowStream,
    code_for,
    known_stream,
    window_stream,
)
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
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.matmul import FullyConnected

#: Cycles of each amount of work on a Cortex-M4, until the layer is priced from measurements.
_CYCLES = {
    "four": 21.0,
    "rest": 25.0,
    "run": 26.0,
    "block": 50.0,
    "pixel": 90.0,
    "call": 80.0,
    "clamped": 24.0,
}
_STREAM = "starts, weights and scales, 4 channels a block"


@kernel("wide.windows_dsp", Conv2D, FullyConnected)
class WideWindowsDsp(Kernel):
    """Pixel by pixel, four channels at a time; any window, grouped and dilated too."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp or not is_wide_layer(site):
            return False
        return window_stream(site) is not None

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return window_amounts(site)

    def flash_bytes(self, site: Site, target: Target) -> int:
        return known_stream(site).size_bytes

    def code_key(self, site: Site, target: Target) -> str:
        return specialized("windows", *known_stream(site).code.facts)

    def cost(self, site: Site, target: Target) -> Cost:
        cycles = sum(_CYCLES[name.split()[0]] * n for name, n in self.work(site, target).items())
        code = code_for(site, target)
        size = 480 + 4 * code.four_bytes + 140 * code.rest + 60 * code.parts
        size += 100 * code.wide + 60 * code.front
        key = self.code_key(site, target)
        return Cost(cycles, size, self.flash_bytes(site, target), code_key=key)

    def generate(self, site: Site, target: Target) -> KernelCode:
        stream, code = known_stream(site), code_for(site, target)
        op, geometry = site.node.op, stream.geometry
        assert isinstance(op, Conv2D | FullyConnected)
        is_dense = isinstance(op, FullyConnected)
        shape = site.signature.output.shape
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="dsp/int16/wide_windows_dsp.c.j2",
            view={
                "headers": ("glowmcu_wide_windows_dsp.h",),
                "assembly": ordered(
                    window_assembly(code), target, fixed=code.entered, apart=("r1",)
                ),
                "code": code,
            },
            parameters=Parameters("glowmcu_wide_windows", _fields(site, stream)),
            rows=geometry.in_height if is_dense else shape[1],
            batches=1 if is_dense else shape[0],
            overlaps=wide_overlaps(site, 1, CHANNELS),
            notes=(wide_note(site),),
            weight_passes=self.work(site, target)["pixel"] / geometry.groups,
        )


def _fields(site: Site, stream: WindowStream) -> tuple[Field, ...]:
    op, geometry = site.node.op, stream.geometry
    assert isinstance(op, Conv2D | FullyConnected)
    names = (
        "in_height", "in_width", "in_channels", "out_width", "kernel_height", "kernel_width",
        "stride_y", "stride_x", "dilation_y", "dilation_x", "pad_top", "pad_left", "groups",
        "group_inputs", "group_outputs", "parts",
    )  # fmt: skip
    least, most = op.clamp_range(site.signature)
    return (
        *(Field(name, getattr(geometry, name)) for name in names),
        Field("clamp_min", least),
        Field("clamp_max", most),
        Field("stream", ConstantArray("stream", stream.words(), _STREAM)),
    )


@once_a_site
def window_amounts(site: Site) -> dict[str, float]:
    """Amounts of work: fours of inputs and what else there is, a block or a pixel at a time."""
    stream = known_stream(site)
    geometry, code = stream.geometry, stream.code
    down, along = window_taps(site, geometry)
    fours = rests = runs = 0
    for taps in along:
        together = geometry.parts == 1
        inputs = (taps if together else 1) * geometry.group_inputs
        count = sum(down) * (1 if together else taps)
        runs += count
        fours += count * (inputs // 4)
        rests += count * (inputs % 4 // 2 + inputs % 2)
    kind = f"{' wide' * code.wide}{'' if code.packed else ' bytes'}"
    batches = 1 if isinstance(site.node.op, FullyConnected) else site.signature.output.shape[0]
    blocks, pixels = batches * stream.blocks, len(down) * len(along)
    return {
        "call": batches,
        "pixel": batches * geometry.groups * pixels,
        f"block{' wide' * code.wide}{' doubled' * code.doubled}": blocks * pixels,
        "clamped": blocks * pixels if code.clamp is Clamp.ANY else 0,
        "run": 0 if code.single else blocks * runs,
        f"four{kind}": blocks * fours,
        "rest": blocks * rests,
    }
