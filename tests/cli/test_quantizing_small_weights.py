"""What quantizing says of a file whose weights its converter has rounded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Run
from tests.frontend.test_file_notes import dense


@pytest.mark.parametrize("command", ["profile", "compile"])
def test_what_quantizes_is_not_told_to_quantize(command: str, glowmcu_cli: Run, work: Path) -> None:
    (work / "small.tflite").write_bytes(dense("int8"))
    np.save(work / "x.npy", np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 1, 8))
    ended = glowmcu_cli(command, "small.tflite", "--samples", "x.npy", "-o", "made")
    assert ended.exit_code == 0, ended.err
    assert "32 B of weights are rounded to int8" in ended.out + ended.err
    assert "stay exact" not in ended.out + ended.err
