"""Portable kernels of frames of samples: windows, scaling, energies, overlapping sums.

With DSP instructions samples are taken two at a time, in the same functions.
"""

from __future__ import annotations

import math

from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.overlap import element_overlaps
from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.ops.signal_frame import Energy, FftAutoScale, OverlapAdd, Window


@kernel("signal_window.portable", Window)
class PortableWindow(Kernel):
    """Any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        cycles = 8.0 if target.core.has_dsp else 20.0
        return Cost(cycles * site.signature.output.element_count, 110, 12)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, (x, weights) = site.node.op, site.signature.inputs
        assert isinstance(op, Window)
        fields = (
            Field("frames", x.element_count // weights.element_count),
            Field("count", weights.element_count),
            Field("shift", op.shift),
        )
        return KernelCode(
            function="glowmcu_signal_window_s16",
            operands=(0, 1),
            header="glowmcu_signal_window.h",
            parameters=Parameters("glowmcu_signal_window", fields),
            overlaps={0: element_overlaps(site.signature)[0]},
        )


@kernel("signal_fft_auto_scale.portable", FftAutoScale)
class PortableFftAutoScale(Kernel):
    """Any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        cycles = 11.5 if target.core.has_dsp else 23.0
        return Cost(cycles * site.signature.output.element_count, 220, 4)

    def generate(self, site: Site, target: Target) -> KernelCode:
        count = Field("count", site.signature.output.element_count)
        return KernelCode(
            function="glowmcu_signal_fft_auto_scale_s16",
            operands=(0,),
            header="glowmcu_signal_fft_auto_scale.h",
            parameters=Parameters("glowmcu_signal_fft_auto_scale", (count,)),
            overlaps=element_overlaps(site.signature),
        )


@kernel("signal_energy.portable", Energy)
class PortableEnergy(Kernel):
    """Any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        cycles = 9.5 if target.core.has_dsp else 14.0
        return Cost(cycles * site.signature.output.element_count, 70, 12)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, Energy)
        fields = (
            Field("pairs", site.signature.output.element_count),
            Field("first", op.start),
            Field("end", op.end),
        )
        return KernelCode(
            function="glowmcu_signal_energy_s16",
            operands=(0,),
            header="glowmcu_signal_energy.h",
            parameters=Parameters("glowmcu_signal_energy", fields),
        )


#: Function, header and struct by element type.
_SUMS = {
    ElementType.I16: (
        *("glowmcu_signal_overlap_add_s16", "glowmcu_signal_overlap_add.h"),
        "glowmcu_signal_overlap_add",
    ),
    ElementType.F32: (
        *("glowmcu_signal_overlap_add_f32", "glowmcu_signal_overlap_add_f32.h"),
        "glowmcu_signal_overlap_add_f32_frames",
    ),
}


@kernel("signal_overlap_add.portable", OverlapAdd)
class PortableOverlapAdd(Kernel):
    """Any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(14.0 * site.signature.inputs[0].element_count, 130, 16)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x = site.node.op, site.signature.inputs[0]
        assert isinstance(op, OverlapAdd)
        function, header, struct = _SUMS[x.element]
        fields = (
            Field("outer", math.prod(x.shape[:-2])),
            Field("frames", x.shape[-2]),
            Field("size", x.shape[-1]),
            Field("step", op.step),
        )
        return KernelCode(
            function=function,
            operands=(0, 1),
            header=header,
            parameters=Parameters(struct, fields),
        )
