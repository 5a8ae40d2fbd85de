"""One float32 element of activations with parameters in C; int8 is lowered to tables."""

from __future__ import annotations

from glowmcu.ir.operation import Signature
from glowmcu.kernels.common.element_code import ElementCode, element_code
from glowmcu.kernels.kernel import Field, Parameters
from glowmcu.ops.parametric_activation import (
    Celu,
    HardSigmoid,
    Mish,
    Selu,
    Shrink,
    Softplus,
    Softsign,
    Swish,
    ThresholdedRelu,
)

_SIMPLE = ("glowmcu_activations.h",)
_EXPONENTIAL = ("glowmcu_exponential_activations.h",)


def _parameters(alpha: float, gamma: float) -> Parameters:
    return Parameters("glowmcu_activation", (Field("alpha", alpha), Field("gamma", gamma)))


@element_code(Selu)
def selu_code(op: Selu, signature: Signature) -> ElementCode:
    parameters = _parameters(op.alpha, op.gamma)
    return ElementCode("glowmcu_selu_one({p}, {0})", 52, 420, _EXPONENTIAL, parameters)


@element_code(Celu)
def celu_code(op: Celu, signature: Signature) -> ElementCode:
    parameters = _parameters(op.alpha, 0.0)
    return ElementCode("glowmcu_celu_one({p}, {0})", 66, 420, _EXPONENTIAL, parameters)


@element_code(Swish)
def swish_code(op: Swish, signature: Signature) -> ElementCode:
    parameters = _parameters(op.alpha, 0.0)
    return ElementCode("glowmcu_swish_one({p}, {0})", 62, 260, _EXPONENTIAL, parameters)


@element_code(Mish)
def mish_code(op: Mish, signature: Signature) -> ElementCode:
    return ElementCode("glowmcu_mish_one({0})", 66, 280, _EXPONENTIAL)


@element_code(Softplus)
def softplus_code(op: Softplus, signature: Signature) -> ElementCode:
    return ElementCode("glowmcu_softplusf({0})", 130, 864, ("glowmcu_softplusf.h",))


@element_code(Softsign)
def softsign_code(op: Softsign, signature: Signature) -> ElementCode:
    return ElementCode("glowmcu_softsign_one({0})", 16, 16, _SIMPLE)


@element_code(HardSigmoid)
def hard_sigmoid_code(op: HardSigmoid, signature: Signature) -> ElementCode:
    parameters = _parameters(op.alpha, op.beta)
    return ElementCode("glowmcu_hard_sigmoid_one({p}, {0})", 8, 36, _SIMPLE, parameters)


@element_code(ThresholdedRelu)
def thresholded_relu_code(op: ThresholdedRelu, signature: Signature) -> ElementCode:
    parameters = _parameters(op.alpha, 0.0)
    return ElementCode("glowmcu_thresholded_relu_one({p}, {0})", 4, 14, _SIMPLE, parameters)


@element_code(Shrink)
def shrink_code(op: Shrink, signature: Signature) -> ElementCode:
    parameters = _parameters(op.threshold, op.bias)
    return ElementCode("glowmcu_shrink_one({p}, {0})", 9, 36, _SIMPLE, parameters)
