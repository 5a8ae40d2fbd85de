"""Convolutions of weights of four bits, two in a byte, on cores with DSP instructions.

The windows of `conv_2d.compact_dsp`, copied together, go through the loop of `conv_2d.nibbles_dsp`,
whole or in rounds of two steps: for little flash one function computes all such layers.
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
from glowmcu.ops.matmul import FullyConnected


@kernel("conv_2d.nibbles_compact_dsp", Conv2D, FullyConnected)
class CompactNibbles(CompactConv2D):
    """Two windows by four channels in a short loop; pixels at equal distances are not copied."""

    stores_four_bits: ClassVar[bool] = True

    def find_stream(self, site: Site) -> DenseStream | None:
        return layer_stream(site, 4, nibbles=True)

    def accepts(self, site: Site, target: Target) -> bool:
        # Helium's kernels of eight bits take a third of the cycles.
        return not target.core.has_mve and super().accepts(site, target)


@kernel("conv_2d.nibbles_windows_dsp", Conv2D)
class WindowNibbles(CompactNibbles):
    """The same in rounds of 16 steps, of windows that are copied."""

    kind: ClassVar[str] = "copied"
    round_steps: ClassVar[int] = ROUND_STEPS

    def carries(self, stream: DenseStream, target: Target) -> bool:
        return is_carried(stream, target)

    def accepts(self, site: Site, target: Target) -> bool:
        return super().accepts(site, target) and patch_bytes(site) > 0
