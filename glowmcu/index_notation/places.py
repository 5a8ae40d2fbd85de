"""What a value reads: places of tensors, one subscript an axis, and which factors it is made of."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from glowmcu.index_notation.rewriting import number, over
from glowmcu.index_notation.statements import subscripts
from glowmcu.lazy_dataclass import dataclass

#: Whole numbers by index: `2*t + d` has 2 and 1.
Coefficients = Mapping[str, int]


@dataclass(frozen=True)
class Subscript:
    """`offset` and so many of each index."""

    coefficients: tuple[tuple[str, int], ...]
    offset: int

    @property
    def indices(self) -> tuple[str, ...]:
        """Those that it moves with."""
        return tuple(name for name, _ in self.coefficients)


@dataclass(frozen=True)
class Place:
    """`x[b, 2*t + d]`: a tensor, and one subscript an axis."""

    tensor: str
    subscripts: tuple[Subscript, ...]

    @property
    def indices(self) -> tuple[str, ...]:
        """All that it moves with, in the order of axes."""
        return tuple(name for each in self.subscripts for name in each.indices)

    @property
    def is_window(self) -> bool:
        """Whether an axis moves with several indices."""
        return any(len(each.coefficients) > 1 for each in self.subscripts)


def place_of(node: ast.Subscript) -> Place | None:
    """None where a subscript is no sum of indices, or an index stands at two axes."""
    items = subscripts(node) or []
    assert isinstance(node.value, ast.Name)
    found = [_linear(item) for item in items]
    made = tuple(
        Subscript(tuple((name, factor) for name, factor in each.items() if name and factor),
                  each.get("", 0))
        for each in found if each is not None
    )  # fmt: skip
    place = Place(node.value.id, made)
    is_plain = len(made) == len(items) and len(set(place.indices)) == len(place.indices)
    return place if is_plain else None


def reads(node: ast.expr) -> Iterator[ast.Subscript]:
    """Elements of tensors that a value is made of; not those inside of their subscripts."""
    if isinstance(node, ast.Subscript):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from reads(child)


def factors(node: ast.expr) -> list[ast.expr]:
    """A product's factors; a divisor is a factor, too: its reciprocal."""
    if isinstance(node, ast.UnaryOp):
        return [number(-1.0), *factors(node.operand)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*factors(node.left), *factors(node.right)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return [*factors(node.left), over(number(1.0), node.right)]
    return [node]


def _linear(node: ast.expr) -> dict[str, int] | None:
    """Coefficients, that of no index by the name ``""``; None for another form."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return {"": node.value}
    if isinstance(node, ast.Name):
        return {node.id: 1}
    if isinstance(node, ast.UnaryOp):
        inner = _linear(node.operand)
        return None if inner is None else {name: -factor for name, factor in inner.items()}
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _linear(node.left), _linear(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Mult):
        if set(left) - {""} and set(right) - {""}:
            return None
        some, times = (left, right.get("", 0)) if set(left) - {""} else (right, left.get("", 0))
        return {name: factor * times for name, factor in some.items()}
    if not isinstance(node.op, ast.Add | ast.Sub):
        return None
    sign = 1 if isinstance(node.op, ast.Add) else -1
    return {
        name: left.get(name, 0) + sign * right.get(name, 0)
        for name in dict.fromkeys([*left, *right])
    }
