"""Sizes of RNN, GRU and LSTM."""

from __future__ import annotations

from glowmcu.ir.types import Shape
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class RecurrentSizes:
    """Of the operands together; `reversed` has an entry for each direction."""

    steps: int
    batch: int
    depth: int
    hidden: int
    reversed: tuple[bool, ...]
    batch_first: bool

    @property
    def directions(self) -> int:
        """How many there are."""
        return len(self.reversed)

    @property
    def state(self) -> Shape:
        """Of an initial or last state."""
        if self.batch_first:
            return (self.batch, self.directions, self.hidden)
        return (self.directions, self.batch, self.hidden)
