"""Standard input, output and error as a shell may leave them: closed, full, of any encoding."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO


def prepare_standard_streams() -> None:
    """Make all three usable.

    A closed one becomes /dev/null: else the next file that is opened takes its number, and what a
    compiler prints would end in it. What an encoding cannot say is written as an escape, so that
    no name of a file or a tensor makes printing fail.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
    sys.stdout = sys.stdout or _opened(1)
    sys.stderr = sys.stderr or _opened(2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _opened(number: int) -> io.TextIOWrapper:
    return open(number, "w", encoding="utf-8", closefd=False)


def drop_standard_output() -> None:
    """Nobody reads it, or nothing can be written: leave nothing for the interpreter to flush."""
    _drop(sys.stdout)


def _drop(stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


_CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"
} | {
    code: f"\\u{code:04x}"
    for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


def visible(text: str) -> str:
    """`text` with what a terminal would obey (escapes, returns, ways of writing) written out."""
    return text.translate(_CONTROLS)


def say(text: str) -> None:
    """A line on standard error, as far as that can be written."""
    with may_fail():
        print(visible(text), file=sys.stderr)


@contextlib.contextmanager
def may_fail() -> Iterator[None]:
    """What is written to standard error here may get lost."""
    try:
        yield
        sys.stderr.flush()
    except (OSError, ValueError):
        # Python 3.14 flushes it again at its end, and fails where that fails.
        _drop(sys.stderr)
