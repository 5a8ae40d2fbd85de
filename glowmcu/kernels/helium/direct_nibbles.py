"""Convolutions of weights of four bits on cores with Helium, two windows by four channels.

The walks of direct.py, by functions that part two weights from a byte: see direct_blocks.py.
"""

from __future__ import annotations

from typing import ClassVar

from glowmcu.kernels.helium.direct import BlocksMatrix, DirectMatrix, MaskedMatrix, NarrowMatrix
from glowmcu.kernels.kernel import kernel
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected


@kernel("matrix.nibbles_direct_mve", Conv2D, DepthwiseConv2D, FullyConnected)
class DirectNibbles(DirectMatrix):
    """Windows where they lie."""

    nibbles: ClassVar[bool] = True
    stores_four_bits: ClassVar[bool] = True


@kernel("matrix.nibbles_masked_mve", Conv2D, DepthwiseConv2D, FullyConnected)
class MaskedNibbles(MaskedMatrix):
    """The same with masks that it does not need, by a function that other layers have."""

    nibbles: ClassVar[bool] = True
    stores_four_bits: ClassVar[bool] = True


@kernel("matrix.nibbles_blocks_mve", Conv2D, DepthwiseConv2D, FullyConnected)
class BlocksNibbles(BlocksMatrix):
    """A block at a time: one function for windows of any size."""

    nibbles: ClassVar[bool] = True
    stores_four_bits: ClassVar[bool] = True


@kernel("matrix.nibbles_narrow_mve", Conv2D, DepthwiseConv2D)
class NarrowNibbles(NarrowMatrix):
    """Rows of windows of at most one vector, gathered."""

    nibbles: ClassVar[bool] = True
    stores_four_bits: ClassVar[bool] = True
