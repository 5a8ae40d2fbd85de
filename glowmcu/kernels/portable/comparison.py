"""One element of comparisons, logic and select in C."""

from __future__ import annotations

from glowmcu.ir.operation import Signature
from glowmcu.kernels.common.element_code import ElementCode, element_code
from glowmcu.kernels.portable.elementwise import sum_parameters
from glowmcu.ops.comparison import (
    Comparison,
    Equal,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    LogicalXor,
    NotEqual,
    Select,
)


@element_code(Equal, NotEqual, Greater, GreaterEqual, Less, LessEqual)
def comparison_code(op: Comparison, signature: Signature) -> ElementCode:
    if not op.is_scaled(signature):
        return ElementCode(f"(({{0}} {op.symbol} {{1}}) ? 1 : 0)", 3, 8)
    parameters = sum_parameters(op.common_scale(signature), signature, 0, (0, 0))
    expression = f"((glowmcu_compare_one({{p}}, {{0}}, {{1}}) {op.symbol} 0) ? 1 : 0)"
    return ElementCode(expression, 16, 80, ("glowmcu_sum.h",), parameters)


@element_code(LogicalAnd)
def and_code(op: LogicalAnd, signature: Signature) -> ElementCode:
    return ElementCode("({0} & {1})", 1, 2)


@element_code(LogicalOr)
def or_code(op: LogicalOr, signature: Signature) -> ElementCode:
    return ElementCode("({0} | {1})", 1, 2)


@element_code(LogicalXor)
def xor_code(op: LogicalXor, signature: Signature) -> ElementCode:
    return ElementCode("({0} ^ {1})", 1, 2)


@element_code(LogicalNot)
def not_code(op: LogicalNot, signature: Signature) -> ElementCode:
    return ElementCode("({0} ^ 1)", 1, 2)


@element_code(Select)
def select_code(op: Select, signature: Signature) -> ElementCode:
    return ElementCode("(({0} != 0) ? {1} : {2})", 3, 6)
