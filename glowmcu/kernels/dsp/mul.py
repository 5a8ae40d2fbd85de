"""Kernel of int8 mul with the DSP instructions: both of TensorFlow Lite's roundings folded."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.kernels.common.broadcasting import walk, walk_work
from glowmcu.kernels.common.layer_fields import in_both_halves
from glowmcu.kernels.common.overlap import element_overlaps
from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.kernels.requantization.proved_elements import folds_product, product_fields
from glowmcu.ops.elementwise import Mul


@kernel("mul.dsp", Mul)
class MulDsp(Kernel):
    """Four elements a word, saturated to int8; cores with DSP instructions."""

    def accepts(self, site: Site, target: Target) -> bool:
        op, signature = site.node.op, site.signature
        assert isinstance(op, Mul)
        return target.core.has_dsp and folds_product(op, signature, site.rounding)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return walk_work(site.signature, 4)

    def flash_bytes(self, site: Site, target: Target) -> int:
        return 40

    def cost(self, site: Site, target: Target) -> Cost:
        work = self.work(site, target)
        unit_costs = {"element": 9.5, "single_element": 16.0, "run": 50.0, "call": 60.0}
        return Cost(sum(unit_costs[name] * amount for name, amount in work.items()), 400, 40)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, signature = site.node.op, site.signature
        assert isinstance(op, Mul)
        a, b = signature.inputs
        fields = (
            Field("minus_zero_a", in_both_halves(-a.zero_point)),
            Field("minus_zero_b", in_both_halves(-b.zero_point)),
            *product_fields(op, signature),
            Field("walk", walk([a.shape, b.shape], signature.output.shape)),
        )
        return KernelCode(
            function="glowmcu_mul_dsp_s8",
            operands=(0, 1),
            header="glowmcu_mul_dsp.h",
            overlaps=element_overlaps(site.signature),
            parameters=Parameters("glowmcu_mul_dsp", fields),
        )
