"""1x1 convolutions of weights of four bits, two in a byte, on cores with DSP instructions.

A step of two pixels by four channels has one word of weights where bytes have two, and three ANDs
where they have two SXTB16 (see nibbles.py): as many cycles, and 14 a block to part its sums.
"""

from __future__ import annotations

from typing import ClassVar

from glowmcu.kernels.dsp.dense.pointwise import PointwiseDsp
from glowmcu.kernels.kernel import Site, Target, kernel
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.matmul import FullyConnected


@kernel("conv_2d.nibbles_dsp", Conv2D, FullyConnected)
class PointwiseNibbles(PointwiseDsp):
    """Each pair of pixels through the stream of glowmcu_dense_nibbles.h; any shape."""

    nibbles: ClassVar[bool] = True
    stores_four_bits: ClassVar[bool] = True

    def accepts(self, site: Site, target: Target) -> bool:
        # Helium's kernels of eight bits take a third of the cycles.
        return not target.core.has_mve and super().accepts(site, target)
