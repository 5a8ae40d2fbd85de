"""Where temporary files go, and what to do where they find no room."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from glowmcu.number_text import count


def other_place(folder: Path) -> str:
    """What to do where `folder` takes no more temporary files."""
    left = count(shutil.disk_usage(folder).free, " B")
    return f"TMPDIR=DIR, another folder for temporary files: {folder} has {left} left"


def advice_on_room(said: str) -> str:
    """`other_place` where a compiler says that it has no room, else nothing."""
    return other_place(_of_compilers()) if "No space left on device" in said else ""


def _of_compilers() -> Path:
    """As gcc and clang choose it: they do not try, as Python does, whether a file fits there."""
    asked = (Path(os.environ.get(name, "")) for name in ("TMPDIR", "TMP", "TEMP"))
    return next((path for path in asked if path.is_absolute() and path.is_dir()),
                Path(tempfile.gettempdir()))  # fmt: skip
