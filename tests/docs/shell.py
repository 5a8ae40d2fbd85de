"""Has a page read by `reader.py`, in a fresh folder and with this checkout's programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import REPO


@dataclass(frozen=True)
class Part:
    """A command of a shell, or a block of Python (`language`), from `line` of the page on."""

    language: str
    line: int
    text: str


def environment() -> dict[str, str]:
    """`glowmcu` and `python` are those of this checkout."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    packages = os.pathsep.join(filter(None, [str(REPO), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PATH": programs, "PYTHONPATH": packages, "COLUMNS": "120"}


def read_in_order(page: str, parts: Sequence[Part], folder: Path) -> str:
    """What was printed. A part that fails is an AssertionError that names its line."""
    listed = folder / "parts.json"
    listed.write_text(json.dumps([[part.language, part.text] for part in parts]), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, REPO / "tests" / "docs" / "reader.py", listed],
        cwd=folder, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return done.stdout
    number, _, said = done.stderr[done.stderr.rfind(">>> ") + 4 :].partition("\n")
    failed = parts[int(number)]
    raise AssertionError(f"{page}:{failed.line}: {failed.text}: {said[-2000:]}")
