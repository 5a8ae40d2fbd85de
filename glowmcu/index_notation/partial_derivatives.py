"""How a value changes with each element that it is made of."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence

from glowmcu.index_notation.expressions import FLOAT
from glowmcu.index_notation.rewriting import (
    both,
    called,
    compared,
    minus,
    negative,
    number,
    over,
    times,
    where,
)
from glowmcu.index_notation.statements import DefinitionError
from glowmcu.lazy_dataclass import dataclass

#: Of functions of one real number, from their operand, their result and its gradient.
_REAL: Mapping[str, Callable[[ast.expr, ast.expr, ast.expr], ast.expr]] = {
    "exp": lambda x, y, given: times(given, y),
    "log": lambda x, y, given: over(given, x),
    "sqrt": lambda x, y, given: over(times(number(0.5), given), y),
    "tanh": lambda x, y, given: times(given, minus(number(1.0), times(y, y))),
    "sigmoid": lambda x, y, given: times(given, times(y, minus(number(1.0), y))),
    "sin": lambda x, y, given: times(given, called("cos", x)),
    "cos": lambda x, y, given: negative(times(given, called("sin", x))),
    "abs": lambda x, y, given: where(compared(x, ast.Lt(), number(0.0)), negative(given), given),
}
#: Steps, whose slope is 0, and what makes a real number of an integer.
_FLAT = ("floor", "float")


@dataclass(frozen=True)
class Parts:
    """`type_of` says what a part of the value is, `line` where it stands. Of the `whole` value
    `known` is an element that has it.
    """

    type_of: Callable[[ast.expr], str]
    line: int
    whole: ast.expr
    known: ast.expr | None = None


def leaf_gradients(
    node: ast.expr, given: ast.expr, parts: Parts
) -> Iterator[tuple[ast.Subscript, ast.expr]]:
    """Each float32 element that the value reads, with what it gets of the gradient `given`. Raises
    DefinitionError.
    """
    if parts.type_of(node) != FLOAT or isinstance(node, ast.Constant | ast.Name):
        return
    if isinstance(node, ast.Subscript):
        yield node, given
    elif isinstance(node, ast.UnaryOp):
        yield from leaf_gradients(node.operand, negative(given), parts)
    elif isinstance(node, ast.BinOp):
        for side, part in _sides(node, given):
            yield from leaf_gradients(side, part, parts)
    elif isinstance(node, ast.Call):
        result = parts.known if node is parts.whole and parts.known else node
        for side, part in _arguments(node, result, given):
            yield from leaf_gradients(side, part, parts)
    else:
        raise DefinitionError(f"{ast.unparse(node)[:60]} has no gradient", parts.line)


def _sides(node: ast.BinOp, given: ast.expr) -> Sequence[tuple[ast.expr, ast.expr]]:
    a, b = node.left, node.right
    if isinstance(node.op, ast.Add):
        return (a, given), (b, given)
    if isinstance(node.op, ast.Sub):
        return (a, given), (b, negative(given))
    if isinstance(node.op, ast.Mult):
        return (a, times(given, b)), (b, times(given, a))
    assert isinstance(node.op, ast.Div), ast.dump(node)
    return (a, over(given, b)), (b, negative(over(times(given, over(a, b)), b)))


def _arguments(
    node: ast.Call, result: ast.expr, given: ast.expr
) -> Sequence[tuple[ast.expr, ast.expr]]:
    """The operand that an extreme takes is the one that the C takes."""
    name, args, zero = ast.unparse(node.func), node.args, number(0.0)
    if name in _FLAT:
        return ()
    if name in _REAL:
        return ((args[0], _REAL[name](args[0], result, given)),)
    if name == "where":
        return (args[1], where(args[0], given, zero)), (args[2], where(args[0], zero, given))
    if name in ("min", "max"):
        first = compared(args[0], ast.Lt() if name == "min" else ast.Gt(), args[1])
        return (args[0], where(first, given, zero)), (args[1], where(first, zero, given))
    assert name == "clip", name
    x, low, high = args
    above, below = compared(x, ast.Gt(), low), compared(called("max", x, low), ast.Lt(), high)
    return (
        (x, where(both([above, below]), given, zero)),
        (low, where(both([compared(x, ast.LtE(), low), below]), given, zero)),
        (high, where(below, zero, given)),
    )
