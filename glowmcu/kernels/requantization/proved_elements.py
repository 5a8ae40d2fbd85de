"""One int8 element of add, sub and mul in C without literal requantization, if that is exact."""

from __future__ import annotations

from dataclasses import asdict

from glowmcu.ir.operation import Operation, Rounding, Signature
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.element_code import ElementCode, element_code_of
from glowmcu.kernels.kernel import Field, Parameters
from glowmcu.kernels.requantization.linear_form import PLAIN, LinearForm, linear_form
from glowmcu.kernels.requantization.two_piece_form import TwoPieceForm, two_piece_form
from glowmcu.ops.elementwise import Add, Mul, Sub

#: addend = (zero point + 1/2) << shift, and what is added to it, stay inside int32.
_PRODUCT_SHIFTS = range(1, 23)
#: Cycles of an element on a Cortex-M4, and bytes of code.
_PRODUCT_COST, _LINE_COST, _BENT_LINE_COST = (12, 48), (4, 24), (7, 40)


def is_int8(signature: Signature) -> bool:
    """Whether operands and result are quantized int8."""
    types = (*signature.inputs, signature.output)
    return all(type_.element is ElementType.I8 and type_.quantization for type_ in types)


def folds_product(op: Mul, signature: Signature, rounding: Rounding) -> bool:
    """Whether both roundings of TensorFlow Lite's product fold into one addition."""
    return (
        is_int8(signature)
        and rounding is Rounding.DOUBLE
        and op.clamp_range(signature) == ElementType.I8.limits
        and -op.scale(signature).shift in _PRODUCT_SHIFTS
    )


def product_fields(op: Mul, signature: Signature) -> tuple[Field, ...]:
    """The last members of a `glowmcu_folded_product`: multiplier, addend, shift."""
    scale = op.scale(signature)
    right = -scale.shift
    addend = (signature.output.zero_point << right) + (1 << (right - 1))
    return (
        Field("multiplier", scale.multiplier),
        Field("addend", addend),
        Field("shift", right),
    )


def proved_code(op: Operation, signature: Signature, rounding: Rounding) -> ElementCode | None:
    """An element in a form that is shorter than the literal one, None if there is none."""
    if isinstance(op, Add | Sub) and is_int8(signature):
        return _sum_code(op, signature, rounding)
    if isinstance(op, Mul) and folds_product(op, signature, rounding):
        a, b = signature.inputs
        fields = (
            Field("a_zero_point", a.zero_point),
            Field("b_zero_point", b.zero_point),
            *product_fields(op, signature),
        )
        parameters = Parameters("glowmcu_folded_product", fields)
        expression = "glowmcu_folded_product_one({p}, {0}, {1})"
        return ElementCode(expression, *_PRODUCT_COST, ("glowmcu_folded_product.h",), parameters)
    return None


def _sum_code(op: Add | Sub, signature: Signature, rounding: Rounding) -> ElementCode | None:
    line = linear_form(op, signature, (None, None), rounding, PLAIN)
    if line is not None:
        parameters = _parameters("glowmcu_line", line)
        return ElementCode(
            "glowmcu_line_one({p}, {0}, {1})", *_LINE_COST, ("glowmcu_line.h",), parameters
        )
    two_piece = two_piece_form(op, signature, rounding)
    if two_piece is None:
        return None
    parameters = _parameters("glowmcu_bent_line", two_piece)
    return ElementCode(
        "glowmcu_bent_line_one({p}, {0}, {1})",
        *_BENT_LINE_COST,
        ("glowmcu_bent_line.h",),
        parameters,
    )


def _parameters(struct: str, form: LinearForm | TwoPieceForm) -> Parameters:
    return Parameters(struct, tuple(Field(name, value) for name, value in asdict(form).items()))


def best_code(op: Operation, signature: Signature, rounding: Rounding) -> ElementCode | None:
    """The proved form, else the literal code, else None."""
    return proved_code(op, signature, rounding) or element_code_of(op, signature)
