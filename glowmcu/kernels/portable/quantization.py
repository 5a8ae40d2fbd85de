"""One element of requantize, quantize and dequantize in C."""

from __future__ import annotations

from glowmcu.ir.operation import Signature
from glowmcu.kernels.common.element_code import ElementCode, element_code
from glowmcu.kernels.kernel import Field, Parameters
from glowmcu.ops.quantization import Dequantize, Quantize, Requantize


@element_code(Requantize)
def requantize_code(op: Requantize, signature: Signature) -> ElementCode:
    scale = op.scale(signature)
    clamp_min, clamp_max = signature.output.element.limits
    fields = (
        Field("in_zero_point", signature.inputs[0].zero_point),
        Field("multiplier", scale.multiplier),
        Field("shift", scale.shift),
        Field("out_zero_point", signature.output.zero_point),
        Field("clamp_min", clamp_min),
        Field("clamp_max", clamp_max),
    )
    parameters = Parameters("glowmcu_rescale", fields)
    return ElementCode("glowmcu_rescale_one({p}, {0})", 8, 56, ("glowmcu_rescale.h",), parameters)


@element_code(Quantize)
def quantize_code(op: Quantize, signature: Signature) -> ElementCode:
    out = signature.output
    clamp_min, clamp_max = out.element.limits
    parameters = _affine(out.scale, out.zero_point, clamp_min, clamp_max)
    function = "glowmcu_quantize_even_one" if op.half_even else "glowmcu_quantize_one"
    return ElementCode(f"{function}({{p}}, {{0}})", 56, 140, ("glowmcu_float.h",), parameters)


@element_code(Dequantize)
def dequantize_code(op: Dequantize, signature: Signature) -> ElementCode:
    (x,) = signature.inputs
    parameters = _affine(x.scale, x.zero_point, 0, 0)
    return ElementCode("glowmcu_dequantize_one({p}, {0})", 5, 16, ("glowmcu_float.h",), parameters)


def _affine(scale: float, zero_point: int, clamp_min: int, clamp_max: int) -> Parameters:
    fields = (
        Field("scale", scale),
        Field("zero_point", zero_point),
        Field("clamp_min", clamp_min),
        Field("clamp_max", clamp_max),
    )
    return Parameters("glowmcu_affine", fields)
