"""The digits firmware builds from nothing and reads real digits on an emulated board."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]


@pytest.mark.qemu
@pytest.mark.slow
def test_the_firmware_reads_twenty_held_out_digits(tmp_path: Path) -> None:
    python = sys.executable
    settings = [f"BUILD={tmp_path}", f"PYTHON={python}", f"GLOWMCU={python} -m glowmcu"]
    done = subprocess.run(
        ["make", "-s", "run", *settings],
        cwd=REPO / "firmware_examples" / "digits_mps2",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,  # where QEMU writes what the firmware says
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert lines[-1] == "20 of 20 right"
    assert "is 5, read 5" in lines
