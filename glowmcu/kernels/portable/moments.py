"""Portable kernels of mean_variance_normalization on int8 and int16."""

from __future__ import annotations

from glowmcu.ir.types import ElementType
from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.ops.moments import MeanVarianceNormalization

_SUFFIXES = {ElementType.I8: "s8", ElementType.I16: "s16"}


@kernel("mean_variance_normalization.portable", MeanVarianceNormalization)
class IntegerNormalization(Kernel):
    """Exact sums, one inverse root a row, two products an element; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        x, out = site.signature.inputs[0], site.signature.output
        return x.element is out.element and x.element in _SUFFIXES

    def cost(self, site: Site, target: Target) -> Cost:
        x = site.signature.inputs[0]
        rows = x.element_count // x.shape[-1]
        return Cost(28.0 * x.element_count + 260.0 * rows, 420)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, x = site.node.op, site.signature.inputs[0]
        assert isinstance(op, MeanVarianceNormalization)
        scale, suffix = op.row_scale(site.signature), _SUFFIXES[x.element]
        fields = (
            Field("rows", x.element_count // x.shape[-1]),
            Field("depth", x.shape[-1]),
            Field("center", int(op.center)),
            Field("in_zero_point", x.zero_point),
            Field("epsilon_mantissa", scale.epsilon_mantissa),
            Field("epsilon_shift", scale.epsilon_shift),
            Field("variance_shift", scale.variance_shift),
            Field("base_shift", scale.base_shift),
            Field("factor", scale.factor),
            Field("addend", scale.addend),
            Field("fraction", scale.fraction),
        )
        return KernelCode(
            function=f"glowmcu_normalized_rows_{suffix}",
            operands=(0,),
            header=f"glowmcu_normalized_rows_{suffix}.h",
            parameters=Parameters("glowmcu_mean_variance", fields),
        )
