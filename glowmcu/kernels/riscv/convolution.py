"""conv_2d for RISC-V: two pixels at a time, an input element of each in one word."""

from __future__ import annotations

from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import constant, is_constant, is_int8
from glowmcu.kernels.common.overlap import window_overlaps
from glowmcu.kernels.common.split_weights import group_count
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
from glowmcu.kernels.riscv import pixel_pairs as pairs
from glowmcu.kernels.riscv.scale import can_scale, scale_bytes, scale_field, scaled_work
from glowmcu.kernels.riscv.window import window_field
from glowmcu.ops.convolution import Conv2D


def _shape(site: Site) -> tuple[int, int, int]:
    """Pixels, taps of one output, outputs."""
    out, weights = site.signature.output.shape, site.signature.inputs[1].shape
    return out[0] * out[1] * out[2], weights[1] * weights[2] * weights[3], out[3]


@kernel("conv_2d.pairs_riscv", Conv2D)
class PairConv2D(Kernel):
    """Products of two pixels in one multiplication, 4 outputs at a time."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.is_riscv or not is_constant(site, 1, 2) or not is_int8(site):
            return False
        _, taps, outputs = _shape(site)
        is_grouped = site.signature.inputs[1].shape[3] != site.signature.inputs[0].shape[3]
        return not is_grouped and pairs.fits(taps, outputs) and can_scale(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        pixels, taps, outputs = _shape(site)
        pixel_pairs, fours = (pixels + 1) // 2, -(-outputs // 4)
        rows = site.signature.inputs[1].shape[1]
        return {
            "call": 1.0,
            "pixel pair": pixel_pairs,
            "window row": pixel_pairs * rows,
            "tap pair": pixel_pairs * taps,
            "output four": pixel_pairs * fours,
            "group": pixel_pairs * fours * group_count(taps),
            "extra": pixel_pairs * _packed(site).extras.size,
            **scaled_work(site),
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return _packed(site).size_bytes + scale_bytes(site)

    def scratch_bytes(self, site: Site, target: Target) -> int:
        _, taps, outputs = _shape(site)
        return pairs.scratch_bytes(taps, outputs) + site.signature.inputs[0].shape[3]

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
        assert isinstance(op, Conv2D)
        weights, bias = constant(site, 1), constant(site, 2)
        _, taps, outputs = _shape(site)
        packed = _packed(site)
        bound = accumulator_bound(site, weights.reshape(outputs, taps), bias)
        fields = (
            window_field(site),
            Field("out_channels", outputs),
            Field("groups", group_count(taps)),
            Field("extra_count", int(packed.extras.size)),
            Field("weights", ConstantArray("weights", packed.weights, "output four, group, 4, 4")),
            Field("extras", pairs.extras_array(packed)),
            scale_field(site),
        )
        return KernelCode(
            function="glowmcu_conv_2d_riscv_s8",
            operands=(0,),
            header="glowmcu_conv_2d_riscv.h",
            parameters=Parameters("glowmcu_conv_2d_riscv", fields),
            rows=out.shape[1],
            batches=x.shape[0],
            overlaps=window_overlaps(
                op, site.signature, weights.shape[1:3], size=2, reads_first=True
            ),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound),),
            weight_passes=self.work(site, target)["pixel pair"],
        )


@once_a_site
def _packed(site: Site) -> pairs.PairWeights:
    _, taps, outputs = _shape(site)
    return pairs.pack_pairs(constant(site, 1).reshape(outputs, taps))
