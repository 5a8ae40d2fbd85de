"""How the self test compares an output: in every byte, or within what float leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glowmcu.ir.program import Program
from glowmcu.ir.types import ElementType

BYTES, FLOATS, STEPS = "bytes", "floats", "steps"


@dataclass(frozen=True)
class CheckView:
    """A compare function of the self test. `kind` is bytes, floats or steps (of an integer)."""

    kind: str
    function: str
    c_type: str


def output_checks(program: Program, exact: Sequence[bool]) -> tuple[CheckView, ...]:
    """One a model output; `exact` says whether every byte of it is defined."""
    elements = [buffer.type.element for buffer in program.outputs]
    return tuple(_check(*pair) for pair in zip(elements, exact, strict=True))


def _check(element: ElementType, exact: bool) -> CheckView:
    if exact or element is ElementType.BOOL:
        return CheckView(BYTES, "wrong_bytes", "void")
    if element.is_float:
        return CheckView(FLOATS, "wrong_floats", element.c_name)
    return CheckView(STEPS, f"wrong_steps_{element.value}", element.c_name)
