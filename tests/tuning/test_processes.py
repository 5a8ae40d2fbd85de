"""Searches in several processes, from a script as people write it first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from glowmcu.examples import find_example, write_example

SCRIPT = """
import glowmcu

def search():
    found = glowmcu.tune("digits.onnx", samples="calibration.npz", jobs=2, trials=2)
    print("accuracy" if found.best else "")

{call}
"""


def run(folder: Path, call: str) -> subprocess.CompletedProcess[str]:
    write_example(find_example("digits"), folder)
    (folder / "search.py").write_text(SCRIPT.format(call=call), encoding="utf-8")
    return subprocess.run(
        [sys.executable, "search.py"], cwd=folder, capture_output=True, encoding="utf-8",
        check=False, timeout=500,
    )  # fmt: skip


def test_a_script_that_searches_while_it_is_imported_ends_with_what_to_write(
    tmp_path: Path,
) -> None:
    done = run(tmp_path, "search()")
    assert done.returncode == 1
    last = done.stderr.rpartition("Traceback")[2]
    assert "GM354" in last
    assert 'if __name__ == "__main__":' in last


def test_a_script_that_asks_whether_it_is_the_program_searches(tmp_path: Path) -> None:
    done = run(tmp_path, 'if __name__ == "__main__":\n    search()')
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "accuracy"
