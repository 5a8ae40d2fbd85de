"""docs/onnx.md says what the importers say."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import REPO


def test_the_table_of_operators_is_current() -> None:
    command = [sys.executable, str(REPO / "scripts" / "onnx_operators.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPO)
    assert done.returncode == 0, done.stderr


def test_every_flag_that_the_page_names_exists() -> None:
    words = (REPO / "docs" / "onnx.md").read_text(encoding="utf-8")
    command = [sys.executable, "-m", "glowmcu", "compile", "--help"]
    options = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPO).stdout
    for flag in ("--define", "--input-shape", "--bind"):
        assert flag in words
        assert flag in options
