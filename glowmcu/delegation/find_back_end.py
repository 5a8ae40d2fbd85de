"""The accelerator that a name or a file means."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TypeGuard

from glowmcu.board import Board
from glowmcu.delegation.back_end import BackEnd
from glowmcu.delegation.described import read_described
from glowmcu.delegation.ethos_u import EthosUBackEnd
from glowmcu.delegation.vela import ACCELERATORS, find_vela
from glowmcu.discovery import load_plugins, name_taken
from glowmcu.errors import GlowmcuError, error
from glowmcu.goals import Goal
from glowmcu.kernels.kernel import Target


def find_back_end(given: str, board: Board | None, target: Target) -> BackEnd:
    """Raises GM770 to GM773, GM775, GM750 to GM753."""
    if given.endswith(".toml"):
        found = read_described(Path(given), target)
        if board is not None and found.boards and board.name not in found.boards:
            raise error(
                "GM773", f"{found.name} is not on {board.name}", found.file,
                f"it is on {', '.join(found.boards)}: change --board, or `boards` in the file",
            )  # fmt: skip
        return found
    if given in ACCELERATORS:
        if board is not None and board.memory and given not in board.accelerators:
            has = " and ".join(board.accelerators)
            own = f'`accelerators = ["{given}"]`'
            raise error(
                "GM773", f"{board.name} has no {given}", str(board.file),
                f"it has {has}" if has else f"if the chip has it, say {own} in a copy of the file",
            )  # fmt: skip
        small = target.goal in (Goal.RAM, Goal.SIZE)
        return EthosUBackEnd(find_vela(given, small))
    known = package_back_ends()
    if given not in known:
        names = ", ".join((*ACCELERATORS, *known))
        raise error(
            "GM772", f"no accelerator is called {given!r}",
            hint=f"give a file that ends in .toml, or one of {names}",
        )  # fmt: skip
    return known[given]


@cache
def package_back_ends() -> dict[str, BackEnd]:
    """Those of packages, by the names of their entry points. Raises GM750 to GM753."""
    found = dict[str, BackEnd]()
    for plugin, item in load_plugins("glowmcu.back_ends", _is_back_end, "a back end"):
        if plugin.name in found or plugin.name in ACCELERATORS:
            taken = f"there is another accelerator {plugin.name!r}"
            raise GlowmcuError([name_taken(plugin, taken)])
        found[plugin.name] = item
    return found


def _is_back_end(given: object) -> TypeGuard[BackEnd]:
    return isinstance(given, BackEnd)
