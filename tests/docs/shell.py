"""Types lines into bash, one after the other, as a reader does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.conftest import REPO
from tests.docs.blocks import Typed


def environment() -> dict[str, str]:
    """`glowmcu` and `python` are those of this checkout."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": programs, "PYTHONPATH": str(REPO), "COLUMNS": "120"}


def type_into_shell(page: str, lines: Sequence[Typed], folder: Path) -> str:
    """What was printed. A line that fails is an AssertionError that names it."""
    marked = [f"echo '>>> {number}' >&2\n{one.text}\n" for number, one in enumerate(lines)]
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "".join(marked)],
        cwd=folder, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return done.stdout
    at = done.stderr.rfind(">>> ")
    number, _, said = done.stderr[at + 4 :].partition("\n")
    failed = lines[int(number)]
    raise AssertionError(f"{page}:{failed.line}: {failed.text}: {said[-2000:]}")
