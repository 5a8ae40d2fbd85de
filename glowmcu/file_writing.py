"""Write a file: all of it, or leave what was there."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from glowmcu.errors import error


def write_file(path: Path, content: bytes) -> None:
    """Write `content`, and the folder. A link stays one: its target is written. What is no regular
    file (`/dev/stdout`, a pipe) is written to as it is. Raises OSError.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(content)  # a folder says so itself
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")
    try:
        try:
            draft.write_bytes(content)
        except PermissionError:
            if not target.exists():
                raise
            target.write_bytes(content)  # a file that may be written in a folder that may not
            return
        if target.exists():
            shutil.copymode(target, draft)
        draft.replace(target)
    finally:
        with suppress(OSError):
            draft.unlink()


def write_text_file(path: Path, text: str) -> None:
    """As `write_file`; lines end in a line feed on every system."""
    write_file(path, text.encode("utf-8"))


def check_not_the_model(output: str | Path | None, model: Path) -> None:
    """Raises GM525 if `output` would replace the model that is read."""
    try:
        same = output is not None and model.samefile(output)
    except OSError:  # one of them is not there
        same = False
    if same:
        raise error(
            "GM525", "the output is the model itself, which would be lost", str(output),
            "choose another file with -o",
        )  # fmt: skip
