"""Sums of 32 bits to int16 on Armv7E-M, by one word a channel: multiplier of 15 bits, and shift.

SMULWT takes the upper 32 of the 48 bits of a product with the upper half, ASRS by a register its
lowest byte; the last bit that ASRS drops is the carry, which ADC adds: halves go up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum


class Clamp(Enum):
    """What of int16 results can be."""

    FULL = "full"
    RELU = "relu"
    ANY = "any"

    @property
    def fact(self) -> str:
        """What tells functions apart (`specialized`)."""
        return {Clamp.FULL: "", Clamp.RELU: "relu", Clamp.ANY: "clamped"}[self]


#: int16, and what a ReLU leaves of it.
KNOWN_CLAMPS = {(-(2**15), 2**15 - 1): Clamp.FULL, (0, 2**15 - 1): Clamp.RELU}


def clamp_of(limits: tuple[int, int]) -> Clamp:
    """Of a layer's least and greatest result."""
    return KNOWN_CLAMPS.get(limits, Clamp.ANY)


def scaled(sums: Sequence[str], scales: Sequence[str]) -> Iterator[str]:
    """(sum * multiplier) >> (16 + shift), halves up."""
    yield from (f"smulwt {x}, {x}, {k}" for x, k in zip(sums, scales, strict=True))
    for x, k in zip(sums, scales, strict=True):
        yield from (f"asrs {x}, {x}, {k}", f"adc {x}, {x}, #0")


def clamped(clamp: Clamp, results: Sequence[str], job: int, place: int) -> Iterator[str]:
    """`job` is where the stack has the struct that has both bounds at `place`; takes r2 and r3."""
    if clamp is Clamp.FULL:
        yield from (f"ssat {x}, #16, {x}" for x in results)
    elif clamp is Clamp.RELU:
        yield from (f"usat {x}, #15, {x}" for x in results)
    else:
        yield from (f"ldr r2, [sp, #{job}]", f"ldr r3, [r2, #{place}]")
        yield f"ldr r2, [r2, #{place + 4}]"
        for x in results:
            yield from (f"cmp {x}, r3", "it lt", f"movlt {x}, r3")
            yield from (f"cmp {x}, r2", "it gt", f"movgt {x}, r2")
