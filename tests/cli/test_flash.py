"""`glowmcu flash`: which tool writes what, with tools that only note how they were called."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import pytest

from glowmcu.board import Board, board_names, find_board
from glowmcu.verify.flash.tools import TOOLS, tools_for
from tests.cli.conftest import Run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="tools are shell scripts here")
HAS_GCC = shutil.which("arm-none-eabi-gcc") is not None
needs_gcc = [
    pytest.mark.arm,
    pytest.mark.skipif(not HAS_GCC, reason="arm-none-eabi-gcc is not on PATH"),
]
built = pytest.mark.parametrize("marked", [pytest.param(None, marks=needs_gcc, id="")])


class Tools:
    """A folder on PATH; each tool in it notes its arguments, a line a call."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, name: str, exit_code: int = 0) -> None:
        note = shlex.quote(str(self._folder / "calls"))
        text = f'#!/bin/sh\n{{ printf "%s" {name}; printf "|%s" "$@"; echo; }} >> {note}\n'
        path = self._folder / name
        path.write_text(f"{text}exit {exit_code}\n", encoding="utf-8")
        path.chmod(0o755)

    def calls(self) -> list[list[str]]:
        noted = self._folder / "calls"
        return (
            [line.split("|") for line in noted.read_text().splitlines()] if noted.exists() else []
        )


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    """The compiler, and no other tool yet."""
    folder = tmp_path / "my tools"
    folder.mkdir()
    compiler = shutil.which("arm-none-eabi-gcc")
    if compiler:
        monkeypatch.setenv("GLOWMCU_ARM_GCC", compiler)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin/nowhere")
    return Tools(folder)


ELF = "out/firmware/digits.elf"
CALLS = {
    "probe-rs": (
        "nrf52",
        [
            ["probe-rs", "download", "--chip", "nRF52840_xxAA", ELF],
            ["probe-rs", "reset", "--chip", "nRF52840_xxAA"],
        ],
    ),
    "pyocd": ("nrf52", [["pyocd", "flash", "--target", "nrf52840", "--format", "elf", ELF]]),
    "openocd": (
        "microbit",
        [
            ["openocd", "-f", "interface/cmsis-dap.cfg", "-f", "target/nrf51.cfg", "-c",
             f"program {{{ELF}}} verify reset exit"],
        ],
    ),
}  # fmt: skip


@built
@pytest.mark.parametrize("tool", CALLS)
def test_the_tool_that_is_there_writes_the_firmware(
    tool: str, marked: None, tools: Tools, bundle: str, glowmcu_cli: Run
) -> None:
    board, calls = CALLS[tool]
    tools.add(tool)
    ended = glowmcu_cli("flash", bundle, "--board", board)
    assert ended.exit_code == 0, ended.err
    assert tools.calls() == calls
    assert Path(ELF).read_bytes()[:4] == b"\x7fELF"
    lines = ended.out.splitlines()
    assert lines[: len(calls)] == [shlex.join(call) for call in calls]
    assert lines[-2].startswith("connect  the USB connector")
    assert lines[-1] == f"next     glowmcu verify out --board {board} --on host,serial:PORT"


@pytest.mark.parametrize(
    ("board", "tool", "words"),
    [
        ("rp2350", "picotool", ["load", "-v", "-x", "my app.elf", "-t", "elf", "--ser", "E66"]),
        ("nrf52", "probe-rs",
         ["download", "--chip", "nRF52840_xxAA", "--probe", "E66", "my app.elf"]),
        ("nrf52", "pyocd",
         ["flash", "--target", "nrf52840", "--uid", "E66", "--format", "elf", "my app.elf"]),
        ("nrf52", "openocd",
         ["-f", "board/nordic_nrf52_dk.cfg", "-c", "adapter serial {E66}", "-c",
          "program {my app.elf} verify reset exit"]),
        ("esp32c3", "esptool", ["--chip", "esp32c3", "elf2image", "--output", "my app.bin",
                                "my app.elf"]),
    ],
    ids=["picotool", "probe-rs", "pyocd", "openocd", "esptool"],
)  # fmt: skip
def test_a_program_of_the_users_is_written_to_the_board_that_is_named(
    board: str, tool: str, words: list[str], tools: Tools, bundle: str, glowmcu_cli: Run
) -> None:
    Path("my app.elf").write_bytes(b"\x7fELF")
    for other in TOOLS:
        tools.add(other.name)
    ended = glowmcu_cli(
        "flash", bundle, "--board", board, "--tool", tool, "--probe", "E66", "--image", "my app.elf"
    )
    assert ended.exit_code == 0, ended.err
    assert tools.calls()[0] == [tool, *words]
    if tool == "esptool":
        write = ["--chip", "esp32c3", "--port", "E66", "write_flash", "0x10000", "my app.bin"]
        assert tools.calls()[1:] == [[tool, *write]]
    if tool == "probe-rs":
        reset = ["reset", "--chip", "nRF52840_xxAA", "--probe", "E66"]
        assert tools.calls()[1:] == [[tool, *reset]]


def test_the_first_tool_that_is_there_and_knows_the_board_is_taken(
    tools: Tools, bundle: str, glowmcu_cli: Run
) -> None:
    Path("app.elf").write_bytes(b"\x7fELF")
    for name in ("esptool", "openocd"):
        tools.add(name)
    assert glowmcu_cli("flash", bundle, "--image", "app.elf").exit_code == 0
    assert [call[0] for call in tools.calls()] == ["openocd"]
    tools.add("pyocd")
    assert glowmcu_cli("flash", bundle, "--image", "app.elf").exit_code == 0
    assert [call[0] for call in tools.calls()] == ["openocd", "pyocd"]


def test_a_dry_run_needs_no_tool_builds_nothing_and_prints_what_a_shell_takes(
    tools: Tools, bundle: str, glowmcu_cli: Run
) -> None:
    ended = glowmcu_cli("flash", bundle, "--dry-run")
    assert ended.exit_code == 0, ended.err
    assert [shlex.split(line) for line in ended.out.splitlines()] == CALLS["probe-rs"][1]
    assert not Path(ELF).exists()
    tools.add("openocd")
    ended = glowmcu_cli("flash", bundle, "--board", "microbit", "--dry-run", "-o", "my build")
    assert shlex.split(ended.out)[-1] == "program {my build/digits.elf} verify reset exit"
    assert tools.calls() == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--board", "rp2040"], "GM187", "its file does not describe a serial port"),
        (["--board", "generic"], "GM187", "its file does not describe a memory map"),
        (["--image", "nowhere.elf"], "GM187", "there is no such program"),
        ([], "GM188", "install probe-rs (https://probe.rs) or pyocd (pip install pyocd)"),
        (["--tool", "picotool"], "GM188", "does not say what picotool calls its chip"),
        (["--board", "mps2-an386"], "GM188", "does not say what any tool calls its chip"),
    ],
    ids=["no UART", "no memory", "no image", "no tool", "another tool", "no chip name"],
)
def test_what_is_missing_is_said_before_anything_is_built(
    arguments: list[str], code: str, message: str, tools: Tools, bundle: str, glowmcu_cli: Run
) -> None:
    ended = glowmcu_cli("flash", bundle, *arguments)
    assert ended.exit_code == 2
    assert f"error[{code}]" in ended.err
    assert message in ended.err
    assert not Path("out/firmware").exists()


@built
def test_a_tool_that_fails_ends_the_command_with_its_line(
    marked: None, tools: Tools, bundle: str, glowmcu_cli: Run
) -> None:
    tools.add("probe-rs", exit_code=3)
    ended = glowmcu_cli("flash", bundle)
    assert ended.exit_code == 2
    assert "error[GM189]: probe-rs ended with exit code 3" in ended.err
    assert f"--> probe-rs download --chip nRF52840_xxAA {ELF}" in ended.err
    assert len(tools.calls()) == 1, "it is not reset after a failure"


def flashable() -> list[Board]:
    boards = [find_board(name) for name in board_names()]
    return [board for board in boards if board.flash is not None]


@pytest.mark.parametrize("board", flashable(), ids=lambda board: board.name)
def test_chip_names_are_those_of_the_boards_chip(board: Board) -> None:
    """All of them name the chip or its family, as the data sheet writes it."""
    assert tools_for(board)
    family = board.mcu.lower()[: 7 if board.mcu.startswith("STM32") else 4]
    for tool in tools_for(board):
        name = tool.chip(board).lower().replace("-", "")
        if tool.name == "openocd":
            assert all(word.endswith(".cfg") for word in name.split())
        elif tool.name in ("probe-rs", "pyocd"):
            assert name.startswith(family), tool.name
