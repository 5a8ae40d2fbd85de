"""What the cores' models have in common: what goes in and what comes out.

Costs are given instruction by instruction, so that a block can be cut at a step marker, and for
one way of entering it: what was in flight when the block before it ended is `entry`, and what is
in flight at this one's end is `BlockCost.after`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.cortex_m.decode import Instruction


@dataclass(frozen=True)
class Place:
    """Where an access of a block went: `memory` tells memories apart, `address` its lowest bits."""

    memory: int
    address: int


Places = tuple[Place | None, ...]
"""For every instruction of a block the place of its access, None if that is not known."""


@dataclass(frozen=True)
class BlockCost:
    """Cycles of each instruction when the block falls through, and what leaving it early adds.

    `mispredicted` = cycles of a branch at its end that was predicted wrong.
    """

    cycles: tuple[int, ...]
    taken_extra: int
    after: Hashable
    mispredicted: int = 0


@dataclass(frozen=True)
class Sureness:
    """How far silicon may be from a table: factors on the cycles, and where they come from."""

    low: float
    high: float
    why: str

    def line(self) -> str:
        """In words."""
        return f"silicon {self.low - 1:+.0%} to {self.high - 1:+.0%} of these cycles: {self.why}"


class Core(Protocol):
    """A core's timing: its table, and the rules that read it."""

    @property
    def source(self) -> str:
        """Where the figures come from."""

    @property
    def sureness(self) -> Sureness:
        """How well they are known."""

    def cost(
        self, block: Sequence[Instruction], places: Places, entry: Hashable, jumped: bool
    ) -> BlockCost:
        """What running `block` once costs; `jumped` = it was entered by a taken branch."""

    def jump(self, instruction: Instruction, target: Instruction) -> int:
        """What arriving at `target` from a taken `instruction` costs besides its refill."""
