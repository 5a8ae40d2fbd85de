"""The tools that write flash: their names on PATH, and the command lines for a chip and an image.

Sources: each tool's own --help: probe-rs 0.24, pyOCD 0.36, OpenOCD 0.12, picotool 2.0, esptool 4.8.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from glowmcu.board import Board
from glowmcu.lazy_dataclass import dataclass

Command = tuple[str, ...]


@dataclass(frozen=True)
class Tool:
    """`programs` are its names on PATH; `key` is its line in the `[flash]` table of a board.

    `commands(program, chip, elf, probe)` are what to run, in order; `get` says where it comes from.
    """

    name: str
    key: str
    programs: tuple[str, ...]
    commands: Callable[[str, str, Path, str], tuple[Command, ...]]
    get: str

    def chip(self, board: Board) -> str:
        """What this tool calls the board's chip, empty if nobody has said."""
        return "" if board.flash is None else str(getattr(board.flash, self.key))

    def program(self) -> str | None:
        """Its name on PATH here."""
        return next((name for name in self.programs if shutil.which(name)), None)


def _probe_rs(program: str, chip: str, image: Path, probe: str) -> tuple[Command, ...]:
    which = (*("--chip", chip), *(("--probe", probe) if probe else ()))
    return (program, "download", *which, str(image)), (program, "reset", *which)


def _pyocd(program: str, chip: str, image: Path, probe: str) -> tuple[Command, ...]:
    which = ("--uid", probe) if probe else ()
    return ((program, "flash", "--target", chip, *which, "--format", "elf", str(image)),)


def _openocd(program: str, chip: str, image: Path, probe: str) -> tuple[Command, ...]:
    """`chip` are configuration files, behind each other; braces quote for Tcl."""
    files = [word for name in chip.split() for word in ("-f", name)]
    which = ("-c", f"adapter serial {{{probe}}}") if probe else ()
    write = f"program {{{image.as_posix()}}} verify reset exit"
    return ((program, *files, *which, "-c", write),)


def _picotool(program: str, _chip: str, image: Path, probe: str) -> tuple[Command, ...]:
    which = ("--ser", probe) if probe else ()
    return ((program, "load", "-v", "-x", str(image), "-t", "elf", *which),)


def _esptool(program: str, chip: str, image: Path, probe: str) -> tuple[Command, ...]:
    """Where ESP-IDF's boot loader, which has to be there, looks for the application."""
    which = ("--port", probe) if probe else ()
    binary = str(image.with_suffix(".bin"))
    return (
        (program, "--chip", chip, "elf2image", "--output", binary, str(image)),
        (program, "--chip", chip, *which, "write_flash", "0x10000", binary),
    )


TOOLS = (
    Tool("probe-rs", "probe_rs", ("probe-rs",), _probe_rs, "https://probe.rs"),
    Tool("pyocd", "pyocd", ("pyocd",), _pyocd, "pip install pyocd"),
    Tool("openocd", "openocd", ("openocd",), _openocd, "https://openocd.org"),
    Tool(
        "picotool", "picotool", ("picotool",), _picotool,
        "https://github.com/raspberrypi/picotool/releases",
    ),
    Tool("esptool", "esptool", ("esptool", "esptool.py"), _esptool, "pip install esptool"),
)  # fmt: skip
TOOL_NAMES = tuple(tool.name for tool in TOOLS)


def tools_for(board: Board) -> tuple[Tool, ...]:
    """Those that the board's file has a name for its chip for, most wanted first."""
    return tuple(tool for tool in TOOLS if tool.chip(board))


def found_tools() -> tuple[str, ...]:
    """The names on PATH of all that are here."""
    return tuple(program for tool in TOOLS if (program := tool.program()))


def missing() -> str | None:
    """What to install before any board can be flashed, or None."""
    if found_tools():
        return None
    return "no flash tool is on PATH: install one of " + ", ".join(
        f"{tool.name} ({tool.get})" for tool in TOOLS
    )
