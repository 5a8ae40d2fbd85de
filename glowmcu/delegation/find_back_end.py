"""The accelerator that a name or a file means."""

from __future__ import annotations

from pathlib import Path
from typing import TypeGuard

from glowmcu.board import Board
from glowmcu.delegation.back_end import BackEnd
from glowmcu.delegation.described import read_described
from glowmcu.discovery import load_plugins
from glowmcu.errors import error
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
    return _of_packages(given)


def _of_packages(given: str) -> BackEnd:
    known = dict[str, BackEnd]()
    for plugin, item in load_plugins("glowmcu.back_ends", _is_back_end, "a back end"):
        known[plugin.name] = item
    if given not in known:
        names = ", ".join(sorted(known))
        raise error(
            "GM772", f"no accelerator is called {given!r}",
            hint="give a file that ends in .toml" + (f", or one of {names}" if names else ""),
        )  # fmt: skip
    return known[given]


def _is_back_end(given: object) -> TypeGuard[BackEnd]:
    return isinstance(given, BackEnd)
