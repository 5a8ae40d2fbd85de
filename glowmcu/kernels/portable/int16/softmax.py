"""Portable kernel of softmax on 16-bit activations."""

from __future__ import annotations

from glowmcu.ir.types import ElementType
from glowmcu.kernels.kernel import (
    ConstantArray,
    Cost,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.ops import wide_softmax
from glowmcu.ops.fixed_point import quantize_multiplier
from glowmcu.ops.normalization import Softmax


@kernel("softmax.portable_s16", Softmax)
class WideSoftmax(Kernel):
    """int16 to int16: exponentials and a reciprocal from two tables; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return site.signature.inputs[0].element is ElementType.I16

    def cost(self, site: Site, target: Target) -> Cost:
        x = site.signature.inputs[0]
        rows = x.element_count // x.shape[-1]
        return Cost(65.0 * x.element_count + 120.0 * rows, 420, 4 * 513)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x = site.node.op, site.signature.inputs[0]
        assert isinstance(op, Softmax)
        multiplier, shift = quantize_multiplier(wide_softmax.difference_factor(op.beta, x))
        reciprocals = wide_softmax.reciprocals()
        fields = (
            Field("rows", x.element_count // x.shape[-1]),
            Field("depth", x.shape[-1]),
            Field("multiplier", multiplier),
            Field("shift", shift),
            Field("exps", ConstantArray("exps", wide_softmax.exponentials(), "exp on [-10, 0]")),
            Field("reciprocals", ConstantArray("reciprocals", reciprocals, "1 / (1 + x)")),
        )
        return KernelCode(
            function="glowmcu_softmax_s16",
            operands=(0,),
            header="glowmcu_softmax_s16.h",
            parameters=Parameters("glowmcu_softmax_wide", fields),
        )
