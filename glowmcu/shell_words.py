"""Commands as users type them: quoted for the shells of their system."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable

# What neither cmd nor PowerShell reads as anything else within a word. A backslash parts folders.
_PLAIN_ON_WINDOWS = re.compile(r"[\w+=:,./\\~-]+", re.ASCII)


def quoted(word: str) -> str:
    """`word` as one argument of a command line.

    On Windows it gets double quotes where it needs any, the only ones that cmd knows. Before a
    quotation mark programs there read two backslashes as one.
    """
    if os.name != "nt":
        return shlex.quote(word)
    if _PLAIN_ON_WINDOWS.fullmatch(word):
        return word
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', word)
    return '"' + re.sub(r"(\\+)$", r"\1\1", escaped) + '"'


def command_line(words: Iterable[str]) -> str:
    """A command of these arguments."""
    return " ".join(map(quoted, words))
