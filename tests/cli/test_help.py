"""`--help` in groups, and what the shell offers behind TAB."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from glowmcu.board import board_names, find_board
from glowmcu.cli.compile_command import GROUPS as OF_COMPILE
from glowmcu.cli.compile_command import compile_command
from glowmcu.cli.main import COMMANDS, GROUPS, group
from glowmcu.cli.package_names import BUILD_SYSTEMS
from glowmcu.emit_c.packages.package import all_packages
from glowmcu.verify.executors import EXECUTOR_NAMES
from tests.cli.conftest import Run

REPO = Path(__file__).resolve().parents[2]


def offered(line: str) -> list[str]:
    """What bash is told for a line that the cursor is at the end of."""
    words = line.split(" ")
    environment = {
        **os.environ,
        "_GLOWMCU_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "glowmcu"],
        cwd=REPO, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return [text.partition(",")[2] for text in done.stdout.splitlines() if text]


def test_every_command_stands_once_in_help(glowmcu_cli: Run) -> None:
    named = [name for names in GROUPS.values() for name in names]
    assert sorted(named) == sorted(COMMANDS)
    text = glowmcu_cli("--help").out
    for name in COMMANDS:
        assert sum(line.startswith(f"  {name} ") for line in text.splitlines()) == 1, name
    places = [text.index(f"\n{title}:\n") for title in GROUPS]
    assert places == sorted(places)


def test_every_option_of_compile_stands_in_one_group(glowmcu_cli: Run) -> None:
    named = [name for names in OF_COMPILE.values() for name in names]
    assert len(set(named)) == len(named)
    known = {name for p in compile_command.params for name in (*p.opts, *p.secondary_opts)}
    assert set(named) <= known
    text = glowmcu_cli("compile", "--help").out
    more = text.partition("\nMore:\n")[2]
    assert more.split()[:2] == ["-h,", "--help"], "give the option a group in compile_command.py"
    for option in compile_command.params:
        if isinstance(option, click.Option):
            name = option.opts[-1]
            shown = [
                line for line in text.splitlines() if line.startswith("  -") and name in line[:34]
            ]
            assert shown, name


def test_the_build_systems_are_those_there_are() -> None:
    assert set(BUILD_SYSTEMS) == set(all_packages())


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("glowmcu comp", ["compile"]),
        ("glowmcu compile m.tflite --board nrf5", ["nrf52", "nrf5340"]),
        ("glowmcu verify out --board nucleo-h", ["nucleo-h743zi"]),
        ("glowmcu compile m.tflite --optimize s", ["speed", "size"]),
        ("glowmcu verify out --on ", list(EXECUTOR_NAMES)),
        ("glowmcu verify out --on host,q", ["host,qemu"]),
        ("glowmcu verify out --on host,h", []),
        ("glowmcu run out --on co", ["cortex-m"]),
        ("glowmcu compile m.tflite --emit zephyr,a", ["zephyr,arduino"]),
        ("glowmcu compile m.tflite --board nucleo-h743zi --place arena=d", ["arena=dtcm"]),
        ("glowmcu compile m.tflite --place a", ["auto", "arena="]),
        ("glowmcu bench out --core cortex-m0", ["cortex-m0", "cortex-m0plus"]),
        ("glowmcu explain gm40", [f"GM40{number}" for number in range(1, 10)]),
    ],
)
def test_the_shell_is_offered(line: str, wanted: list[str]) -> None:
    assert offered(line) == wanted


def test_all_boards_are_offered_and_regions_of_the_named_one() -> None:
    assert offered("glowmcu compile m.tflite --board ") == list(board_names())
    regions = [item.name for item in find_board("stm32f746-discovery").memory]
    line = "glowmcu compile m.tflite --board stm32f746-discovery --place weights="
    assert offered(line) == [f"weights={name}" for name in regions]
    assert offered("glowmcu compile m.tflite --board nowhere --place arena=") == []


def test_help_names_every_command_as_the_group_knows_them() -> None:
    context = click.Context(group)
    assert group.list_commands(context) == list(COMMANDS)


def test_operators_are_found_by_a_word(glowmcu_cli: Run) -> None:
    lines = glowmcu_cli("ops", "softm").out.splitlines()
    assert lines[0].split() == [str(len(lines) - 2), "operators"]
    assert {line.split()[1].upper() for line in lines[2:]} >= {"SOFTMAX", "LOG_SOFTMAX"}
    ended = glowmcu_cli("ops", "SOFTMAXX")
    assert ended.exit_code == 2
    assert "error[GM741]" in ended.err
    assert "did you mean SOFTMAX" in ended.err


@pytest.mark.parametrize(
    ("typed", "meant"), [("compil", "compile"), ("verfy", "verify"), ("reports", "report")]
)
def test_a_command_that_is_mistyped_is_proposed(typed: str, meant: str, glowmcu_cli: Run) -> None:
    ended = glowmcu_cli(typed, "x")
    assert ended.exit_code == 2
    assert f"No such command '{typed}'. Did you mean '{meant}'?" in ended.err
    assert ended.err.count("Did you mean") == 1
    assert "Did you mean" not in glowmcu_cli("zzz").err
