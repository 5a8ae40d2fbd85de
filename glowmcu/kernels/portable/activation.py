"""One element of activations in C: float32, and plain integers; int8 is lowered to tables."""

from __future__ import annotations

from glowmcu.ir.operation import Signature
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.element_code import ElementCode, element_code
from glowmcu.kernels.common.wrapping import wrapped
from glowmcu.kernels.kernel import Field, Parameters
from glowmcu.kernels.portable.int16 import activation as activation_s16
from glowmcu.ops.activation import Abs, HardSwish, LeakyRelu, Neg, Relu
from glowmcu.ops.real import FLOAT_MAX, Clamp
from glowmcu.ops.wide import is_wide


def clamped(expression: str, clamp: Clamp) -> ElementCode:
    """The float expression within the bounds that there are."""
    low, high = (-FLOAT_MAX, FLOAT_MAX) if clamp is None else clamp
    if low <= -FLOAT_MAX and high >= FLOAT_MAX:
        return ElementCode(expression, 0, 0)
    parameters = Parameters("glowmcu_bounds", (Field("low", low), Field("high", high)))
    if high >= FLOAT_MAX:
        text, cycles = f"glowmcu_at_least({{p}}, {expression})", 3
    elif low <= -FLOAT_MAX:
        text, cycles = f"glowmcu_at_most({{p}}, {expression})", 3
    else:
        text, cycles = f"glowmcu_between({{p}}, {expression})", 6
    return ElementCode(text, cycles, 4 * cycles, ("glowmcu_bounds.h",), parameters)


@element_code(Relu)
def relu_code(op: Relu, signature: Signature) -> ElementCode:
    if is_wide(signature):
        return activation_s16.relu_code(op, signature)
    return clamped("{0}", op.clamp)


@element_code(LeakyRelu)
def leaky_relu_code(op: LeakyRelu, signature: Signature) -> ElementCode:
    if is_wide(signature):
        return activation_s16.leaky_relu_code(op, signature)
    parameters = Parameters("glowmcu_slope", (Field("alpha", op.alpha),))
    headers = ("glowmcu_bounds.h",)
    return ElementCode("glowmcu_leaky_relu_one({p}, {0})", 4, 16, headers, parameters)


@element_code(HardSwish)
def hard_swish_code(op: HardSwish, signature: Signature) -> ElementCode:
    return ElementCode("glowmcu_hard_swish_one({0})", 10, 40, ("glowmcu_bounds.h",))


@element_code(Abs)
def abs_code(op: Abs, signature: Signature) -> ElementCode:
    if signature.output.element.is_float:
        return ElementCode("glowmcu_absf({0})", 1, 4, ("glowmcu_math.h",))
    if signature.output.element is ElementType.UI8:
        return ElementCode("{0}", 0, 0)
    if signature.output.quantization is not None:
        return activation_s16.abs_code(op, signature)
    negative = wrapped(signature.output.element, "0", "-", "{0}")
    return ElementCode(f"(({{0}} < 0) ? {negative} : {{0}})", 3, 8)


@element_code(Neg)
def negation_code(op: Neg, signature: Signature) -> ElementCode:
    element = signature.output.element
    if element.is_float:
        return ElementCode("-{0}", 1, 4)
    if signature.output.quantization is not None:
        return activation_s16.negation_code(op, signature)
    return ElementCode(wrapped(element, "0", "-", "{0}"), 1, 2)
