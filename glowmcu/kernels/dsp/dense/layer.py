"""Streams and overlaps of dense layers: two pixels at a time, constants in blocks of channels."""

from __future__ import annotations

from glowmcu.kernels.common.dense_layer import dense_weights, is_dense_layer, pixel_grid
from glowmcu.kernels.common.overlap import (
    Overlaps,
    block_overlaps,
    first_pixels,
    matrix_overlaps,
    pixel_blocks,
)
from glowmcu.kernels.dsp.dense.stream import DenseStream, dense_stream
from glowmcu.kernels.kernel import Site, Target, once_a_site
from glowmcu.kernels.requantization.forms import requantization_task
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.matmul import FullyConnected


def is_row_layer(site: Site, target: Target) -> bool:
    """Whether a core with the instructions may take it row by row: no pixels beside each other."""
    if not target.core.has_dsp or not is_dense_layer(site):
        return False
    return isinstance(site.node.op, FullyConnected) or pixel_grid(site).runs == (1, 1)


def pair_overlaps(site: Site, reads_first: bool = True) -> Overlaps:
    """Of kernels that take two pixels at a time, from run to run of evenly spaced ones."""
    op, grid = site.node.op, pixel_grid(site)
    if isinstance(op, FullyConnected):
        return matrix_overlaps(site.signature, grid.columns, 2, reads_first)
    assert isinstance(op, Conv2D)
    first = first_pixels(op, site.signature, (1, 1))
    blocks = pixel_blocks(len(first), 2, row=grid.runs[1])
    return block_overlaps(site.signature, first, blocks, reads_first)


@once_a_site
def layer_stream(
    site: Site, channels: int, uniform: bool = False, nibbles: bool = False
) -> DenseStream | None:
    """The constants in blocks of `channels`; None if no requantization form is exact.

    `nibbles` asks for weights of four bits: None, too, if they are not, or sums may not fit.
    """
    return dense_stream(requantization_task(site), dense_weights(site), channels, uniform, nibbles)
