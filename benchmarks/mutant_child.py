"""A forked process that answers with one text within a time of the clock, or is ended.

The time of the processor, which the process itself limits, never ends one that waits: for a lock
whose owner is gone, or for a program of its own that hangs. It has a process group, so that the
programs that it started end with it.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass

#: Stands in front of an answer: one without text is an answer, too.
_ANSWERED = b"="
_MOST_BYTES = 4096


@dataclass(frozen=True)
class Child:
    """`pipe` brings its answer, its files are in `folder`, and it lasts until `end` at most."""

    pid: int
    pipe: int
    folder: str
    begin: float
    end: float

    def answer(self) -> str:
        """What it said, or how it ended without a word; it and what it started are gone then."""
        first_ended([self])
        if self.pipe in _readable([self]):
            status = os.waitpid(self.pid, 0)[1]
            text = os.read(self.pipe, 1 + _MOST_BYTES)
            ended = text[1:].decode() if text and status == 0 else "the end of its process"
        else:
            ended = f"the clock: it had no answer in {self.end - self.begin:.0f} seconds"
        self.close()
        return ended

    def close(self) -> None:
        """End it and what it started, and remove its files."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        os.close(self.pipe)
        shutil.rmtree(self.folder, ignore_errors=True)


def in_child(work: Callable[[], str], seconds: float) -> Child:
    """Have `work` done by a copy of this process that prints nothing."""
    folder = tempfile.mkdtemp(prefix="glowmcu-mutant-")
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        with suppress(ProcessLookupError, PermissionError):
            os.setpgid(pid, pid)  # whoever of the two is first
        begin = time.monotonic()
        return Child(pid, read, folder, begin, begin + seconds)
    answer = "an error outside of tests"
    try:
        os.setpgid(0, 0)
        os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.tempdir = folder
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        answer = work()
    finally:
        os.write(write, _ANSWERED + answer.encode()[:_MOST_BYTES])
        os._exit(0)


def first_ended(children: Collection[Child]) -> Child:
    """Wait for the first that has answered, ended, or had its time."""
    while True:
        readable = _readable(children)
        for child in children:
            if child.pipe in readable or child.end <= time.monotonic():
                return child
        rest = min(child.end for child in children) - time.monotonic()
        select.select([child.pipe for child in children], [], [], max(rest, 0))


def _readable(children: Collection[Child]) -> list[int]:
    return select.select([child.pipe for child in children], [], [], 0)[0]
