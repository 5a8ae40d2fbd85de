"""conv_2d and fully_connected of weights of four bits on cores with Helium, a row at a time.

For what has no pairs of windows, or dilated ones: see glowmcu_matrix_nibbles_mve.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from glowmcu.kernels.helium.convolution import (
    RowsMatrix,
    WindowsMatrix,
    geometry_of,
    matrix_form,
    matrix_of,
    pixels_of,
)
from glowmcu.kernels.helium.matrix import BLOCK, padded_depth, rows_work
from glowmcu.kernels.kernel import Site, Target, kernel
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected


@kernel("matrix.nibbles_rows_mve", Conv2D, DepthwiseConv2D, FullyConnected)
class RowsNibbles(RowsMatrix):
    """Pixels or vectors of whole 16 bytes, read where they lie."""

    nibbles: ClassVar[bool] = True
    stores_four_bits: ClassVar[bool] = True
    at_once: ClassVar[int] = 1
    function: ClassVar[str] = "glowmcu_pointwise_nibbles_mve"
    code_bytes: ClassVar[int] = 420

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return rows_work(pixels_of(site), matrix_of(site), matrix_form(site))


@kernel("matrix.nibbles_windows_mve", Conv2D, DepthwiseConv2D, FullyConnected)
class WindowsNibbles(WindowsMatrix):
    """Any window, gathered into scratch."""

    nibbles: ClassVar[bool] = True
    stores_four_bits: ClassVar[bool] = True
    at_once: ClassVar[int] = 1
    function: ClassVar[str] = "glowmcu_conv_2d_nibbles_mve"
    code_bytes: ClassVar[int] = 760

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        pixels, geometry = pixels_of(site), geometry_of(site)
        parts = pixels * geometry["kernel_height"] * geometry["parts"]
        return {
            **rows_work(pixels, matrix_of(site), matrix_form(site)),
            "part": parts,
            "part_block": parts * -(-geometry["part_bytes"] // BLOCK),
        }

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return padded_depth(matrix_of(site).shape[1])
