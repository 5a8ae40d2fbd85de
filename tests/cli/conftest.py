"""The command line in this process: exit code, stdout and stderr of a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from glowmcu.cli import main
from tests.cli.models import MODELS


@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    exit_code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: every model as NAME.tflite, and arrays for the digits model."""
    monkeypatch.chdir(tmp_path)
    for name, make in MODELS.items():
        (tmp_path / f"{name}.tflite").write_bytes(make())
    np.save(tmp_path / "pixels.npy", np.arange(-32, 32, dtype=np.int8).reshape(1, 8, 8, 1))
    np.save(tmp_path / "flat.npy", np.zeros(64, np.int8))
    np.save(tmp_path / "small.npy", np.zeros((1, 4, 4, 1), np.int8))
    np.save(tmp_path / "real.npy", np.zeros((1, 8, 8, 1), np.float32))
    np.save(tmp_path / "wide.npy", np.zeros((1, 8, 8, 1), np.int64))
    np.savez(tmp_path / "archive.npz", np.zeros(3))
    (tmp_path / "text.npy").write_text("hello")
    return tmp_path


@pytest.fixture
def glowmcu_cli(work: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """`glowmcu_cli("compile", "digits.tflite")` in a folder of its own."""

    def run(*arguments: str) -> Ended:
        capsys.readouterr()
        exit_code = main(list(arguments))
        captured = capsys.readouterr()
        return Ended(exit_code, captured.out, captured.err)

    return run


@pytest.fixture
def bundle(glowmcu_cli: Run) -> str:
    """The digits bundle, in the folder `out`."""
    ended = glowmcu_cli("compile", "digits.tflite", "--board", "nrf52", "-o", "out")
    assert ended.exit_code == 0, ended.err
    return "out"
