"""Kernels of arithmetic on two tensors: one element in C, and shared int8 loops."""

from __future__ import annotations

from glowmcu.ir.operation import Signature
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.broadcasting import loop_axes, walk
from glowmcu.kernels.common.element_code import ElementCode, element_code, element_code_of
from glowmcu.kernels.common.overlap import element_overlaps
from glowmcu.kernels.common.wrapping import narrowed, wrapped
from glowmcu.kernels.kernel import (
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.kernels.portable.activation import clamped
from glowmcu.kernels.portable.int16 import activation as activation_s16
from glowmcu.ops.elementwise import (
    Add,
    Arithmetic,
    CommonScale,
    Maximum,
    Minimum,
    Mul,
    Prelu,
    Scale,
    SquaredDifference,
    Sub,
)
from glowmcu.ops.wide import is_wide


def sum_parameters(
    scale: CommonScale, signature: Signature, out_zero_point: int, clamp: tuple[int, int]
) -> Parameters:
    """A `glowmcu_sum`."""
    a, b = signature.inputs
    fields = (
        Field("left_shift", scale.left_shift),
        Field("a_zero_point", a.zero_point),
        Field("a_multiplier", scale.a.multiplier),
        Field("a_shift", scale.a.shift),
        Field("b_zero_point", b.zero_point),
        Field("b_multiplier", scale.b.multiplier),
        Field("b_shift", scale.b.shift),
        Field("out_multiplier", scale.out.multiplier),
        Field("out_shift", scale.out.shift),
        Field("out_zero_point", out_zero_point),
        Field("clamp_min", clamp[0]),
        Field("clamp_max", clamp[1]),
    )
    return Parameters("glowmcu_sum", fields)


_SYMBOLS = {"add": "+", "sub": "-", "mul": "*"}


def _is_plain(signature: Signature) -> bool:
    """Numbers that are what they are stored as: real, or integers modulo their range."""
    return signature.output.quantization is None


def _plain_code(op: Arithmetic, signature: Signature) -> ElementCode:
    element = signature.output.element
    if not element.is_float:
        if isinstance(op, SquaredDifference):
            wide = "uint64_t" if element is ElementType.I64 else "uint32_t"
            difference = f"(({wide}){{0}} - ({wide}){{1}})"
            return ElementCode(narrowed(element, f"({difference} * {difference})"), 3, 8)
        return ElementCode(wrapped(element, "{0}", _SYMBOLS[op.name], "{1}"), 1, 4)
    if isinstance(op, SquaredDifference):
        return clamped("(({0} - {1}) * ({0} - {1}))", op.clamp)
    return clamped(f"({{0}} {_SYMBOLS[op.name]} {{1}})", op.clamp)


@element_code(Add, Sub, SquaredDifference)
def sum_code(op: Add | Sub | SquaredDifference, signature: Signature) -> ElementCode:
    if _is_plain(signature):
        return _plain_code(op, signature)
    parameters = sum_parameters(
        op.common_scale(signature),
        signature,
        signature.output.zero_point,
        op.clamp_range(signature),
    )
    function = f"glowmcu_{op.name}_one({{p}}, {{0}}, {{1}})"
    return ElementCode(function, 22, 110, ("glowmcu_sum.h",), parameters)


def pair_fields(scale: Scale, signature: Signature, clamp: tuple[int, int]) -> tuple[Field, ...]:
    """Of an operator on two elements less their zero points, whose result `scale` rescales."""
    a, b = signature.inputs
    return (
        Field("a_zero_point", a.zero_point),
        Field("b_zero_point", b.zero_point),
        Field("out_multiplier", scale.multiplier),
        Field("out_shift", scale.shift),
        Field("out_zero_point", signature.output.zero_point),
        Field("clamp_min", clamp[0]),
        Field("clamp_max", clamp[1]),
    )


@element_code(Mul)
def mul_code(op: Mul, signature: Signature) -> ElementCode:
    if _is_plain(signature):
        return _plain_code(op, signature)
    fields = pair_fields(op.scale(signature), signature, op.clamp_range(signature))
    parameters = Parameters("glowmcu_product", fields)
    return ElementCode("glowmcu_mul_one({p}, {0}, {1})", 18, 70, ("glowmcu_product.h",), parameters)


@element_code(Prelu)
def prelu_code(op: Prelu, signature: Signature) -> ElementCode:
    if _is_plain(signature):
        return ElementCode("(({0} < 0.0f) ? ({0} * {1}) : {0})", 4, 16)
    if is_wide(signature):
        return activation_s16.prelu_code(op, signature)
    x, alpha = signature.inputs
    positive, negative = op.scales(signature)
    fields = (
        Field("x_zero_point", x.zero_point),
        Field("alpha_zero_point", alpha.zero_point),
        *activation_s16.slope_fields(positive, negative),
        Field("out_zero_point", signature.output.zero_point),
    )
    parameters = Parameters("glowmcu_slopes", fields)
    return ElementCode(
        "glowmcu_prelu_one({p}, {0}, {1})", 20, 110, ("glowmcu_product.h",), parameters
    )


@element_code(Maximum)
def maximum_code(op: Maximum, signature: Signature) -> ElementCode:
    return _extremum_code(op, signature, "{0} > {1}")


@element_code(Minimum)
def minimum_code(op: Minimum, signature: Signature) -> ElementCode:
    return _extremum_code(op, signature, "{0} < {1}")


def _extremum_code(op: Maximum | Minimum, signature: Signature, takes_first: str) -> ElementCode:
    if op.keeps_nan and signature.output.element.is_float:
        return ElementCode(f"((({takes_first}) || ({{0}} != {{0}})) ? {{0}} : {{1}})", 6, 24)
    return ElementCode(f"(({takes_first}) ? {{0}} : {{1}})", 3, 6)


@kernel("elementwise.shared", Add, Sub, Mul, SquaredDifference, Prelu)
class SharedPairLoop(Kernel):
    """One loop for all layers with this operator on int8, parameters in a struct; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        types = (*site.signature.inputs, site.signature.output)
        return all(
            type_.element is ElementType.I8 and type_.quantization is not None for type_ in types
        )

    def work(self, site: Site, target: Target) -> dict[str, float]:
        signature = site.signature
        axes = loop_axes([type_.shape for type_ in signature.inputs], signature.output.shape)
        elements = signature.output.element_count
        return {
            "call": 1.0,
            f"{site.node.op.name} element": elements,
            "run": elements / max(axes[-1].size, 1),
        }

    def code_key(self, site: Site, target: Target) -> str:
        return f"glowmcu_{site.node.op.name}_s8"

    def generate(self, site: Site, target: Target) -> KernelCode:
        signature = site.signature
        code = element_code_of(site.node.op, signature)
        assert code is not None and code.parameters is not None
        shapes = [type_.shape for type_ in signature.inputs]
        fields = (
            Field("one", code.parameters),
            Field("walk", walk(shapes, signature.output.shape)),
        )
        name = site.node.op.name
        return KernelCode(
            function=f"glowmcu_{name}_s8",
            operands=(0, 1),
            header=f"glowmcu_{name}.h",
            overlaps=element_overlaps(site.signature),
            parameters=Parameters(f"glowmcu_{name}", fields),
        )
