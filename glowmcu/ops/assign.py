"""`assign`: what a state is for the next run, a copy to where it lies. Made by lowering."""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.ir.operation import Signature
from glowmcu.ops.copy import Copy
from glowmcu.ops.registry import operation


@operation("assign")
class Assign(Copy):
    """A copy whose result may begin anywhere in its operand's memory: rows that move up or down, or
    all of a state that stays as it is.
    """

    def updates(self, signature: Signature) -> Mapping[int, int]:
        return {0: 0}
