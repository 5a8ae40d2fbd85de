"""The example for two cores: built and run in QEMU, where both cores truly run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.firmware_examples.test_examples import EXAMPLES, GLOWMCU, expected, run

NAME = "two_cores"


@pytest.mark.qemu
@pytest.mark.parametrize("cores", [1, 2])
def test_two_cores_share_the_runs_of_the_self_test(cores: int, tmp_path: Path) -> None:
    settings = [f"BUILD={tmp_path}", f"GLOWMCU={GLOWMCU}", f"CORES={cores}"]
    done = run(["make", "-s", "run", *settings], EXAMPLES / NAME)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    # QEMU writes what firmware says by semihosting to its standard error.
    assert (done.stdout + done.stderr).splitlines()[-1:] == expected(NAME)
    text = (tmp_path / "digits/digits.c").read_text(encoding="utf-8")
    assert text.count("GLOWMCU_CORES_BOTH(") >= 3
