"""Whether a bundle fits a board: flash against the region of the constants, RAM against that of the
arena, and what was placed against the region that it was placed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from glowmcu.board.model import Board, Region
from glowmcu.errors import ExitCode, GlowmcuError, Problem
from glowmcu.lazy_dataclass import dataclass

#: Purpose of bytes that are in a region because the user or `auto` put them there.
PLACED = "placed code and weights"
# What helps in general when the caller knows nothing better.
_FLASH_OPTIONS = (
    "--optimize size shares code between layers of one kind",
    "--optimize flash codes constants, too",
)
_RAM_OPTIONS = ("--optimize ram trades time for a smaller arena",)
_PLACED_OPTIONS = ("place less there with --place",)


@dataclass(frozen=True)
class RegionUse:
    """Bytes that a bundle needs in one region, and for what; `excess_bytes` is 0 if they fit."""

    purpose: str
    region: Region
    used_bytes: int

    @property
    def excess_bytes(self) -> int:
        """By how much the request is larger than the region."""
        return max(0, self.used_bytes - self.region.size_bytes)


@dataclass(frozen=True)
class CapacityCheck:
    """Use of a board's regions: one entry for each used one, none for a board without limits."""

    board: Board
    uses: tuple[RegionUse, ...]

    @property
    def fits(self) -> bool:
        """True when every region is large enough."""
        return all(use.excess_bytes == 0 for use in self.uses)


def check_capacity(board: Board, flash_bytes: int, ram_bytes: int) -> CapacityCheck:
    """Compare code and constants (`flash_bytes`) and arena with stack (`ram_bytes`) to a board."""
    if board.placement is None:
        return CapacityCheck(board, ())
    usual = board.placement
    return check_regions(
        board, (("flash", usual.constants, flash_bytes), ("RAM", usual.arena, ram_bytes))
    )


def check_regions(board: Board, demands: Iterable[tuple[str, str, int]]) -> CapacityCheck:
    """Compare (purpose, region, bytes) to a board; what goes to one region adds up and is called
    by the first purpose.
    """
    used: dict[str, tuple[str, int]] = {}
    for purpose, region, size in demands:
        first, total = used.get(region, (purpose, 0))
        used[region] = first, total + size
    return CapacityCheck(
        board,
        tuple(
            RegionUse(purpose, board.region(region), total)
            for region, (purpose, total) in used.items()
        ),
    )


def does_not_fit(
    result: CapacityCheck,
    ram_peak: str = "",
    flash_options: Sequence[str] = (),
    ram_options: Sequence[str] = (),
) -> GlowmcuError:
    """The error for a `result` that does not fit: by how much, where, and what would help.

    `ram_peak` says where RAM use is highest (`step 3 "conv_2", buffers a, b`).
    """
    assert not result.fits
    problems = []
    for use in result.uses:
        if use.excess_bytes:
            in_ram = use.purpose == "RAM"
            own_options = ram_options if in_ram else flash_options
            options = own_options or (_RAM_OPTIONS if in_ram else _FLASH_OPTIONS)
            if use.purpose == PLACED:
                options = _PLACED_OPTIONS
            peak = f"; the peak is {ram_peak}" if in_ram and ram_peak else ""
            problems.append(_problem(result.board, use, peak, options))
    return GlowmcuError(problems, ExitCode.DOES_NOT_FIT)


def _problem(board: Board, use: RegionUse, peak: str, options: Sequence[str]) -> Problem:
    region = use.region
    needed = f"{_spaced(use.used_bytes)} B of {use.purpose} needed"
    offered = f"{board.name} has {_spaced(region.size_bytes)} B"
    where = f"region {region.name!r} at 0x{region.origin:08X} of {board.title}{peak}"
    elsewhere = _larger_regions(board, use)
    return Problem(
        "GM401",
        f"does not fit: {needed}, {offered}, {_spaced(use.excess_bytes)} B too much",
        where,
        "; ".join((*options, *elsewhere, "or choose a larger board (`glowmcu boards`)")),
    )


def _larger_regions(board: Board, use: RegionUse) -> list[str]:
    """Other regions of the same board that would hold it."""
    wants_flash = use.region.kind == "flash"
    return [
        f"region {region.name!r} would hold it ({_how(use, region)})"
        for region in board.memory
        if region is not use.region
        and (region.kind == "flash") == wants_flash
        and region.size_bytes >= use.used_bytes
    ]


def _how(use: RegionUse, region: Region) -> str:
    if use.purpose == "RAM":
        return f"--place arena={region.name}"
    return "change [placement] in a copy of the board file, or --place"


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")
