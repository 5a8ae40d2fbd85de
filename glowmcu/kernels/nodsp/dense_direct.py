"""fully_connected and 1x1 conv_2d on cores without DSP and without scratch: bytes where they are.

Widened rows of `fully_connected.pairs_nodsp` hold each group's correction; here it is added up on
the way, which takes about a fifth more cycles and saves five bytes of scratch an input. Where
weights are small, groups of eight inputs take fewer cycles than either. Of a 1x1 convolution
`conv_2d.pairs_nodsp` takes two pixels at a time.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from glowmcu.ir.kernel_code import Overlap
from glowmcu.kernels.common.dense_layer import (
    is_dense_layer,
    layer_bound_note,
    pixel_grid,
    row_count,
)
from glowmcu.kernels.common.layer_fields import constant
from glowmcu.kernels.common.overlap import Overlaps, least_gap
from glowmcu.kernels.common.split_weights import TAPS, group_count
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
from glowmcu.kernels.nodsp import pixel_pairs as pairs
from glowmcu.kernels.nodsp.scale import can_scale, scale_bytes, scale_field, scale_kind
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.matmul import FullyConnected

#: Outputs whose sums are on the stack at a time.
BLOCK_OUTPUTS = 16
_FOUR = 4


@kernel("dense.direct_nodsp", Conv2D, FullyConnected)
class DenseDirect(Kernel):
    """Rows or pixels as they lie in memory, 4 outputs at a time; cores without DSP."""

    #: Inputs of a group.
    group_taps: ClassVar[int] = TAPS
    _name: ClassVar[str] = "glowmcu_dense_direct"
    _operand_align: ClassVar[int] = 1

    def accepts(self, site: Site, target: Target) -> bool:
        if target.core.has_dsp or not is_dense_layer(site):
            return False
        if isinstance(site.node.op, Conv2D) and site.node.op.strides != (1, 1):
            return False
        quantization = site.signature.inputs[1].quantization
        assert quantization is not None
        outputs, depth = _shape(site)
        named = self.group_taps <= depth <= pairs.MOST_WORDS and outputs < pairs.MOST_OUTPUTS
        return not any(quantization.zero_points) and named and can_scale(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        pixels, (outputs, depth) = row_count(site), _shape(site)
        fours = -(-outputs // _FOUR)
        return {
            "pixel": pixels,
            "block": pixels * -(-outputs // BLOCK_OUTPUTS),
            "output four": pixels * fours,
            "group": pixels * fours * group_count(depth, self.group_taps),
            "extra": pixels * (self._packed(site).extras.size - 1),
            f"output {scale_kind(site)}": site.signature.output.element_count,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return self._packed(site).size_bytes + scale_bytes(site)

    def generate(self, site: Site, target: Target) -> KernelCode:
        (outputs, depth), packed = _shape(site), self._packed(site)
        grid = pixel_grid(site)
        is_image = isinstance(site.node.op, Conv2D)
        rows, row_pixels = (grid.rows, grid.columns) if is_image else (grid.columns, 1)
        fields = (
            Field("row_pixels", row_pixels),
            Field("depth_in", depth),
            Field("depth_out", outputs),
            Field("weights", ConstantArray("weights", packed.stream, "four outputs a word; + 128")),
            Field(
                "extras", ConstantArray("extras", packed.extras, "output << 20 | input << 8 | w")
            ),
            scale_field(site),
        )
        return KernelCode(
            function=f"{self._name}_s8",
            operands=(0,),
            header=f"{self._name}_nodsp.h",
            parameters=Parameters("glowmcu_dense_direct", fields),
            rows=rows,
            batches=grid.batches,
            overlaps=_overlaps(site),
            operand_align=self._operand_align,
            notes=(layer_bound_note(site),),
        )

    def _packed(self, site: Site) -> pairs.PairWeights:
        return _packed(site, self.group_taps)


@kernel("dense.eights_nodsp", Conv2D, FullyConnected)
class DenseEights(DenseDirect):
    """Groups of eight inputs, of rows or pixels that are words; Cortex-M0, M0+ and M23."""

    group_taps: ClassVar[int] = 8
    _name: ClassVar[str] = "glowmcu_dense_eights"
    _operand_align: ClassVar[int] = 4

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.architecture.startswith("armv6") or site.operands_align % 4:
            return False
        return super().accepts(site, target) and _shape(site)[1] % self.group_taps == 0


def _shape(site: Site) -> tuple[int, int]:
    """Outputs, elements of a row."""
    weights = site.signature.inputs[1]
    return weights.shape[0], weights.element_count // weights.shape[0]


def _overlaps(site: Site) -> Overlaps:
    """Every block of outputs reads its whole pixel before it writes."""
    pixels, (outputs, depth) = row_count(site), _shape(site)
    ends = np.minimum(np.arange(BLOCK_OUTPUTS, outputs + BLOCK_OUTPUTS, BLOCK_OUTPUTS), outputs)
    pixel = np.arange(pixels, dtype=np.int64)[:, np.newaxis]
    written = (pixel * outputs + ends).reshape(-1)
    needed = np.repeat(pixel * depth, len(ends))
    return {0: Overlap(least_gap(written, needed, pixels * depth, reads_first=True))}


@once_a_site
def _packed(site: Site, group_taps: int) -> pairs.PairWeights:
    return pairs.pack_direct_outputs(constant(site, 1).reshape(_shape(site)), group_taps)
