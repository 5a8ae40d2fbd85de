"""What the user wants least of, and what there may be at most."""

from __future__ import annotations

from enum import Enum

from glowmcu.errors import ExitCode, GlowmcuError, Problem
from glowmcu.lazy_dataclass import dataclass


class Goal(Enum):
    """What kernel selection and memory planning minimise first."""

    BALANCED = "balanced"
    SPEED = "speed"
    SIZE = "size"
    RAM = "ram"
    FLASH = "flash"

    @property
    def of_kernels(self) -> Goal:
        """What kernels are chosen by where one set is asked for: `flash` looks at two of them."""
        return Goal.SIZE if self is Goal.FLASH else self

    @property
    def optimizes_size(self) -> bool:
        """Whether the bundle's C asks the compiler for little code."""
        return self.of_kernels is Goal.SIZE


@dataclass(frozen=True)
class Budgets:
    """Limits in bytes, None for no limit. Flash is code and constants.

    `flash_asked` is what somebody has asked for where estimates are held to another `flash_bytes`.
    """

    flash_bytes: int | None = None
    arena_bytes: int | None = None
    flash_asked: int | None = None


@dataclass(frozen=True)
class PlanPoint:
    """What a plan would take: bytes of arena and flash, and cycles by the kernels' estimates.

    `streamed_layers` pass their rows on and never exist as a whole; of `macs`, `extra_macs` are
    computed again in the halos of strips.
    """

    arena_bytes: int
    cycles: float
    flash_bytes: int
    streamed_layers: int
    macs: int = 0
    extra_macs: int = 0


def flash_budget_error(where: str, needs: str, flash: int, code: int, budget: int) -> GlowmcuError:
    """GM402 that says what `needs` so many bytes, and the budget that would do."""
    problem = Problem(
        "GM402",
        f"the flash budget is {budget} B, {needs} {flash} B: {flash - code} B of constants and "
        f"{code} B of code",
        where,
        f"give at least --flash-budget {flash}",
        flash_bytes=flash,
    )
    return GlowmcuError([problem], ExitCode.DOES_NOT_FIT)
