"""fully_connected without DSP instructions: two outputs in one multiplication."""

from __future__ import annotations

from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import constant, is_constant, is_int8
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
from glowmcu.kernels.nodsp import pixel_pairs as pairs
from glowmcu.kernels.nodsp.convolution import extras_array
from glowmcu.kernels.nodsp.scale import can_scale, scale_bytes, scale_field, scaled_outputs
from glowmcu.ops.matmul import FullyConnected


def _shape(site: Site) -> tuple[int, int, int]:
    """Rows, elements of a row, outputs."""
    outputs, depth = site.signature.inputs[1].shape
    return site.signature.inputs[0].element_count // depth, depth, outputs


@kernel("fully_connected.pairs_nodsp", FullyConnected)
class PairFullyConnected(Kernel):
    """Products of two outputs in one multiplication, 4 outputs at a time; cores without DSP."""

    def accepts(self, site: Site, target: Target) -> bool:
        if target.core.has_dsp or not is_constant(site, 1, 2) or not is_int8(site):
            return False
        _, depth, outputs = _shape(site)
        quantization = site.signature.inputs[1].quantization
        assert quantization is not None
        return not any(quantization.zero_points) and pairs.fits(depth, outputs) and can_scale(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        rows, depth, outputs = _shape(site)
        fours = -(-outputs // 4)
        return {
            "call": 1.0,
            "element": rows * depth,
            "output four": rows * fours,
            "group": rows * fours * group_count(depth),
            "extra": rows * _packed(site).extras.size,
            "scaled output": scaled_outputs(site),
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return _packed(site).size_bytes + scale_bytes(site)

    def scratch_bytes(self, site: Site, target: Target) -> int:
        _, depth, outputs = _shape(site)
        return pairs.stream_bytes(depth) + 16 * -(-outputs // 4)

    def generate(self, site: Site, target: Target) -> KernelCode:
        rows, depth, outputs = _shape(site)
        weights, bias = constant(site, 1), constant(site, 2)
        packed = _packed(site)
        bound = accumulator_bound(site, weights, bias)
        fields = (
            Field("rows", rows),
            Field("depth_in", depth),
            Field("depth_out", outputs),
            Field("groups", group_count(depth)),
            Field("extra_count", int(packed.extras.size)),
            Field("weights", ConstantArray("weights", packed.stream, "four outputs a word; + 128")),
            Field("extras", extras_array(packed)),
            scale_field(site),
        )
        return KernelCode(
            function="glowmcu_fully_connected_pairs_s8",
            operands=(0,),
            header="glowmcu_fully_connected_nodsp.h",
            parameters=Parameters("glowmcu_fully_connected_pairs", fields),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound),),
        )


@once_a_site
def _packed(site: Site) -> pairs.PairWeights:
    return pairs.pack_output_pairs(constant(site, 1))
