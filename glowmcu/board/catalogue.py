"""Boards by name: the project's own folder and folders that other packages add.

A package adds boards by an entry point in the group `glowmcu.boards` that loads to a folder
(`str` or `Path`) or to a module whose own folder holds the TOML files.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from glowmcu.board.model import Board
from glowmcu.board.read_board import read_board
from glowmcu.errors import error
from glowmcu.resources import resource_dirs


def board_names() -> tuple[str, ...]:
    """Names of all boards, alphabetical, `generic` last."""
    return tuple(sorted(_files(), key=lambda name: (name == "generic", name)))


def find_board(name_or_path: str) -> Board:
    """The board called `name_or_path`, or described by the TOML file at that path.

    Raises GM701 with the nearest names when there is no such board, GM702 to GM707 for a bad file.
    """
    if name_or_path.endswith(".toml") or "/" in name_or_path:
        return read_board(Path(name_or_path))
    files = _files()
    if name_or_path in files:
        return read_board(files[name_or_path])
    near = difflib.get_close_matches(name_or_path.lower(), files, n=3, cutoff=0.4)
    near += [name for name in board_names() if name_or_path.lower() in name and name not in near]
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    hint = meant + "`glowmcu boards` lists all; a path to a .toml file of your own works, too"
    raise error("GM701", f"unknown board {name_or_path!r}", hint=hint)


def _files() -> dict[str, Path]:
    """Board name (the file's stem) -> file. A plug-in cannot replace a board of the project."""
    files: dict[str, Path] = {}
    for folder in resource_dirs("boards"):
        for path in sorted(folder.glob("*.toml")):
            files.setdefault(path.stem, path)
    return files
