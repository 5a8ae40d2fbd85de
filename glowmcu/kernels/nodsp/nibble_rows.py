"""fully_connected and 1x1 conv_2d of weights of four bits on cores without DSP: bytes as they lie.

A word of weights is four pairs of outputs, three of them for a shift and an AND, where bytes need
a load for two pairs: 2.6 cycles a product on a Cortex-M0+ instead of 4.4, and no scratch.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from glowmcu.ir.kernel_code import Overlap
from glowmcu.ir.layer_weights import are_nibbles
from glowmcu.kernels.common.dense_layer import (
    dense_weights,
    is_dense_layer,
    layer_bound_note,
    pixel_grid,
    row_count,
)
from glowmcu.kernels.common.overlap import Overlaps, least_gap
from glowmcu.kernels.kernel import (
    ConstantArray,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
    once_a_site,
)
from glowmcu.kernels.nodsp.nibbles import NibbleWeights, pack_nibbles
from glowmcu.kernels.nodsp.scale import can_scale, scale_bytes, scale_field, scale_kind
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.matmul import FullyConnected

#: Outputs whose sums are on the stack at a time.
BLOCK_OUTPUTS = 16
NOTE = "weights of four bits, two in a byte; sums of two outputs apart fit 16 bits a group"


@kernel("dense.nibbles_nodsp", Conv2D, FullyConnected)
class DenseNibbles(Kernel):
    """Rows or pixels as they lie in memory, 8 outputs at a time; cores without DSP."""

    stores_four_bits: ClassVar[bool] = True

    def accepts(self, site: Site, target: Target) -> bool:
        if target.core.has_dsp or not is_dense_layer(site):
            return False
        if isinstance(site.node.op, Conv2D) and site.node.op.strides != (1, 1):
            return False
        return are_nibbles(dense_weights(site)) and can_scale(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        pixels, packed = row_count(site), _packed(site)
        return {
            "pixel": pixels,
            "block": pixels * -(-packed.eights * 8 // BLOCK_OUTPUTS),
            "group": pixels * packed.eights * packed.groups,
            "word": pixels * packed.words.size,
            f"output {scale_kind(site)}": site.signature.output.element_count,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return int(_packed(site).words.nbytes) + scale_bytes(site)

    def generate(self, site: Site, target: Target) -> KernelCode:
        packed, grid = _packed(site), pixel_grid(site)
        outputs, depth = dense_weights(site).shape
        is_image = isinstance(site.node.op, Conv2D)
        rows, row_pixels = (grid.rows, grid.columns) if is_image else (grid.columns, 1)
        fields = (
            Field("row_pixels", row_pixels),
            Field("depth_in", depth),
            Field("depth_out", outputs),
            Field("group", packed.group_taps),
            Field("weights", ConstantArray("weights", packed.words, "eight outputs a word; + 8")),
            scale_field(site),
        )
        return KernelCode(
            function="glowmcu_nibbles_direct_s8",
            operands=(0,),
            header="glowmcu_dense_nibbles_nodsp.h",
            parameters=Parameters("glowmcu_nibbles_direct", fields),
            rows=rows,
            batches=grid.batches,
            overlaps=_overlaps(site),
            notes=(layer_bound_note(site), NOTE),
        )


def _overlaps(site: Site) -> Overlaps:
    """Every block of outputs reads its whole pixel before it writes."""
    pixels, (outputs, depth) = row_count(site), dense_weights(site).shape
    ends = np.minimum(np.arange(BLOCK_OUTPUTS, outputs + BLOCK_OUTPUTS, BLOCK_OUTPUTS), outputs)
    pixel = np.arange(pixels, dtype=np.int64)[:, np.newaxis]
    written = (pixel * outputs + ends).reshape(-1)
    needed = np.repeat(pixel * depth, len(ends))
    return {0: Overlap(least_gap(written, needed, pixels * depth, reads_first=True))}


@once_a_site
def _packed(site: Site) -> NibbleWeights:
    return pack_nibbles(dense_weights(site))
