"""Portable kernels of `arg_max`, `arg_min`, `cumsum` and `top_k`.

Of int8 they are functions of libjit; of other elements a function of the layer's own, in which the
types are written out.
"""

from __future__ import annotations

import math

from glowmcu.ir.kernel_code import Field, KernelCode, Parameters
from glowmcu.ir.types import ElementType, Shape
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.ops.fixed_point import quantize_multiplier
from glowmcu.ops.scan import ArgExtreme, ArgMax, ArgMin, CumSum, TopK, has_plain_sums


def axis_fields(shape: Shape, axis: int) -> tuple[Field, Field, Field]:
    """A tensor seen as [outer][length][inner] around one axis."""
    return (
        Field("outer", math.prod(shape[:axis])),
        Field("length", shape[axis]),
        Field("inner", math.prod(shape[axis + 1 :])),
    )


@kernel("arg_extreme.portable", ArgMax, ArgMin)
class PortableArgExtreme(Kernel):
    """int8, one result after the other; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        op, x = site.node.op, site.signature.inputs[0]
        return x.element is ElementType.I8 and isinstance(op, ArgExtreme) and not op.last

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
    """int8, one line along the axis after the other; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        op, x = site.node.op, site.signature.inputs[0]
        return isinstance(op, CumSum) and not op.exact and not has_plain_sums(x)

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


def _line_view(site: Site, axis: int) -> dict[str, object]:
    """What the templates of this family have in common: [outer][length][inner] of a type."""
    x = site.signature.inputs[0]
    fields = axis_fields(x.shape, axis)
    return {"type": x.element.c_name, **{field.name: field.value for field in fields}}


@kernel("arg_extreme.portable_plain", ArgMax, ArgMin)
class PortableArgExtremePlain(Kernel):
    """Any element type, by a function of the layer's own; any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        x, out = site.signature.inputs[0], site.signature.output
        return Cost(8.0 * x.element_count + 20.0 * out.element_count, 90)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, ArgExtreme)
        sign = ">" if isinstance(op, ArgMax) else "<"
        view = {
            **_line_view(site, op.axis),
            "index_type": site.signature.output.element.c_name,
            "better": f"{sign}=" if op.last else sign,
        }
        return KernelCode(
            function="", operands=(0,), template="portable/arg_extreme.c.j2", view=view
        )


#: The type whose sums wrap.
_SUM_TYPES = {ElementType.F32: "float", ElementType.I32: "uint32_t", ElementType.I64: "uint64_t"}


@kernel("cumsum.portable_plain", CumSum)
class PortableCumSumPlain(Kernel):
    """Real numbers and plain integers, by a function of the layer's own; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return has_plain_sums(site.signature.inputs[0])

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(10.0 * site.signature.output.element_count, 80)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, CumSum)
        view = {
            **_line_view(site, op.axis),
            "sum_type": _SUM_TYPES[site.signature.output.element],
            "exclusive": op.exclusive,
            "reverse": op.reverse,
        }
        return KernelCode(function="", operands=(0,), template="portable/cumsum.c.j2", view=view)


@kernel("top_k.portable", TopK)
class PortableTopK(Kernel):
    """One search a result, without memory for sorting; any element type, any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        op, x = site.node.op, site.signature.inputs[0]
        assert isinstance(op, TopK)
        return Cost(12.0 * x.element_count * op.count, 150)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, TopK)
        view = {
            **_line_view(site, op.axis),
            "index_type": site.signature.outputs[1].element.c_name,
            "count": op.count,
            "better": ">" if op.largest else "<",
            "worse": "<" if op.largest else ">",
        }
        return KernelCode(function="", operands=(0,), template="portable/top_k.c.j2", view=view)
