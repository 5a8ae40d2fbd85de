"""One element of quotients, remainders and powers in C: real, plain integers, quantized."""

from __future__ import annotations

from glowmcu.ir.operation import Signature
from glowmcu.kernels.common.element_code import ElementCode, element_code
from glowmcu.kernels.common.wrapping import narrowed
from glowmcu.kernels.kernel import Parameters
from glowmcu.kernels.portable.activation import clamped
from glowmcu.kernels.portable.elementwise import pair_fields
from glowmcu.ops.division import Div, FloorDiv, FloorMod, PlainArithmetic, Pow, TruncMod
from glowmcu.ops.wide import is_wide

#: float: expression, cycles, bytes, header; integers: function and header.
_REAL: dict[type[PlainArithmetic], tuple[str, int, int, str]] = {
    Div: ("({0} / {1})", 14, 4, ""),
    FloorDiv: ("glowmcu_floorf({0} / {1})", 30, 90, "roundf"),
    FloorMod: ("glowmcu_floor_modf({0}, {1})", 150, 220, "fmodf"),
    TruncMod: ("glowmcu_fmodf({0}, {1})", 140, 196, "fmodf"),
    Pow: ("glowmcu_powf({0}, {1})", 260, 1568, "powf"),
}
_INTEGER: dict[type[PlainArithmetic], tuple[str, str]] = {
    Div: ("quotient", "integer_division"),
    FloorDiv: ("floor_quotient", "integer_division"),
    FloorMod: ("modulo", "integer_division"),
    TruncMod: ("remainder", "integer_division"),
    Pow: ("integer_pow", "integer_pow"),
}
#: Of 32 bits and less.
_WORDS = ("word_quotient", "word_division")


@element_code(*_REAL)
def division_code(op: PlainArithmetic, signature: Signature) -> ElementCode:
    element = signature.output.element
    if signature.output.quantization is not None:
        assert isinstance(op, Div)
        return _quantized_code(op, signature)
    if not element.is_float:
        is_word = type(op) is Div and element.size_bytes <= 4
        function, header = _WORDS if is_word else _INTEGER[type(op)]
        text = narrowed(element, f"glowmcu_{function}({{0}}, {{1}})")
        return ElementCode(text, 20 if is_word else 60, 60, (f"glowmcu_{header}.h",))
    expression, cycles, code_bytes, header = _REAL[type(op)]
    limited = clamped(expression, op.clamp)
    headers = (*limited.headers, *((f"glowmcu_{header}.h",) if header else ()))
    return ElementCode(
        limited.expression,
        cycles + limited.cycles,
        code_bytes + limited.code_bytes,
        headers,
        limited.parameters,
    )


def _quantized_code(op: Div, signature: Signature) -> ElementCode:
    fields = pair_fields(op.scale(signature), signature, op.clamp_range(signature))
    parameters = Parameters("glowmcu_ratio", fields)
    function = "glowmcu_div_s16_one" if is_wide(signature) else "glowmcu_div_one"
    return ElementCode(
        f"{function}({{p}}, {{0}}, {{1}})", 170, 300, ("glowmcu_ratio.h",), parameters
    )
