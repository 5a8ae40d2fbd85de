"""Portable kernels of `arg_max`, `arg_min` and `cumsum`."""

from __future__ import annotations

import math

from glowmcu.ir.kernel_code import Field, KernelCode, Parameters
from glowmcu.ir.types import Shape
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.ops.fixed_point import quantize_multiplier
from glowmcu.ops.scan import ArgExtreme, ArgMax, ArgMin, CumSum


def axis_fields(shape: Shape, axis: int) -> tuple[Field, Field, Field]:
    """A tensor seen as [outer][length][inner] around one axis."""
    return (
        Field("outer", math.prod(shape[:axis])),
        Field("length", shape[axis]),
        Field("inner", math.prod(shape[axis + 1 :])),
    )


@kernel("arg_extreme.portable", ArgMax, ArgMin)
class PortableArgExtreme(Kernel):
    """One result after the other; any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        x, out = site.signature.inputs[0], site.signature.output
        return Cost(7.0 * x.element_count + 30.0 * out.element_count, 150, 20)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, ArgExtreme)
        fields = (
            *axis_fields(site.signature.inputs[0].shape, op.axis),
            Field("flip", 0 if isinstance(op, ArgMax) else -1),
            Field("out_bytes", site.signature.output.element.size_bytes),
        )
        return KernelCode(
            function="glowmcu_arg_extreme_s8",
            operands=(0,),
            header="glowmcu_arg_extreme.h",
            parameters=Parameters("glowmcu_arg_extreme", fields),
        )


@kernel("cumsum.portable", CumSum)
class PortableCumSum(Kernel):
    """One line along the axis after the other; any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(45.0 * site.signature.output.element_count, 200, 36)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, CumSum)
        x, out = site.signature.inputs[0], site.signature.output
        multiplier, shift = quantize_multiplier(op.real_scale(site.signature))
        fields = (
            *axis_fields(x.shape, op.axis),
            Field("exclusive", int(op.exclusive)),
            Field("reverse", int(op.reverse)),
            Field("in_zero_point", x.zero_point),
            Field("out_zero_point", out.zero_point),
            Field("multiplier", multiplier),
            Field("shift", shift),
        )
        return KernelCode(
            function="glowmcu_cumsum_s8",
            operands=(0,),
            header="glowmcu_cumsum.h",
            parameters=Parameters("glowmcu_cumsum", fields),
        )
