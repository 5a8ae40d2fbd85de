"""`diff --max-growth`: how much more the second bundle may take.

In exact arithmetic: what is exactly at the limit passes, one byte more does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from glowmcu.errors import ExitCode, GlowmcuError, Problem, error
from glowmcu.facts.bundle_diff import BundleDiff, Quantity
from glowmcu.lazy_dataclass import dataclass

#: What can be named, and what a limit without a name holds for; of a board without a model of
#: cycles instructions stand for them.
NAMES = ("arena", "stack", "weights", "code", "flash", "cycles", "instructions")
_USUAL = ("arena", "stack", "flash", "cycles")


@dataclass(frozen=True)
class GrowthLimit:
    """`name` is empty for all usual ones. Either `percent` or `most` is given."""

    text: str
    name: str = ""
    percent: Fraction | None = None
    most: int = 0

    def allowed(self, before: int) -> Fraction:
        """The most that may come to `before`."""
        if self.percent is None:
            return Fraction(self.most)
        return before * self.percent / 100


def check_growth(found: BundleDiff, limits: Sequence[GrowthLimit]) -> None:
    """Raises GM173 with every limit that is passed, GM174 between different boards, GM175 if a
    figure is not known: a limit that was not checked does not pass.
    """
    if not limits:
        return
    where = f"{found.before} and {found.after}"
    if not found.same_board:
        raise error(
            "GM174",
            "--max-growth compares bundles for one board, and these are for different ones",
            where,
            "compile both for the same --board, or leave --max-growth out",
        )
    problems: list[Problem] = []
    unknown: list[Problem] = []
    named = {limit.name for limit in limits}
    for limit in limits:
        for quantity in _meant(found, limit, named):
            if quantity.before is None or quantity.growth is None:
                unknown.append(_unknown(quantity, limit, where))
            elif quantity.growth > 0 and quantity.growth > limit.allowed(quantity.before):
                problems.append(_passed(quantity, limit, where))
    if problems:
        raise GlowmcuError([*problems, *unknown], ExitCode.DOES_NOT_FIT)
    if unknown:
        raise GlowmcuError(unknown)


def _meant(found: BundleDiff, limit: GrowthLimit, named: set[str]) -> list[Quantity]:
    """A limit of its own goes before the one for all."""
    known = {quantity.name: quantity for quantity in found.quantities}
    if limit.name:
        return [known.get(limit.name, Quantity(limit.name, "", None, None))]
    usual = [
        "instructions" if name == "cycles" and name not in known and "instructions" in known
        else name
        for name in _USUAL
    ]  # fmt: skip
    return [known.get(name, Quantity(name, "", None, None)) for name in usual if name not in named]


def _passed(quantity: Quantity, limit: GrowthLimit, where: str) -> Problem:
    unit = f" {quantity.unit}" if quantity.unit else ""
    return Problem(
        "GM173",
        f"{quantity.name} grew by {quantity.growth}{unit}, from {quantity.before} to "
        f"{quantity.after}{unit}, more than --max-growth {limit.text} allows",
        where,
        "the table of `glowmcu diff` shows which layers did; raise the limit if it is meant",
    )


def _unknown(quantity: Quantity, limit: GrowthLimit, where: str) -> Problem:
    hints = {
        "cycles": "run `glowmcu bench` on both bundles first",
        "instructions": "run `glowmcu bench` on both bundles first",
    }
    return Problem(
        "GM175",
        f"{quantity.name} is not known of both bundles, so that --max-growth {limit.text} cannot "
        "be checked",
        where,
        hints.get(
            quantity.name,
            "compile both where the board's C compiler is installed (`glowmcu doctor compile`), or "
            "limit others by name: --max-growth arena=0",
        ),
    )
