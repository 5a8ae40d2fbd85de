"""The README's quick start, from an environment without a package to a digit that is read."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scripts.quick_start import block, is_seven, script
from tests.conftest import REPO

README = (REPO / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_quick_start_runs_line_by_line_where_nothing_is_installed() -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL"))}
    done = subprocess.run(
        [sys.executable, REPO / "scripts" / "quick_start.py"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def test_on_windows_only_the_lines_about_the_environment_differ() -> None:
    typed, shell = script(README, is_windows=True)
    lines = [line for line in typed.splitlines() if not line.startswith(("if ", "$"))]
    assert lines == [*block(README, "powershell"), *block(README, "sh")[2:]]
    assert typed.count("exit 1") == len(lines)
    assert shell[0] == "pwsh"
    # A space in front of a comment and double quotes: what both kinds of shells read alike.
    assert not any("'" in line or "\\\n" in line for line in block(README, "sh"))


def test_another_digit_than_seven_is_no_success() -> None:
    shown = "scores  int8[1, 10]\n[[-128 -128 -128 -128 -128 -128 -128  127 -128 -128]]\n"
    assert is_seven(shown)
    assert not is_seven(shown.replace("-128  127", "127 -128"))
    assert not is_seven("")
