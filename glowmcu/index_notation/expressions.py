"""What a value may be: which operators and functions there are, and which type they give."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from glowmcu.index_notation.definition import Definition
from glowmcu.index_notation.statements import DefinitionError

FLOAT, INT, BOOL = "float32", "int32", "bool"

ARITHMETIC: Mapping[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*",
                                                ast.Div: "/"}  # fmt: skip
COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
#: The largest float32.
_MOST = (2 - 2**-23) * 2.0**127
#: Functions of one real number, with the function and header of libjit that compute them.
REAL: Mapping[str, tuple[str, str]] = {
    "exp": ("glowmcu_expf", "glowmcu_expf.h"),
    "log": ("glowmcu_logf", "glowmcu_logf.h"),
    "sqrt": ("glowmcu_sqrtf", "glowmcu_sqrtf.h"),
    "tanh": ("glowmcu_tanhf", "glowmcu_tanhf.h"),
    "sigmoid": ("glowmcu_logisticf", "glowmcu_logisticf.h"),
    "floor": ("glowmcu_floorf", "glowmcu_roundf.h"),
    "sin": ("glowmcu_sinf", "glowmcu_sinf.h"),
    "cos": ("glowmcu_cosf", "glowmcu_cosf.h"),
}
#: Others, with how many arguments they take.
OTHER = {"abs": 1, "float": 1, "min": 2, "max": 2, "clip": 3, "where": 3}


def is_stored(number: float) -> bool:
    """Whether int32, or of real numbers float32, has it."""
    if isinstance(number, int):
        return -(2**31) <= number < 2**31
    return abs(number) <= _MOST


def call_name(node: ast.Call) -> str:
    """The function's name. Raises DefinitionError for one that is not known."""
    name = ast.unparse(node.func)
    wanted = 1 if name in REAL else OTHER.get(name)
    if wanted is None or node.keywords:
        known = ", ".join(sorted([*REAL, *OTHER]))
        raise DefinitionError(f"there is no function {name[:40]}; there are {known}", node.lineno)
    if len(node.args) != wanted:
        what = f"{name} takes {wanted} argument{'s' if wanted > 1 else ''}, got {len(node.args)}"
        raise DefinitionError(what, node.lineno)
    return name


def type_of(node: ast.expr, tensors: Mapping[str, str], numbers: Mapping[str, str]) -> str:
    """The type of a value; `tensors` and `numbers` (indices, sizes, attributes) by name. Raises
    DefinitionError.
    """
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and (not isinstance(node.value, bool))
    ):
        if not is_stored(node.value):
            shown = ast.unparse(node)[:20]
            raise DefinitionError(f"{shown} is no number of int32 or float32", node.lineno)
        return INT if isinstance(node.value, int) else FLOAT
    if isinstance(node, ast.Name) and node.id in numbers:
        return numbers[node.id]
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        if node.value.id in tensors:
            return tensors[node.value.id]
        raise DefinitionError(f"{node.value.id} is read before it has a value", node.lineno)
    if isinstance(node, ast.Compare | ast.BoolOp):
        return _condition_type(node, tensors, numbers)
    if isinstance(node, ast.Call):
        return _call_type(node, tensors, numbers)
    return _arithmetic_type(node, tensors, numbers)


def _arithmetic_type(node: ast.expr, tensors: Mapping[str, str], numbers: Mapping[str, str]) -> str:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _number(type_of(node.operand, tensors, numbers), node)
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        sides = [_number(type_of(n, tensors, numbers), n) for n in (node.left, node.right)]
        if isinstance(node.op, ast.Div) and FLOAT not in sides:
            raise DefinitionError("a quotient of integers: write float(…)", node.lineno)
        return FLOAT if FLOAT in sides else INT
    raise DefinitionError(f"{ast.unparse(node)[:60]!r} is no value here", node.lineno)


def _condition_type(
    node: ast.Compare | ast.BoolOp, tensors: Mapping[str, str], numbers: Mapping[str, str]
) -> str:
    if isinstance(node, ast.BoolOp):
        if any(type_of(side, tensors, numbers) != BOOL for side in node.values):
            raise DefinitionError("`and` and `or` take comparisons", node.lineno)
        return BOOL
    if len(node.ops) != 1 or type(node.ops[0]) not in COMPARISONS:
        raise DefinitionError(f"{ast.unparse(node)[:60]!r}: compare two numbers", node.lineno)
    for side in (node.left, node.comparators[0]):
        _number(type_of(side, tensors, numbers), side)
    return BOOL


def _call_type(node: ast.Call, tensors: Mapping[str, str], numbers: Mapping[str, str]) -> str:
    name = call_name(node)
    kinds = [type_of(each, tensors, numbers) for each in node.args]
    if name == "where" and kinds[0] != BOOL:
        raise DefinitionError("where takes a comparison first", node.lineno)
    values = kinds[1:] if name == "where" else kinds
    for kind in values:
        _number(kind, node)
    return FLOAT if name in REAL or name == "float" or FLOAT in values else INT


def _number(kind: str, node: ast.expr) -> str:
    if kind == BOOL:
        raise DefinitionError(f"{ast.unparse(node)[:60]} is no number: use where", node.lineno)
    return kind


def headers(definition: Definition) -> tuple[str, ...]:
    """Of libjit, for the functions that are called."""
    calls = [
        ast.unparse(node.func)
        for statement in definition.statements
        for node in ast.walk(statement.value)
        if isinstance(node, ast.Call)
    ]
    return tuple(sorted({REAL[name][1] for name in calls if name in REAL}))
