"""Trees of values: made anew with other names, and put together."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence


def renamed(
    node: ast.expr, tensors: Mapping[str, str], values: Mapping[str, ast.expr] | None = None
) -> ast.expr:
    """A copy with other `tensors`, and `values` in place of indices."""
    made: ast.expr = _Renaming(tensors, values or {}).visit(copy.deepcopy(node))
    return made


class _Renaming(ast.NodeTransformer):
    def __init__(self, tensors: Mapping[str, str], values: Mapping[str, ast.expr]) -> None:
        self._tensors, self._values = tensors, values

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        assert isinstance(node.value, ast.Name)
        name = self._tensors.get(node.value.id, node.value.id)
        return ast.Subscript(ast.Name(name), self.visit(node.slice), ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.Call:
        return ast.Call(node.func, [self.visit(each) for each in node.args], [])

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self._values.get(node.id)
        return node if value is None else copy.deepcopy(value)


def number(value: float) -> ast.expr:
    """A constant."""
    return ast.Constant(value)


def element(tensor: str, indices: Sequence[str]) -> ast.Subscript:
    """`tensor[b, t]`."""
    names: list[ast.expr] = [ast.Name(name) for name in indices]
    place = names[0] if len(names) == 1 else ast.Tuple(names, ast.Load())
    return ast.Subscript(ast.Name(tensor), place, ast.Load())


def called(name: str, *given: ast.expr) -> ast.expr:
    """A call of a function."""
    return ast.Call(ast.Name(name), list(given), [])


def where(condition: ast.expr, yes: ast.expr, no: ast.expr) -> ast.expr:
    """A choice."""
    return called("where", condition, yes, no)


def clipped(value: ast.expr, low: int, high: int) -> ast.expr:
    """Inside of both bounds."""
    return called("clip", value, number(low), number(high))


def compared(left: ast.expr, sign: ast.cmpop, right: ast.expr) -> ast.expr:
    """A comparison."""
    return ast.Compare(left, [sign], [right])


def both(conditions: Sequence[ast.expr]) -> ast.expr:
    """All of them."""
    return conditions[0] if len(conditions) == 1 else ast.BoolOp(ast.And(), list(conditions))


def minus(a: ast.expr, b: ast.expr) -> ast.expr:
    """A difference."""
    return ast.BinOp(a, ast.Sub(), b)


def times(a: ast.expr, b: ast.expr) -> ast.expr:
    """A product."""
    return ast.BinOp(a, ast.Mult(), b)


def over(a: ast.expr, b: ast.expr) -> ast.expr:
    """A quotient."""
    return ast.BinOp(a, ast.Div(), b)


def negative(value: ast.expr) -> ast.expr:
    """The opposite."""
    return ast.UnaryOp(ast.USub(), value)
