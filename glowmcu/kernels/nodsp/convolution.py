"""conv_2d without DSP instructions: two pixels at a time, an input element of each in one word."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array, Signature
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import (
    constant,
    is_constant,
    is_int8,
    size_fields,
    window_fields,
)
from glowmcu.kernels.common.overlap import window_overlaps
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
from glowmcu.kernels.nodsp.scale import (
    can_scale,
    scale_bytes,
    scale_field,
    scale_kind,
    scaled_of_pairs,
)
from glowmcu.ops.convolution import Conv2D


def _shape(site: Site) -> tuple[int, int, int]:
    """Pixels, taps of one output, outputs."""
    out, weights = site.signature.output.shape, site.signature.inputs[1].shape
    return out[0] * out[1] * out[2], weights[1] * weights[2] * weights[3], out[3]


@kernel("conv_2d.pairs_nodsp", Conv2D)
class PairConv2D(Kernel):
    """Products of two pixels in one multiplication, 2 outputs at a time; cores without DSP."""

    def accepts(self, site: Site, target: Target) -> bool:
        if target.core.has_dsp or not is_constant(site, 1, 2) or not is_int8(site):
            return False
        _, taps, outputs = _shape(site)
        is_grouped = site.signature.inputs[1].shape[3] != site.signature.inputs[0].shape[3]
        return not is_grouped and pairs.fits(taps, outputs) and can_scale(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        batches = site.signature.output.shape[0]
        _, taps, outputs = _shape(site)
        stream = _stream_work(site)
        pixel_pairs = batches * stream["pixel pair"]
        output_pairs = pixel_pairs * ((outputs + 1) // 2)
        return {
            "call": batches,
            **{name: batches * amount for name, amount in stream.items()},
            "output pair": output_pairs,
            "group": output_pairs * group_count(taps),
            "extra": pixel_pairs * _packed(site).extras.size,
            f"output {scale_kind(site)}": scaled_of_pairs(site, target, pixel_pairs),
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return _packed(site).size_bytes + scale_bytes(site)

    def scratch_bytes(self, site: Site, target: Target) -> int:
        _, taps, outputs = _shape(site)
        sums_bytes = 16 * -(-outputs // 2)
        return pairs.stream_bytes(taps) + sums_bytes + site.signature.inputs[0].shape[3]

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
        assert isinstance(op, Conv2D)
        weights, bias = constant(site, 1), constant(site, 2)
        _, taps, outputs = _shape(site)
        packed = _packed(site)
        bound = accumulator_bound(site, weights.reshape(outputs, taps), bias)
        fields = (
            *size_fields(site),
            *window_fields(op),
            Field("in_zero_point", x.zero_point),
            Field("groups", group_count(taps)),
            Field("extra_count", int(packed.extras.size)),
            Field("weights", ConstantArray("weights", packed.stream, "output pair, tap, 2; + 128")),
            Field("extras", extras_array(packed)),
            scale_field(site),
        )
        return KernelCode(
            function="glowmcu_conv_2d_pairs_s8",
            operands=(0,),
            header="glowmcu_conv_2d_nodsp.h",
            parameters=Parameters("glowmcu_conv_2d_pairs", fields),
            rows=out.shape[1],
            batches=x.shape[0],
            overlaps=window_overlaps(
                op, site.signature, weights.shape[1:3], size=2, reads_first=True
            ),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound),),
            weight_passes=out.shape[0] * _stream_work(site)["pixel pair"],
        )


@once_a_site
def _stream_work(site: Site) -> dict[str, float]:
    """What writing the streams of one image takes, as `glowmcu_pair_windows` goes: where a row of
    both windows lies inside the image, it is written at once, else a position at a time; whole
    groups are quicker than single taps.
    """
    op, out = site.node.op, site.signature.output.shape
    assert isinstance(op, Conv2D)
    _, height, width, depth = site.signature.inputs[1].shape
    pixels = out[1] * out[2]
    inside = rows_inside(op, site.signature, (height, width)).reshape(pixels, height)
    first, second = inside[::2], inside[1::2]
    first[: len(second)] &= second
    patterns, counts = np.unique(first, axis=0, return_counts=True)
    writes = fours = singles = 0
    for pattern, count in zip(patterns.tolist(), counts.tolist(), strict=True):
        rows = [[width * depth] if whole else width * [depth] for whole in pattern]
        lengths = [length for row in rows for length in row]
        some = _fours(lengths)
        writes += count * len(lengths)
        fours += count * some
        singles += count * (sum(lengths) - 4 * some)
    pairs_of_pixels = len(first)
    return {
        "pixel pair": pairs_of_pixels,
        "window row": pairs_of_pixels * height,
        "write": writes,
        "tap four": fours,
        "tap": singles,
    }


def _fours(lengths: list[int]) -> int:
    """Groups of `TAPS` taps that lie whole in one run; runs of these lengths follow each other."""
    found = place = 0
    for length in lengths:
        alone = min(-place % TAPS, length)
        found += (length - alone) // TAPS
        place += length
    return found


def rows_inside(op: Conv2D, signature: Signature, kernel: tuple[int, int]) -> Array:
    """Whether a window's row lies inside the image: (output rows, output columns, its rows)."""
    x, out = signature.inputs[0].shape, signature.output.shape
    tops = np.arange(out[1])[:, np.newaxis] * op.strides[0] - op.padding[0]
    rows = tops + np.arange(kernel[0]) * op.dilations[0]
    lefts = np.arange(out[2]) * op.strides[1] - op.padding[1]
    along = (lefts >= 0) & (lefts + kernel[1] <= x[2]) & (op.dilations[1] == 1)
    down = (rows >= 0) & (rows < x[1])
    inside: Array = down[:, np.newaxis, :] & along[np.newaxis, :, np.newaxis]
    return inside


@once_a_site
def _packed(site: Site) -> pairs.PairWeights:
    _, taps, outputs = _shape(site)
    return pairs.pack_pairs(constant(site, 1).reshape(outputs, taps))


def extras_array(packed: pairs.PairWeights) -> ConstantArray | None:
    """The constant `extras`, if there are any."""
    if not packed.extras.size:
        return None
    return ConstantArray("extras", packed.extras, "word << 20 | output << 8 | w")
