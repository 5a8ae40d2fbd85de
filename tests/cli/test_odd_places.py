"""Folders as people and systems name them: with spaces, quotes, and bytes that are no text."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import click
import numpy as np
import onnx
import pytest

from glowmcu import compile
from glowmcu.cli import main
from glowmcu.cli.main import COMMANDS, group
from glowmcu.errors import ExitCode
from tests.bundle.models import digits
from tests.conftest import REPO

FLOAT = REPO / "examples" / "digits"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names are Unicode there")
def test_a_folder_whose_name_is_no_text_serves_as_any_other(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / os.fsdecode(b"b\xfcndel \xff")
    folder.mkdir()
    (folder / "net.tflite").write_bytes(digits())
    shutil.copy(FLOAT / "digits.onnx", folder)
    net, made = str(folder / "net.tflite"), str(folder / "out")
    samples = str(FLOAT / "calibration.npz")
    for call in (
        ["compile", net, "-o", made, "--board", "nrf52", "--report", str(folder / "a.html")],
        ["verify", made, "--on", "host", "--report", str(folder / "b.html")],
        ["report", made, "-o", str(folder / "c.html")],
        ["diff", made, made],
        ["diff", made, made, "--markdown"],
        ["tune", str(folder / "digits.onnx"), "--samples", samples, "--trials", "1",
         "-o", str(folder / "p.json"), "--report", str(folder / "d.html")],
        ["compile", str(folder / "digits.onnx"), "--profile", str(folder / "p.json"),
         "-o", str(folder / "int8"), "--report", str(folder / "e.html")],
    ):  # fmt: skip
        assert main(call) == 0, capfd.readouterr().err
    for name in "abcde":
        (folder / f"{name}.html").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="cmd quotes in its own way")
def test_commands_that_are_suggested_can_be_pasted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "it's a $HOME"
    folder.mkdir()
    model = folder / "my net.onnx"
    shutil.copy(FLOAT / "digits.onnx", model)
    samples = str(FLOAT / "calibration.npz")
    profile, tuned, kernels = (str(folder / f"{name} 1.json") for name in "ptk")

    def suggested(*call: str) -> None:
        assert main(list(call)) == 0
        (line,) = [x for x in capsys.readouterr().out.splitlines() if x.startswith("  next ")]
        words = shlex.split(line)
        assert words[:2] == ["next", "glowmcu"]
        assert main(words[2:]) == 0
        capsys.readouterr()

    suggested("profile", str(model), "--samples", samples, "-o", profile)
    # What says which model it is comes along: one of open height is refused without it.
    opened = onnx.load(FLOAT / "digits.onnx")
    opened.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "h"
    onnx.save(opened, folder / "open.onnx")
    said = ("--define", "h=8", "--state", "none")
    suggested("profile", str(folder / "open.onnx"), "--samples", samples, "-o", profile, *said)
    suggested("tune", str(model), "--samples", samples, "--trials", "1", "-o", tuned)
    (folder / "net.tflite").write_bytes(digits())
    suggested("tune", "--kernels", str(folder / "net.tflite"), "--board", "nrf52", "-o", kernels)
    assert main(["compile", str(model), "-o", str(folder / "float")]) == 0
    note = re.search(r"for int8: (.*) --samples DATA (.*), then", capsys.readouterr().out)
    assert note
    assert shlex.split(note[1]) == ["glowmcu", "profile", str(model)]
    assert shlex.split(note[2]) == ["-o", "my net.profile.json"]
    assert main(["diff", str(folder / "float"), str(folder / "float")]) == 0
    (call,) = {*re.findall(r"`(glowmcu bench .*?)`", " ".join(capsys.readouterr().out.split()))}
    assert shlex.split(call) == ["glowmcu", "bench", str(folder / "float")]


def test_a_folder_whose_name_begins_with_a_dash_is_no_option_of_a_compiler_or_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.tflite").write_bytes(digits())
    assert main(["compile", "net.tflite", "-o", "./-made"]) == 0
    (line,) = [x for x in capsys.readouterr().out.splitlines() if x.startswith("  next ")]
    assert shlex.split(line)[1:4] == ["glowmcu", "verify", "./-made"]
    assert main(["verify", "./-made"]) == 0, capsys.readouterr().err


@pytest.mark.arm
def test_where_nothing_temporary_can_be_written_the_hint_names_the_variable_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net.tflite").write_bytes(digits())
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "none")])
    made = str(tmp_path / "out")
    code = main(["compile", str(tmp_path / "net.tflite"), "-o", made, "--board", "nrf52"])
    said = capsys.readouterr().err
    assert code == ExitCode.USAGE
    assert "error[GM723]: there is no folder for temporary files" in said
    assert "TMPDIR=DIR" in said


def _path_options() -> list[tuple[str, str]]:
    """Each command with each of its parameters that is a path: an option's name, or an argument's
    in capitals.
    """
    return [
        (name, param.opts[0] if isinstance(param, click.Option) else (param.name or "").upper())
        for name in sorted(COMMANDS)
        if (command := group.get_command(click.Context(group), name))
        for param in command.params
        if isinstance(param.type, click.Path)
    ]


#: What a command needs beside the path in question.
_CALLS = {
    "bench": {"BUNDLE": "out"},
    "compile": {"MODEL": "digits.onnx", "-o": "made", "--samples": "real.npy"},
    "diff": {"BEFORE": "out", "AFTER": "out"},
    "example": {"NAME": "digits"},
    "export": {"MODEL": "digits.onnx"},
    "flash": {"BUNDLE": "out", "--dry-run": None},
    "inspect": {"MODEL": "digits.onnx"},
    "profile": {"MODEL": "digits.onnx", "--samples": "real.npy", "--quantization": "plain"},
    "report": {"BUNDLE": "out"},
    "run": {"BUNDLE": "out"},
    "tune": {"MODEL": "digits.onnx", "--samples": "real.npy", "--trials": "1"},
    "verify": {"BUNDLE": "out", "--samples": "1"},
}
_ODD = {"a name of 300 letters": "n" * 300, "a folder": "out", "a file in a file": "real.npy/x"}


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("furnished")
    shutil.copy(FLOAT / "digits.onnx", folder)
    generator = np.random.default_rng(0)
    np.save(folder / "real.npy", generator.random((4, 1, 8, 8), np.float32))
    compile(digits(), name="digits", output=folder / "out")
    return folder


@pytest.mark.parametrize("odd", _ODD)
@pytest.mark.parametrize(("command", "option"), _path_options())
def test_a_path_that_cannot_be_what_is_asked_is_the_users_and_no_bug(
    command: str,
    option: str,
    odd: str,
    furnished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(furnished, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))  # a path is read before a compiler is asked
    given = {**_CALLS[command], option: _ODD[odd]}
    words = [word for key, word in given.items() if key.isupper() and word]
    for key, word in given.items():
        words += [] if key.isupper() else [key] if word is None else [key, word]
    assert main([command, *words]) != ExitCode.OUR_BUG, capsys.readouterr().err
