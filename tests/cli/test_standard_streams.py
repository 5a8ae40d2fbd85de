"""What a shell may do to the command line's output: full, closed, unread, of any encoding."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.test_names import model_named

COMMANDS = ["--help", "inspect m.tflite", "inspect m.tflite --json"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.tflite"
    path.write_bytes(model_named("x"))
    return path


def shell(text: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A line of shell with `glowmcu` in it; its exit code is glowmcu's."""
    line = text.replace("glowmcu ", f"{sys.executable} -m glowmcu ")
    command = ["env", *(f"{key}={value}" for key, value in environment.items())]
    return subprocess.run(
        [*command, "bash", "-c", f"set -o pipefail; {line}"],
        cwd=folder, capture_output=True, text=True, check=False, errors="replace",
    )  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_behind_the_output_is_said_so(command: str, model: Path) -> None:
    done = shell(f"glowmcu {command} > /dev/full", model.parent)
    assert "error[GM723]: cannot write: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_has_enough_is_no_failure(command: str, model: Path) -> None:
    done = shell(f"glowmcu {command} | true; exit ${{PIPESTATUS[0]}}", model.parent)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", COMMANDS)
def test_closed_streams_change_nothing_but_what_is_shown(command: str, model: Path) -> None:
    done = shell(f"glowmcu {command} >&- <&-", model.parent)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_message_that_cannot_be_written_keeps_its_exit_code(model: Path) -> None:
    for where in ("2> /dev/full", "<&- >&- 2>&-"):
        assert shell(f"glowmcu inspect missing.tflite {where}", model.parent).returncode == 2
    assert shell("glowmcu inspect --no-such-option 2> /dev/full", model.parent).returncode == 2


def test_names_that_the_encoding_does_not_have_are_shown_as_escapes(model: Path) -> None:
    model.write_bytes(model_named("\U0001f525\u4f60"))
    done = shell("glowmcu inspect m.tflite", model.parent, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "\\U0001f525\\u4f60" in done.stdout
    path = model.parent / "bad\udcff.tflite"
    path.write_bytes(model.read_bytes())
    assert shell("glowmcu inspect bad*.tflite", model.parent).returncode == 0


def test_a_name_gives_the_terminal_no_orders(model: Path) -> None:
    model.write_bytes(model_named("a\x1b[31m\x9b2J\u202e"))
    done = shell("glowmcu inspect m.tflite", model.parent)
    assert not {"\x1b", "\u202e"} & set(done.stdout)
    assert "a\\x1b[31m\\x9b2J\\u202e" in done.stdout
    done = shell("glowmcu inspect $'no\\x1b[31m.tflite'", model.parent)
    assert "no\\x1b[31m.tflite" in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize("command", ["boards", "inspect m.tflite", "doctor"])
def test_no_line_that_a_program_reads_ends_in_spaces(command: str, model: Path) -> None:
    lines = shell(f"glowmcu {command}", model.parent).stdout.splitlines()
    assert lines
    assert not [line for line in lines if line.endswith(" ")]


def test_a_folder_that_was_removed_is_said_so(model: Path) -> None:
    line = "mkdir gone; cd gone; rmdir ../gone; glowmcu compile --board nrf52 ../m.tflite -o x"
    done = shell(line, model.parent)
    assert "error[GM723]: the folder that this runs in was removed" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 2
