"""Paths as users give them: asked without exceptions, and as arguments of other programs.

Before Python 3.14 `Path` raises OSError for a name that is longer than the system allows; nothing
can be there, so that the answer is no.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def is_there(path: Path) -> bool:
    """Whether anything is at `path`."""
    with suppress(OSError):
        return path.exists()
    return False


def is_folder(path: Path) -> bool:
    """Whether a folder is at `path`."""
    with suppress(OSError):
        return path.is_dir()
    return False


def is_file(path: Path) -> bool:
    """Whether a regular file is at `path`."""
    with suppress(OSError):
        return path.is_file()
    return False


def as_argument(path: str | Path) -> str:
    """`path` in a command: one that begins with a dash would be taken for an option."""
    text = os.fspath(path)
    return f"./{text}" if text.startswith("-") else text
