"""The job and the commands that it starts, in this process: a Python that imports the compiler anew
takes ten times as long as what it is asked.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from glowmcu.ci import __main__ as ci
from glowmcu.ci import job
from glowmcu.cli import main


def run_here(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    capture_output: bool,
    check: bool,
    **text: Any,
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run`, of `python -m glowmcu.ci` or `python -m glowmcu`."""
    python, option, module, *arguments = command
    assert (python, option, capture_output, check) == (sys.executable, "-m", True, False)
    start = {"glowmcu": main, "glowmcu.ci": ci.main}[module]
    out, err = io.StringIO(), io.StringIO()
    with (
        _inside(cwd or Path()),
        mock.patch.dict(os.environ, env or {}, clear=env is not None),
        mock.patch.object(sys, "argv", [module, *arguments]),
        mock.patch.object(job, "subprocess", SimpleNamespace(run=run_here)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = _exit_code(start)
    return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())


def _exit_code(start: Callable[[], int]) -> int:
    try:
        return start()
    except SystemExit as ended:
        return int(ended.code or 0)


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
