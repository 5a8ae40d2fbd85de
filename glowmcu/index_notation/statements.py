"""What definitions are made of: forms of tensors, and statements."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from enum import Enum

from glowmcu.lazy_dataclass import dataclass

Number = int | float
#: What a decorator says of indices: how many at once, by `tile` and `unroll`; of `reorder` nothing.
Schedule = Mapping[str, Mapping[str, int]]


class DefinitionError(Exception):
    """What is wrong, and in which line."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class Reduction(Enum):
    """How values over the other indices become one."""

    NONE = "none"
    SUM = "sum"
    PRODUCT = "product"
    MAX = "max"
    MIN = "min"


@dataclass(frozen=True)
class Form:
    """`float32[B, I]`: an operand or result; sizes are expressions."""

    name: str
    dtype: str
    sizes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Statement:
    """`target[indices] = reduction of value`; `goes_on` adds to what the target has. `ranges` says
    of indices how far they go.
    """

    target: str
    indices: tuple[str, ...]
    reduction: Reduction
    goes_on: bool
    value: ast.expr
    ranges: Mapping[str, ast.expr]
    line: int

    @property
    def is_assignment(self) -> bool:
        """Whether the target is what the value is."""
        return self.reduction is Reduction.NONE and not self.goes_on

    @property
    def counts_turns(self) -> bool:
        """Whether a loop over an index that the value has not adds as often, as it does in Python;
        what is assigned, a greatest or a least value stays the same.
        """
        return self.reduction in (Reduction.SUM, Reduction.PRODUCT)


def subscripts(node: ast.expr) -> list[ast.expr] | None:
    """Those of `x[b, t + d]`; None for anything else."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return None
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
