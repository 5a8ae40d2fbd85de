"""Convolutions of weights of four bits, two in a byte, on cores with DSP instructions.

The windows of `conv_2d.compact_dsp`, copied together, go through the loop of `conv_2d.nibbles_dsp`.
"""

from __future__ import annotations

from typing import ClassVar

from glowmcu.kernels.dsp.convolution.compact import CompactConv2D, patch_bytes
from glowmcu.kernels.dsp.dense.layer import layer_stream
from glowmcu.kernels.dsp.dense.pointwise import is_carried
from glowmcu.kernels.dsp.dense.pointwise_assembly import ROUND_STEPS
from glowmcu.kernels.dsp.dense.stream import DenseStream
from glowmcu.kernels.kernel import Site, Target, kernel
from glowmcu.ops.convolution import Conv2D


@kernel("conv_2d.nibbles_windows_dsp", Conv2D)
class WindowNibbles(CompactConv2D):
    """Two windows by four channels; those that are pixels at equal distances are not copied."""

    round_steps: ClassVar[int] = ROUND_STEPS
    stores_four_bits: ClassVar[bool] = True

    def carries(self, stream: DenseStream, target: Target) -> bool:
        return is_carried(stream, target)

    def find_stream(self, site: Site) -> DenseStream | None:
        return layer_stream(site, 4, nibbles=True)

    def accepts(self, site: Site, target: Target) -> bool:
        # Helium's kernels of eight bits take a third of the cycles.
        if target.core.has_mve or not super().accepts(site, target):
            return False
        return patch_bytes(site) > 0
