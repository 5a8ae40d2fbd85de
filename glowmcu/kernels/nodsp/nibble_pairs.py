"""conv_2d of weights of four bits on cores without DSP: two pixels by eight outputs.

A word has a tap's weights of eight outputs. Where bytes take a load of two cycles each, these take
a shift, and nothing is masked: what the others add is known from the sum of the output before. A
group of taps whose sums fit 16 bits has dozens instead of four, so that halves part seldom and no
weight is kept apart.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from glowmcu.ir.layer_weights import are_nibbles
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import (
    constant,
    is_constant,
    is_int8,
    size_fields,
    window_fields,
)
from glowmcu.kernels.common.overlap import window_overlaps
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
from glowmcu.kernels.nodsp.convolution import rows_inside
from glowmcu.kernels.nodsp.nibbles import NibbleWeights, pack_nibbles
from glowmcu.kernels.nodsp.scale import (
    can_scale,
    scale_bytes,
    scale_field,
    scale_kind,
    scaled_of_pairs,
)
from glowmcu.ops.convolution import Conv2D

_NOTE = "weights of four bits, two in a byte; sums of two pixels fit 16 bits a group"
#: Taps whose weights are read at a time.
_TAP_STEP = 2
_SUMS_BYTES = 64


@kernel("conv_2d.nibbles_nodsp", Conv2D)
class NibbleConv2D(Kernel):
    """Products of two pixels in one multiplication, 8 outputs at a time; cores without DSP."""

    stores_four_bits: ClassVar[bool] = True

    def accepts(self, site: Site, target: Target) -> bool:
        if target.core.has_dsp or not is_constant(site, 1, 2) or not is_int8(site):
            return False
        x, weights = site.signature.inputs[:2]
        is_grouped = weights.shape[3] != x.shape[3]
        return not is_grouped and are_nibbles(constant(site, 1)) and can_scale(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        packed, stream = _packed(site), _stream_work(site)
        batches, pixel_pairs = site.signature.output.shape[0], stream["pixel pair"]
        work = {
            "call": 1,
            **stream,
            "eight": pixel_pairs * packed.eights,
            "later group": pixel_pairs * packed.eights * (packed.groups - 1),
            "word": pixel_pairs * packed.words.size,
        }
        return {
            **{name: float(batches * amount) for name, amount in work.items()},
            f"output {scale_kind(site)}": scaled_of_pairs(site, target, batches * pixel_pairs),
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return int(_packed(site).words.nbytes) + scale_bytes(site)

    def scratch_bytes(self, site: Site, target: Target) -> int:
        packed = _packed(site)
        stream_words = int(packed.words.shape[1]) + packed.groups
        return 4 * stream_words + _SUMS_BYTES * packed.eights + site.signature.inputs[0].shape[3]

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
        assert isinstance(op, Conv2D)
        weights, packed = constant(site, 1), _packed(site)
        bound = accumulator_bound(site, weights.reshape(len(weights), -1), constant(site, 2))
        fields = (
            *size_fields(site),
            *window_fields(op),
            Field("in_zero_point", x.zero_point),
            Field("taps", packed.words.shape[1]),
            Field("group_taps", packed.group_taps),
            Field("groups", packed.groups),
            Field("weights", ConstantArray("weights", packed.words, "eight outputs a word; + 8")),
            scale_field(site),
        )
        return KernelCode(
            function="glowmcu_conv_2d_nibbles_s8",
            operands=(0,),
            header="glowmcu_conv_2d_nibbles_nodsp.h",
            parameters=Parameters("glowmcu_conv_2d_nibbles", fields),
            rows=out.shape[1],
            batches=x.shape[0],
            overlaps=window_overlaps(
                op, site.signature, weights.shape[1:3], size=2, reads_first=True
            ),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound), _NOTE),
            weight_passes=out.shape[0] * _stream_work(site)["pixel pair"],
        )


@once_a_site
def _stream_work(site: Site) -> dict[str, int]:
    """What writing the streams of one image takes, as `glowmcu_nibble_windows` goes: where a row of
    both windows lies inside the image, it is written at once, else a position at a time.
    """
    op, out = site.node.op, site.signature.output.shape
    assert isinstance(op, Conv2D)
    _, height, width, depth = site.signature.inputs[1].shape
    inside = rows_inside(op, site.signature, (height, width)).reshape(out[1] * out[2], height)
    first, second = inside[::2].copy(), inside[1::2]
    first[: len(second)] &= second
    pixel_pairs = len(first)
    return {
        "pixel pair": pixel_pairs,
        "window row": pixel_pairs * height,
        "write": int(np.where(first, 1, width).sum()),
        "tap": pixel_pairs * height * width * depth,
    }


@once_a_site
def _packed(site: Site) -> NibbleWeights:
    weights = constant(site, 1)
    return pack_nibbles(weights.reshape(len(weights), -1), _TAP_STEP)
