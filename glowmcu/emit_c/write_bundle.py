"""Put a bundle on disk: all of it or nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from glowmcu.errors import error


def write_bundle(files: Mapping[str, str], folder: Path) -> None:
    """Write `files` into `folder`, replacing an older bundle there.

    Everything is written next to `folder` first and moved at the end, so that a failed run leaves
    what was there. Raises GM504 when the folder cannot be written or holds something else.
    """
    if folder.exists() and not _may_replace(folder):
        what = (
            "the output folder holds files that are no bundle; they would be lost"
            if folder.is_dir()
            else "a file is where the output folder should be"
        )
        hint = (
            f"choose another folder with -o, or {'empty' if folder.is_dir() else 'move'} this one"
        )
        raise error("GM504", what, str(folder), hint)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as cause:
        raise _not_writable(folder, cause) from cause
    try:
        fresh = staging / "new"
        _write_all(files, fresh)
        if folder.exists():
            folder.rename(staging / "old")
        fresh.rename(folder)
    except OSError as cause:
        if (staging / "old").exists() and not folder.exists():
            (staging / "old").rename(folder)
        raise _not_writable(folder, cause) from cause
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _write_all(files: Mapping[str, str], folder: Path) -> None:
    for name, text in files.items():
        path = folder / name
        assert path.resolve().is_relative_to(folder.resolve()), name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


def _may_replace(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    return (folder / "manifest.json").is_file() or not any(folder.iterdir())


def _not_writable(folder: Path, cause: OSError) -> Exception:
    reason = os.strerror(cause.errno) if cause.errno else str(cause)
    files = [str(parent) for parent in folder.parents if parent.is_file()]
    if files:
        reason = f"{files[0]} is a file, not a folder"
    return error(
        "GM504", f"cannot write the bundle: {reason}", str(folder), "choose another folder with -o"
    )
