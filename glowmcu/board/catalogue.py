"""Boards by name: the project's own folder and folders that other packages add.

A package adds boards by an entry point in the group `glowmcu.boards` that loads to a folder
(`str` or `Path`) or to a module whose own folder holds the TOML files.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from glowmcu.board.model import Board
from glowmcu.board.read_board import read_board
from glowmcu.discovery import name_taken
from glowmcu.errors import GlowmcuError, Problem, error
from glowmcu.resources import plugin_dirs, resource_dir


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
    near = _described_as(name_or_path) or _spelled_like(name_or_path)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    hint = (
        meant + "`glowmcu boards` lists all; generic-cortex-m4 and its like are for any chip with "
        "that core; a path to a .toml file of your own works, too"
    )
    raise error("GM701", f"unknown board {name_or_path!r}", hint=hint)


def _described_as(words: str) -> list[str]:
    """Names of boards whose name, else title or microcontroller contains the words, whatever
    separates them: `h743`, `pico`, `STM32F407`, `Arduino Nano`.
    """
    wanted = _plain(words)
    if len(wanted) < 3:
        return []
    named = [name for name in board_names() if wanted in _plain(name)]
    boards = (read_board(path) for path in _files().values())
    return named or [board.name for board in boards if wanted in _plain(board.title + board.mcu)]


def _spelled_like(name: str) -> list[str]:
    return difflib.get_close_matches(name.lower(), _files(), n=3, cutoff=0.4)


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _files() -> dict[str, Path]:
    """Board name (the file's stem) -> file. Raises GM753 for a plug-in's with a name that another
    one has.
    """
    files = {path.stem: path for path in sorted(resource_dir("boards").glob("*.toml"))}
    problems: list[Problem] = []
    for plugin, folder in plugin_dirs("boards"):
        for path in sorted(folder.glob("*.toml")):
            if path.stem in files:
                problems.append(name_taken(plugin, f"there is another board {path.stem!r}"))
            files.setdefault(path.stem, path)
    if problems:
        raise GlowmcuError(problems)
    return files
