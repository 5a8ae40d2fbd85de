"""Portable kernels of `cross_entropy_gradient` and `squared_error_gradient`."""

from __future__ import annotations

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
from glowmcu.ops.loss_gradient import CrossEntropyGradient, SquaredErrorGradient


@kernel("cross_entropy_gradient.portable", CrossEntropyGradient)
class PortableCrossEntropyGradient(Kernel):
    """A table of exponentials; a division a class."""

    def cost(self, site: Site, target: Target) -> Cost:
        op = site.node.op
        assert isinstance(op, CrossEntropyGradient)
        classes = site.signature.inputs[0].element_count
        return Cost(300.0 + 60.0 * classes, 260, 2 * len(op.exponentials) + 20)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, CrossEntropyGradient)
        table = op.exponentials
        fields = (
            Field("classes", site.signature.inputs[0].element_count),
            Field("bits", op.bits),
            Field("step", op.step),
            Field("distances", len(table)),
            Field("table", ConstantArray("exponentials", table, "of 32767")),
        )
        return KernelCode(
            function="glowmcu_cross_entropy_back",
            operands=(0, 1),
            header="glowmcu_cross_entropy_back.h",
            parameters=Parameters("glowmcu_cross_entropy", fields),
        )


@kernel("squared_error_gradient.portable", SquaredErrorGradient)
class PortableSquaredErrorGradient(Kernel):
    """Any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(40.0 + 14.0 * site.signature.output.element_count, 90, 8)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, SquaredErrorGradient)
        count = site.signature.output.element_count
        return KernelCode(
            function="glowmcu_squared_error_back",
            operands=(0, 1),
            header="glowmcu_squared_error_back.h",
            parameters=Parameters(
                "glowmcu_squared_error", (Field("count", count), Field("bits", op.bits))
            ),
        )
