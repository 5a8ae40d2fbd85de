"""Kernels of normalizations along the last axis of float32 tensors."""

from __future__ import annotations

from glowmcu.ir.operation import Operation
from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.ops.moments import LocalResponseNormalization, MeanVarianceNormalization
from glowmcu.ops.normalization import L2Normalization, LogSoftmax, Softmax

#: Cycles an element on a Cortex-M4F, code bytes.
_COSTS: dict[type[Operation], tuple[float, int]] = {
    Softmax: (60.0, 360),
    LogSoftmax: (55.0, 560),
    L2Normalization: (10.0, 110),
    MeanVarianceNormalization: (16.0, 200),
    LocalResponseNormalization: (300.0, 1720),
}


def _attributes(op: Operation, depth: int) -> tuple[Field, ...]:
    """Struct members behind rows and depth."""
    if isinstance(op, Softmax):
        return (Field("beta", op.beta),)
    if isinstance(op, L2Normalization):
        return (Field("epsilon", op.epsilon),)
    if isinstance(op, MeanVarianceNormalization):
        return (
            Field("center", int(op.center)),
            Field("per_element", 1.0 / depth),
            Field("epsilon", op.epsilon),
        )
    if isinstance(op, LocalResponseNormalization):
        return (
            Field("before", min(op.before, depth)),
            Field("after", min(op.after, depth)),
            Field("alpha", op.alpha),
            Field("beta", op.beta),
            Field("bias", op.bias),
        )
    return ()


@kernel("normalization.portable_f32", *_COSTS)
class FloatNormalization(Kernel):
    """Row by row in single precision; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return site.signature.output.element.is_float

    def cost(self, site: Site, target: Target) -> Cost:
        cycles, code_bytes = _COSTS[type(site.node.op)]
        return Cost(cycles * site.signature.output.element_count, code_bytes)

    def generate(self, site: Site, target: Target) -> KernelCode:
        x = site.signature.inputs[0]
        name, depth = site.node.op.name, x.shape[-1]
        short = name.removesuffix("_normalization")  # names differ within 31 characters
        fields = (
            Field("rows", x.element_count // depth),
            Field("depth", depth),
            *_attributes(site.node.op, depth),
        )
        return KernelCode(
            function=f"glowmcu_{name}_f32",
            operands=(0,),
            header=f"glowmcu_{name}_f32.h",
            parameters=Parameters(f"glowmcu_{short}_real", fields),
        )
