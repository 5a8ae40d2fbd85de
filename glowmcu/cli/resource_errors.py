"""What the computer lacks (space, memory, files) is the user's situation, wherever it comes up."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

from glowmcu.errors import GlowmcuError, error

#: What the system says when a computer, not a program, is at its end.
_EXHAUSTED = {
    number
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO", "EROFS", "EMFILE", "ENFILE", "EBADF", "ENXIO")
    if (number := getattr(errno, name, None)) is not None
}


def resource_error(cause: OSError | MemoryError) -> GlowmcuError | None:
    """GM722 for memory, GM723 for what could not be written; None for what is a bug."""
    if isinstance(cause, MemoryError) or cause.errno == errno.ENOMEM:
        return error(
            "GM722",
            f"this computer has not enough memory for that{_detail(cause)}",
            hint="close other programs, or take a smaller model or fewer samples; a lower "
            "--max-memory refuses what is too large before it begins",
        )
    if cause.errno == errno.ENOENT and _is_nowhere():
        return error(
            "GM723", "the folder that this runs in was removed", hint="cd to one that is there"
        )
    if cause.errno == errno.ENOENT and not _has_scratch():
        return error(
            "GM723",
            "there is no folder for temporary files that can be written",
            hint="TMPDIR=DIR, a folder that can be",
        )
    if cause.errno not in _EXHAUSTED:
        return None
    where = str(cause.filename) if cause.filename else "standard output"
    return error(
        "GM723", f"cannot write: {cause.strerror}", where, "is the disk full, or the file closed?"
    )


def _is_nowhere() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _has_scratch() -> bool:
    """Whether this computer has a place for temporary files."""
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        return False
    return True


def _detail(cause: BaseException) -> str:
    text = " ".join(str(cause).split())[:200]
    return f": {text}" if text else ""
