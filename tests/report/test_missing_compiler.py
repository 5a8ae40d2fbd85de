"""Where code cannot be measured, the summary says which compiler is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

import glowmcu
from glowmcu.report.tables import summary_lines
from tests.bundle.models import one_element


@pytest.mark.parametrize(
    ("board", "words"),
    [("nrf52", "gcc-arm-none-eabi"), ("esp32c3", "gcc-riscv64-unknown-elf")],
)
def test_the_hint_names_the_compiler_of_the_board(
    board: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "m.tflite"
    model.write_bytes(one_element())
    monkeypatch.setenv("PATH", str(tmp_path))
    bundle = glowmcu.compile(model, board=board, output=tmp_path / "m")
    (line,) = (line for line in summary_lines(bundle) if line.startswith("  code "))
    assert words in line
