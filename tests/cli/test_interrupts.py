"""Ctrl-C says one line and ends with 130, wherever it comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
#: Sends itself Ctrl-C when the `turn`-th module is looked for behind the package's first.
AT_IMPORT = """
import signal, sys
class Finder:
    left = {turn}
    def find_spec(self, name, path=None, target=None):
        if "glowmcu.cli" in sys.modules:
            Finder.left -= 1
            if Finder.left == 0:
                signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
from glowmcu.cli import main
sys.exit(main(["compile", "examples/digits/digits_int8.tflite", "-o", sys.argv[1]]))
"""
#: Ctrl-C inside of a callback from C, where Python cannot raise it, then a while of work.
IN_CALLBACK = """
import ctypes, signal, sys, time
from glowmcu.cli import list_commands, main
def board_names():
    ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()
    for _ in range(400):
        time.sleep(0.05)
    return []
list_commands.board_names = board_names
sys.exit(main(["boards"]))
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")


def ended(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=REPO, capture_output=True, text=True, check=False,
        # A shell starts what it leaves behind deaf to Ctrl-C, and its children are so too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


@pytest.mark.parametrize("turn", [1, 2, 5, 10, 40, 150, 220])
def test_an_interrupt_while_modules_are_read_is_one_line(turn: int, tmp_path: Path) -> None:
    done = ended(AT_IMPORT.format(turn=turn), str(tmp_path / "out"))
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, "interrupted\n")
    assert not (tmp_path / "out").exists()


def test_an_interrupt_that_a_callback_swallows_comes_again() -> None:
    done = ended(IN_CALLBACK)
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, "interrupted\n")
