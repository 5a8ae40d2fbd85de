"""How the self test compares an output: in every byte, or within what float leaves open; a large
one by its CRC-32, or by every n-th element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.ir.program import Program
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.test_vectors import Digest, Expected, Sample

BYTES, FLOATS, STEPS, CRC = "bytes", "floats", "steps", "crc"


@dataclass(frozen=True)
class CheckView:
    """A compare function of the self test. `kind` is bytes, floats, steps (of an integer) or crc.
    Compares one of `every` elements.
    """

    kind: str
    function: str
    c_type: str
    every: int = 1

    @property
    def place(self) -> str:
        """Where in an output its stored element `i` is."""
        return "i" if self.every == 1 else f"i * {self.every}u"


def output_checks(
    program: Program,
    exact: Sequence[bool],
    rounded: Sequence[bool],
    expected: Sequence[Expected],
) -> tuple[CheckView, ...]:
    """One a model output; `exact` says whether every byte of it is defined, `rounded` whether it is
    of integers that may be a step off, `expected` what a vector knows of it.
    """
    elements = [buffer.type.element for buffer in program.outputs]
    return tuple(_check(*item) for item in zip(elements, exact, rounded, expected, strict=True))


def _check(element: ElementType, exact: bool, rounded: bool, expected: Expected) -> CheckView:
    if isinstance(expected, Digest):
        return CheckView(CRC, "wrong_crc", "void")
    check = _compared(element, exact, rounded)
    return replace(check, every=expected.every) if isinstance(expected, Sample) else check


def _compared(element: ElementType, exact: bool, rounded: bool) -> CheckView:
    if exact or not (rounded or element.is_float):
        return CheckView(BYTES, "wrong_bytes", "void")
    if element.is_float:
        return CheckView(FLOATS, "wrong_floats", element.c_name)
    return CheckView(STEPS, f"wrong_steps_{element.value}", element.c_name)
