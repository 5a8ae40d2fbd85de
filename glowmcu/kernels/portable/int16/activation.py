"""One element of activations in C on 16-bit activations, which are too many for a table."""

from __future__ import annotations

from glowmcu.ir.operation import Signature
from glowmcu.kernels.common.element_code import ElementCode, element_code
from glowmcu.kernels.kernel import ConstantArray, Field, Parameters
from glowmcu.ops import wide_sigmoid
from glowmcu.ops.activation import Abs, Clip, LeakyRelu, Neg, Relu
from glowmcu.ops.elementwise import Prelu, Scale
from glowmcu.ops.fixed_point import quantize_multiplier
from glowmcu.ops.real_functions import Sqrt
from glowmcu.ops.transcendental import Rsqrt

#: 1 as a scale.
_ONE = Scale(1 << 30, 1)


def _rescale(signature: Signature, scale: Scale, clamp: tuple[int, int]) -> Parameters:
    fields = (
        Field("in_zero_point", signature.inputs[0].zero_point),
        Field("multiplier", scale.multiplier),
        Field("shift", scale.shift),
        Field("out_zero_point", signature.output.zero_point),
        Field("clamp_min", clamp[0]),
        Field("clamp_max", clamp[1]),
    )
    return Parameters("glowmcu_rescale", fields)


def slope_fields(positive: Scale, negative: Scale) -> tuple[Field, ...]:
    """Of what is rescaled by one factor where it is not negative and by another where it is."""
    return (
        Field("positive_multiplier", positive.multiplier),
        Field("positive_shift", positive.shift),
        Field("negative_multiplier", negative.multiplier),
        Field("negative_shift", negative.shift),
    )


def relu_code(op: Relu, signature: Signature) -> ElementCode:
    """Rescaled and clamped."""
    scale = Scale(*quantize_multiplier(op.factor(signature)))
    parameters = _rescale(signature, scale, op.clamp_range(signature))
    return ElementCode("glowmcu_rescale_one({p}, {0})", 8, 56, ("glowmcu_rescale.h",), parameters)


def _unless_same(signature: Signature, argument: str, cycles: int) -> ElementCode:
    """`argument`, which is in the input's units, in the output's."""
    x, out = signature.inputs[0], signature.output
    scale = _ONE if x.scale == out.scale else Scale(*quantize_multiplier(x.scale / out.scale))
    parameters = _rescale(signature, scale, out.element.limits)
    text = f"glowmcu_rescale_one({{p}}, {argument})"
    return ElementCode(text, cycles, 64, ("glowmcu_rescale.h",), parameters)


def abs_code(op: Abs, signature: Signature) -> ElementCode:
    """|x - zero point|, rescaled."""
    zero_point = signature.inputs[0].zero_point
    mirrored = f"(({{0}} < {zero_point}) ? {_mirrored(zero_point)} : {{0}})"
    return _unless_same(signature, mirrored, 11)


def negation_code(op: Neg, signature: Signature) -> ElementCode:
    """-(x - zero point), rescaled."""
    return _unless_same(signature, _mirrored(signature.inputs[0].zero_point), 9)


def _mirrored(zero_point: int) -> str:
    """The stored value of the opposite number."""
    return f"{2 * zero_point} - {{0}}" if zero_point else "-{0}"


def prelu_code(op: Prelu, signature: Signature) -> ElementCode:
    """Rescaled by one factor, or multiplied and rescaled by the other."""
    positive, negative = op.scales(signature)
    parameters = Parameters("glowmcu_slopes_s16", slope_fields(positive, negative))
    headers = ("glowmcu_prelu_s16.h",)
    return ElementCode("glowmcu_prelu_s16_one({p}, {0}, {1})", 16, 90, headers, parameters)


def rsqrt_code(op: Rsqrt, signature: Signature) -> ElementCode:
    """Newton's method on 32 bits."""
    multiplier, shift = op.out_factor(signature)
    fields = (Field("multiplier", multiplier), Field("shift", shift))
    parameters = Parameters("glowmcu_rsqrt_scale", fields)
    headers = ("glowmcu_rsqrt_s16.h",)
    return ElementCode("glowmcu_rsqrt_s16_one({p}, {0})", 250, 400, headers, parameters)


def sqrt_code(op: Sqrt, signature: Signature) -> ElementCode:
    """In float32."""
    fields = (
        Field("in_scale", signature.inputs[0].scale),
        Field("out_scale", signature.output.scale),
        Field("half", 0.0 if op.truncates else 0.5),
    )
    parameters = Parameters("glowmcu_sqrt_scale", fields)
    headers = ("glowmcu_sqrt_s16.h",)
    return ElementCode("glowmcu_sqrt_s16_one({p}, {0})", 90, 200, headers, parameters)


def leaky_relu_code(op: LeakyRelu, signature: Signature) -> ElementCode:
    """Rescaled by one factor or the other."""
    x, out = signature.inputs[0], signature.output
    positive = Scale(*quantize_multiplier(x.scale / out.scale))
    slope = x.scale * op.alpha / out.scale
    negative = Scale(*quantize_multiplier(abs(slope)))
    fields = (
        Field("in_zero_point", x.zero_point),
        *slope_fields(positive, negative),
        Field("negate", int(slope < 0)),
        Field("out_zero_point", out.zero_point),
    )
    parameters = Parameters("glowmcu_leaky_relu", fields)
    headers = ("glowmcu_leaky_relu_s16.h",)
    return ElementCode("glowmcu_leaky_relu_s16_one({p}, {0})", 12, 90, headers, parameters)


@element_code(Clip)
def clip_code(op: Clip, signature: Signature) -> ElementCode:
    """Clamped as it is."""
    low, high = op.clamp
    headers = ("glowmcu_requantize.h",)
    return ElementCode(f"glowmcu_clamp({{0}}, {low}, {high})", 4, 12, headers)


def sigmoid_code(name: str, signature: Signature) -> ElementCode:
    """logistic or tanh by the table that they share."""
    exact = {"logistic": (0,), "tanh": (0, 1)}[name]
    scale = wide_sigmoid.argument_scale(signature.inputs[0].scale, exact)
    fields = (Field("multiplier", scale.multiplier), Field("shift", scale.shift))
    return ElementCode(
        f"glowmcu_{name}_s16_one({{p}}, {{t}}, {{0}})", 28, 130, ("glowmcu_sigmoid_s16.h",),
        Parameters("glowmcu_sigmoid_scale", fields),
        ConstantArray("sigmoid", wide_sigmoid.SIGMOID, "sigmoid(i / 24) - 1/2, Q0.16"),
    )  # fmt: skip
