"""What the examples say of boards is what `boards/` says, and their Renode files hold together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from glowmcu.board import Board, find_board
from glowmcu.cores import core
from tests.verify.repl import parse_repl
from tests.verify.robot_player import play

EXAMPLES = Path(__file__).resolve().parents[2] / "firmware_examples"
BOARD_FILES = EXAMPLES / "common" / "boards"
BOARDS = sorted(path.stem for path in BOARD_FILES.glob("*.mk"))
SCRIPTS = sorted(BOARD_FILES.glob("*.resc"))
ROBOTS = sorted(EXAMPLES.glob("*/*.robot"))
UNITS = {"K": 1 << 10, "M": 1 << 20}


def settings(board: str) -> dict[str, str]:
    """The `NAME = value` lines of a board's .mk file."""
    text = (BOARD_FILES / f"{board}.mk").read_text(encoding="utf-8")
    return dict(re.findall(r"^(\w+) = (.*)$", text, re.MULTILINE))


def memories(board: str) -> dict[str, tuple[int, int]]:
    """Origin and size of each memory of a board's linker script."""
    text = (BOARD_FILES / f"{board}.ld").read_text(encoding="utf-8")
    found = re.findall(r"(\w+) \(\w+\) : ORIGIN = (\w+), LENGTH = (\d+)([KM])", text)
    return {name: (int(origin, 0), int(size) * UNITS[unit]) for name, origin, size, unit in found}


def region(board: Board, name: str) -> tuple[int, int]:
    found = board.region(name)
    return found.origin, found.size_bytes


@pytest.mark.parametrize("name", BOARDS)
def test_memories_and_flags_are_those_of_the_board(name: str) -> None:
    board = find_board(name)
    assert board.placement is not None
    code, data = region(board, board.placement.code), region(board, board.placement.data)
    assert memories(name) == {"code": code, "data": data}
    assert settings(name)["CPU"].split() == list(core(board.core).flags)
    assert int(settings(name)["CPU_CLOCK_HZ"]) == board.clock_hz


@pytest.mark.parametrize("name", BOARDS)
def test_a_board_has_a_machine_in_qemu_or_a_script_for_renode(name: str) -> None:
    mine = settings(name)
    assert (BOARD_FILES / mine["BOARD_SOURCE"]).is_file()
    assert "QEMU_MACHINE" in mine or (BOARD_FILES / f"{name}.resc").is_file()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_renode_script_uses_the_platform_and_the_flash_of_the_board(path: Path) -> None:
    board = find_board(path.stem)
    assert board.renode is not None
    assert board.placement is not None
    text = path.read_text(encoding="utf-8")
    assert f"machine LoadPlatformDescription $ORIGIN/{path.stem}.repl\n" in text
    platform = parse_repl(path.with_suffix(".repl").read_text(encoding="utf-8"))
    assert platform.usings == (board.renode.platform,)
    assert set(platform.entries) == {"sysbus"}
    vectors = board.region(board.placement.code).origin
    assert f"cpu VectorTableOffset 0x{vectors:08X}\n" in text
    assert settings(path.stem)["RENODE_UART"] == board.renode.uart


@pytest.mark.parametrize("path", ROBOTS, ids=lambda path: path.stem)
def test_a_robot_file_waits_for_the_expected_lines_on_a_board_with_a_script(
    path: Path, tmp_path: Path
) -> None:
    pytest.importorskip("robot")
    console = (path.parent / "expected.txt").read_text(encoding="utf-8")
    assert play(path, console, tmp_path) == 0, (tmp_path / "robot.txt").read_text()
    commands = (tmp_path / "commands.txt").read_text(encoding="utf-8")
    [script] = re.findall(r"include @(.*\.resc)$", commands, re.MULTILINE)
    assert Path(script).resolve() in SCRIPTS
    start = re.search(r"board=(\S+)\s+uart=(\S+)", path.read_text(encoding="utf-8"))
    assert start is not None
    assert settings(start[1])["RENODE_UART"] == start[2]


@pytest.mark.parametrize("path", ROBOTS, ids=lambda path: path.stem)
def test_a_robot_file_fails_when_the_last_line_is_another(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("robot")
    console = (path.parent / "expected.txt").read_text(encoding="utf-8")
    assert play(path, console.replace("done", "fault: exception 3"), tmp_path) != 0


SOURCES = sorted(EXAMPLES.glob("*/*.c"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_example_ignores_what_a_run_returns(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    ignored = re.findall(r"^ *(?:\(void\) *)?\w+_(?:run|run_from|infer)\(arena.*$", text, re.M)
    assert ignored == []
