"""Commands as users type them: quoted for the shells of their system."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable

# What neither cmd nor PowerShell reads as anything else within a word. A backslash parts folders.
_PLAIN_ON_WINDOWS = re.compile(r"[\w+=:,./\\~-]+", re.ASCII)


def quoted(word: str) -> str:
    """`word` as one argument of a command line.

    What is no text, or cannot be shown on standard output, is written as the numbers of its bytes.
    On Windows a word gets double quotes where it needs any, the only ones that cmd knows. Before a
    quotation mark programs there read two backslashes as one.
    """
    if os.name != "nt":
        return shlex.quote(word) if _is_shown(word) else _in_numbers(word)
    if _PLAIN_ON_WINDOWS.fullmatch(word):
        return word
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', word)
    return '"' + re.sub(r"(\\+)$", r"\1\1", escaped) + '"'


def command_line(words: Iterable[str]) -> str:
    """A command of these arguments."""
    return " ".join(map(quoted, words))


def _is_shown(word: str) -> bool:
    """Whether it comes out of standard output as it is."""
    try:
        word.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return word.isprintable()


def _in_numbers(word: str) -> str:
    """As bash, zsh and POSIX of 2024 read it: $'b\\xc3\\xbcndel'."""
    try:
        content = os.fsencode(word)
    except UnicodeEncodeError:  # it is out of a model, and no name of a file
        content = word.encode("utf-8", "surrogatepass")
    plain = (
        chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\x{byte:02x}"
        for byte in content
    )
    return f"$'{''.join(plain)}'"
