"""Build the test firmware of a bundle for a board, choose a tool, and let it write."""

from __future__ import annotations

import subprocess
from pathlib import Path

from glowmcu.board import Board
from glowmcu.cores import core
from glowmcu.errors import GlowmcuError, error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import read_manifest
from glowmcu.shell_words import command_line
from glowmcu.verify.firmware import build_firmware, serial_port
from glowmcu.verify.flash.tools import TOOLS, Command, Tool, tools_for

_MOST_SECONDS = 600


@dataclass(frozen=True)
class Flashing:
    """What will be run, in order."""

    tool: str
    commands: tuple[Command, ...]

    def lines(self) -> list[str]:
        """The commands as a shell takes them."""
        return [command_line(command) for command in self.commands]


def image_of(bundle: Path, folder: Path) -> Path:
    """Where `build_test_firmware` puts it."""
    return folder / f"{read_manifest(bundle).name}.elf"


def check_board(board: Board) -> None:
    """Raises GM187 if no test firmware can be made for the board."""
    if board.placement is None or board.serial is None:
        lacks = "a memory map" if board.placement is None else "a serial port"
        raise error(
            "GM187",
            f"there is no test firmware for {board.name}: its file does not describe {lacks}",
            str(board.file),
            "add [serial] to a file of your own (boards/README.md); or let your application serve: "
            "compile with --emit serial, then glowmcu flash --image YOUR.elf",
        )


def build_test_firmware(bundle: Path, board: Board, folder: Path) -> Path:
    """The ELF of the firmware that `--on serial:PORT` talks to, in `folder`.

    Raises GM187 (see `check_board`), GM401 when it does not fit, GM61x as compilers do.
    """
    check_board(board)
    assert board.serial is not None
    built = build_firmware(
        bundle, read_manifest(bundle), board, core(board.core), serial_port(board.serial), folder
    )
    return built.elf


def flashing(
    board: Board, elf: Path, wanted: str | None = None, probe: str = "", is_dry: bool = False
) -> Flashing:
    """How `elf` gets onto the board: by the tool `wanted`, or the first that is here; a dry run
    needs none. Raises GM188 if there is none.
    """
    tool, program = _chosen(board, wanted, is_dry)
    return Flashing(tool.name, tool.commands(program, tool.chip(board), elf, probe))


def _chosen(board: Board, wanted: str | None, is_dry: bool) -> tuple[Tool, str]:
    known = tools_for(board)
    usable = [tool for tool in known if wanted in (None, tool.name)]
    if not usable:
        words = ", ".join(f"{t.key} = …" for t in TOOLS if wanted in (None, t.name))
        what = wanted or "any tool"
        raise error(
            "GM188",
            f"the file of {board.name} does not say what {what} calls its chip",
            str(board.file),
            f"add it there under [flash]: {words}"
            + (f"; or --tool {known[0].name}" if known else ""),
        )
    for tool in usable:
        program = tool.program()
        if program is not None:
            return tool, program
    if is_dry:
        return usable[0], usable[0].programs[0]
    raise error(
        "GM188",
        f"no tool that can flash {board.name} is on PATH",
        hint="install " + " or ".join(f"{tool.name} ({tool.get})" for tool in usable),
    )


def write_to_board(plan: Flashing) -> None:
    """Run the commands, their output where this program's goes. Raises GM189 when one fails."""
    for command, line in zip(plan.commands, plan.lines(), strict=True):
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, timeout=_MOST_SECONDS, check=False
            )
        except subprocess.TimeoutExpired as cause:
            raise _failed(plan, f"ran longer than {_MOST_SECONDS} s", line) from cause
        except OSError as cause:
            raise _failed(plan, f"cannot be started: {cause.strerror}", line) from cause
        if done.returncode != 0:
            raise _failed(plan, f"ended with exit code {done.returncode}", line)


def _failed(plan: Flashing, how: str, line: str) -> GlowmcuError:
    return error(
        "GM189",
        f"{plan.tool} {how}",
        line,
        "what it says is above: is the board connected, and does nothing else use its probe? "
        "with several probes name one: --probe",
    )
