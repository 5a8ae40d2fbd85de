"""Every `glowmcu` command in the examples' READMEs and in the README of the project works."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from glowmcu.cli import main
from tests.conftest import REPO

PAGES = sorted(path.relative_to(REPO) for path in REPO.glob("examples/*/README.md"))


def commands(text: str) -> list[list[str]]:
    """Words of each `glowmcu` line of the fenced blocks, in order."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    shell = [block.replace("\\\n", " ") for language, block in blocks if language in ("", "sh")]
    lines = [line for block in shell for line in block.splitlines()]
    words = [shlex.split(line, comments=True) for line in lines]
    return [line[1:] for line in words if line[:1] == ["glowmcu"]]


def run_all(lines: list[list[str]], root: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the lines in `root`. The number of commands."""
    monkeypatch.chdir(root)
    for arguments in lines:
        assert main(arguments) == 0, shlex.join(arguments)
    return len(lines)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_commands_of_an_example_work_as_written(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(REPO / page.parent, tmp_path / page.parent)
    text = (REPO / page).read_text(encoding="utf-8")
    assert run_all(commands(text), tmp_path, monkeypatch) >= 3


def test_the_commands_of_the_readme_work_on_models_of_these_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digits = REPO / "examples" / "digits"
    shutil.copy(digits / "digits_int8.tflite", tmp_path / "kws.tflite")
    shutil.copy(digits / "digits.onnx", tmp_path / "model.onnx")
    shutil.copy(digits / "calibration.npz", tmp_path / "samples.npz")
    text = (REPO / "README.md").read_text(encoding="utf-8")
    assert run_all(commands(text), tmp_path, monkeypatch) >= 6


@pytest.mark.arm
@pytest.mark.qemu
def test_the_commands_of_the_page_about_memory_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(REPO / "examples" / "digits" / "digits_int8.tflite", tmp_path / "digits.tflite")
    text = (REPO / "docs" / "memory.md").read_text(encoding="utf-8")
    assert run_all(commands(text), tmp_path, monkeypatch) >= 6
    printed = capsys.readouterr().out
    for line in re.findall(r"^  (?:fits|placed) .*$", text, re.MULTILINE):
        assert line in printed
    header = (tmp_path / "build" / "placed" / "digits.h").read_text(encoding="utf-8")
    for macro, section in re.findall(r"^\| `(DIGITS_\w+)` \| `(\S+)` \|$", text, re.MULTILINE):
        assert f'#define {macro} GLOWMCU_SECTION("{section}")' in header
    kept = (tmp_path / "build" / "kept" / "digits.h").read_text(encoding="utf-8")
    assert "#define DIGITS_INPUT_KEPT 1" in kept
