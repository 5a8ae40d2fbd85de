"""Where things are kept that can be made again: below the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "XDG_CACHE_HOME"


def cache_folder(kind: str) -> Path:
    """`glowmcu/KIND` in the user's cache folder. Raises RuntimeError for a user without a home."""
    base = os.environ.get(CACHE_VARIABLE, "")
    return (Path(base) if base else Path.home() / ".cache") / "glowmcu" / kind
