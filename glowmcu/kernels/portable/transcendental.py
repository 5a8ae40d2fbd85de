"""One float32 element of smooth functions in C; int8 is lowered to tables."""

from __future__ import annotations

from glowmcu.ir.operation import Operation, Signature
from glowmcu.kernels.common.element_code import ElementCode, element_code
from glowmcu.kernels.common.wrapping import wrapped
from glowmcu.kernels.kernel import Field, Parameters
from glowmcu.kernels.portable.int16 import activation as int16
from glowmcu.ops import real_functions as functions
from glowmcu.ops.transcendental import Elu, Exp, Gelu, Log, Logistic, Rsqrt, Tanh
from glowmcu.ops.wide import is_wide

#: Expression, cycles on a Cortex-M4F, code bytes, header.
_CODES: dict[type[Operation], tuple[str, int, int, str]] = {
    Logistic: ("glowmcu_logisticf({0})", 65, 296, "logisticf"),
    Tanh: ("glowmcu_tanhf({0})", 80, 564, "tanhf"),
    Rsqrt: ("(1.0f / glowmcu_sqrtf({0}))", 30, 24, "sqrtf"),
    Elu: ("glowmcu_elu_one({0})", 50, 410, "exponential_activations"),
    Exp: ("glowmcu_expf({0})", 45, 236, "expf"),
    Log: ("glowmcu_logf({0})", 50, 208, "logf"),
    functions.Sqrt: ("glowmcu_sqrtf({0})", 14, 8, "sqrtf"),
    functions.Reciprocal: ("(1.0f / {0})", 14, 8, ""),
    functions.Sin: ("glowmcu_sinf({0})", 90, 428, "sinf"),
    functions.Cos: ("glowmcu_cosf({0})", 90, 416, "cosf"),
    functions.Tan: ("glowmcu_tanf({0})", 110, 448, "tanf"),
    functions.Asin: ("glowmcu_asinf({0})", 60, 212, "asinf"),
    functions.Acos: ("glowmcu_acosf({0})", 60, 296, "asinf"),
    functions.Atan: ("glowmcu_atanf({0})", 55, 188, "atanf"),
    functions.Sinh: ("glowmcu_sinhf({0})", 90, 876, "sinhf"),
    functions.Cosh: ("glowmcu_coshf({0})", 75, 312, "sinhf"),
    functions.Asinh: ("glowmcu_asinhf({0})", 130, 804, "asinhf"),
    functions.Acosh: ("glowmcu_acoshf({0})", 110, 716, "asinhf"),
    functions.Atanh: ("glowmcu_atanhf({0})", 110, 632, "asinhf"),
    functions.Erf: ("glowmcu_erff({0})", 70, 512, "erff"),
    functions.Floor: ("glowmcu_floorf({0})", 16, 84, "roundf"),
    functions.Ceil: ("glowmcu_ceilf({0})", 16, 96, "roundf"),
    functions.Round: ("glowmcu_round_evenf({0})", 24, 132, "roundf"),
}


@element_code(*_CODES)
def function_code(op: Operation, signature: Signature) -> ElementCode:
    if is_wide(signature):
        return _wide_code(op, signature)
    assert signature.output.element.is_float, f"{op.name} of 8 bits is a table"
    expression, cycles, code_bytes, header = _CODES[type(op)]
    headers = (f"glowmcu_{header}.h",) if header else ()
    return ElementCode(expression, cycles, code_bytes, headers)


def _wide_code(op: Operation, signature: Signature) -> ElementCode:
    if isinstance(op, Rsqrt):
        return int16.rsqrt_code(op, signature)
    if isinstance(op, functions.Sqrt):
        return int16.sqrt_code(op, signature)
    return int16.sigmoid_code(op.name, signature)


@element_code(Gelu)
def gelu_code(op: Gelu, signature: Signature) -> ElementCode:
    assert signature.output.element.is_float, "gelu of 8 bits is a table"
    function = "glowmcu_gelu_tanhf" if op.approximate else "glowmcu_geluf"
    return ElementCode(f"{function}({{0}})", 90, 600, ("glowmcu_geluf.h",))


@element_code(functions.Square)
def square_code(op: functions.Square, signature: Signature) -> ElementCode:
    element = signature.output.element
    text = "({0} * {0})" if element.is_float else wrapped(element, "{0}", "*", "{0}")
    return ElementCode(text, 1, 4)


@element_code(functions.Sign)
def sign_code(op: functions.Sign, signature: Signature) -> ElementCode:
    if signature.output.element.is_float:
        return ElementCode("glowmcu_sign_one({0})", 5, 20, ("glowmcu_activations.h",))
    return ElementCode("(({0} > 0) - ({0} < 0))", 4, 10)


@element_code(functions.Power)
def power_code(op: functions.Power, signature: Signature) -> ElementCode:
    products = {2.0: "({0} * {0})", 3.0: "({0} * {0} * {0})", -1.0: "(1.0f / {0})"}
    if op.exponent in products:
        return ElementCode(products[op.exponent], 3, 10)
    parameters = Parameters("glowmcu_slope", (Field("alpha", op.exponent),))
    headers = ("glowmcu_bounds.h", "glowmcu_powf.h")
    return ElementCode("glowmcu_powf({0}, ({p})->alpha)", 260, 1568, headers, parameters)
