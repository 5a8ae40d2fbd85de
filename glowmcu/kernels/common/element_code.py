"""What an element-wise operator does to one element, in C: what loops and stacks are made of.

Operators say it with `@element_code(Operator)`; whatever runs them (a loop of its own, a stack of
several operators in one loop) needs to know nothing else about them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from glowmcu.discovery import enter, import_members
from glowmcu.ir.operation import Operation, Signature
from glowmcu.kernels.kernel import ConstantArray, Parameters
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.activation import UnaryFunction
from glowmcu.ops.interpolated_table import is_steep
from glowmcu.ops.wide import is_wide


@dataclass(frozen=True, eq=False)
class ElementCode:
    """One operator on one element.

    `expression` is C with `{0}`, `{1}`, … for the operands, each a name without side effects
    (int32_t for all integer types that fit, else int64_t or float); `{p}` is the address of
    `parameters`, `{t}` the array `table`. `cycles` are an element's on a Cortex-M4.
    """

    expression: str
    cycles: float
    code_bytes: int
    headers: tuple[str, ...] = ()
    parameters: Parameters | None = None
    table: ConstantArray | None = None


CodeFunction = Callable[[Any, Signature], ElementCode]
_CODES: dict[type[Operation], CodeFunction] = {}


def element_code(*operations: type[Operation]) -> Callable[[CodeFunction], CodeFunction]:
    """Decorator: this function writes one element of `operations`."""

    def register(function: CodeFunction) -> CodeFunction:
        for operation in operations:
            enter(_CODES, operation, function, "code of an element of")
        return function

    return register


@cache
def load_element_codes() -> dict[type[Operation], CodeFunction]:
    """All functions by operator; they are in rooms for any core."""
    import_members("glowmcu.kernels", _is_for_any_core)
    return dict(_CODES)


def _is_for_any_core(room: ModuleType) -> bool:
    return not hasattr(room, "serves")


def element_code_of(op: Operation, signature: Signature) -> ElementCode | None:
    """The code of `op`, or None when it is not element-wise or has none."""
    if isinstance(op, UnaryFunction) and op.interpolates and is_wide(signature):
        return _interpolation_code(op, signature)
    function = load_element_codes().get(type(op))
    return None if function is None else function(op, signature)


def _interpolation_code(op: UnaryFunction, signature: Signature) -> ElementCode:
    """A function of int16 that is a table, linear between its entries."""
    table = op.wide_table(signature)
    function = "glowmcu_look_up_steep_s16_one" if is_steep(table) else "glowmcu_look_up_s16_one"
    note = f"{op.name} of every 128th value, linear in between"
    return ElementCode(
        f"{function}({{t}}, {{0}})", 10, 24, ("glowmcu_look_up_s16.h",),
        table=ConstantArray("entries", table, note),
    )  # fmt: skip
