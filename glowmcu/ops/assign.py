"""`assign`: what a state is for the next run, a copy to where it lies. Made by lowering."""

from __future__ import annotations

from dataclasses import dataclass

from glowmcu.ops.copy import Copy
from glowmcu.ops.registry import operation


@operation("assign")
@dataclass(frozen=True)
class Assign(Copy):
    """A copy whose result may begin anywhere in its operand's memory: rows that move up or down."""
